"""Arguments for library calls. For each kind of parameter, a function generates valid arguments.

Most arguments are constants, so that the optimizer has something to fold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.axes import TEXTS
from scriptschema.generation.programs.maker import Maker
from scriptschema.luau.library import Parameter
from scriptschema.messages import Expr, ExprPrefix

Argument = Callable[[Maker, int, int], list[Expr]]
"""A function that returns the arguments for one parameter, usually a single one.

Its own arguments are a maker, a size and the number of available levels.
"""

_FORMATS: Final[Sequence[tuple[str, Parameter]]] = tuple(
    (text, Parameter(kind, bounds=bounds))
    for text, kind, bounds in (
        ("%d", "integer", None),
        ("%s", "string", None),
        ("%5d|", "integer", None),
        ("%-4i", "integer", None),
        ("%+03d", "integer", None),
        ("%x", "range", (0, 255)),
        ("%#X", "range", (0, 255)),
        ("%o", "range", (0, 255)),
        ("%u", "range", (0, 255)),
        ("%c", "range", (32, 126)),
        ("%.3f", "integer", None),
        ("%8.2e", "integer", None),
        ("%g", "integer", None),
        ("%q", "string", None),
        ("%q", "text", None),
        ("%10.3s", "string", None),
        ("%-6s", "short", None),
        ("%*", "number", None),
        ("%*", "boolean", None),
        ("%*", "string", None),
    )
)

_PACKS: Final[Sequence[tuple[str, Parameter | None]]] = tuple(
    (text, Parameter(kind, bounds=bounds) if kind else None)
    for text, kind, bounds in (
        ("b", "range", (-128, 127)),
        ("B", "range", (0, 255)),
        ("h", "range", (-99, 99)),
        ("H", "range", (0, 255)),
        ("i3", "range", (-99, 99)),
        ("I4", "range", (0, 255)),
        ("l", "range", (-99, 99)),
        ("L", "range", (0, 255)),
        ("j", "range", (-99, 99)),
        ("J", "range", (0, 255)),
        ("T", "range", (0, 255)),
        ("i16", "range", (-99, 99)),
        ("f", "integer", None),
        ("d", "number", None),
        ("n", "integer", None),
        ("c8", "eight", None),
        ("x", None, None),
        ("<", None, None),
        (">", None, None),
        ("=", None, None),
        ("!2", None, None),  # with `!4`, no i3 could follow
        ("Xi4", None, None),
        (" ", None, None),
        ("s1", "short", None),
        ("s", "short", None),
        ("z", "short", None),
    )
)
_FIXED: Final = len(_PACKS) - 3
"""The number of formats at the start of `_PACKS` whose packed length is the same for all values."""

_EDGES: Final = 80
"""The number of numeric arguments, out of 256, that are large or negative (see `edge`)."""

_EDGE: Final = 12
"""The minimum number of nodes for a large or negative numeric argument."""


def _constant(texts: Sequence[str]) -> Argument:
    def make(maker: Maker, size: int, room: int) -> list[Expr]:
        return [maker.constant(nodes.string(texts[maker.below(len(texts))]))]

    return make


def _row(maker: Maker, size: int, room: int) -> list[Expr]:
    maker.made += _ROW
    values = [nodes.number(maker.below(32)) for _ in range(5)]
    return [nodes.table([maker.expression("number", size - 18, room - 3), *values])]


def _format(maker: Maker, size: int, room: int) -> list[Expr]:
    count = 1 + maker.below(3)
    chosen = [_FORMATS[maker.below(len(_FORMATS))] for _ in range(count)]
    text = ("", "%%", "a ")[maker.below(3)].join(part for part, _ in chosen)
    return [
        maker.constant(nodes.string(text)),
        *_values(maker, [parameter for _, parameter in chosen], size, room),
    ]


def _values(maker: Maker, parameters: Sequence[Parameter], size: int, room: int) -> list[Expr]:
    values: list[Expr] = []
    for parameter in parameters:
        values += right(maker, parameter, size // len(parameters), room, risky=False)
    return values


def _pack_by(maker: Maker, size: int, room: int) -> tuple[str, list[Expr]]:
    chosen = [_PACKS[maker.below(len(_PACKS))] for _ in range(1 + maker.below(3))]
    parameters = [parameter for _, parameter in chosen if parameter]
    return "".join(part for part, _ in chosen), _values(maker, parameters, size, room)


def _pack(maker: Maker, size: int, room: int) -> list[Expr]:
    text, values = _pack_by(maker, size, room)
    return [maker.constant(nodes.string(text)), *values]


def _fixed(maker: Maker, size: int, room: int) -> list[Expr]:
    text = "".join(_PACKS[maker.below(_FIXED)][0] for _ in range(2))
    return [maker.constant(nodes.string(text))]


def _packing() -> ExprPrefix:
    return nodes.prefix(*nodes.member("string", "pack"))


def _packed(maker: Maker, size: int, room: int) -> list[Expr]:
    text, values = _pack_by(maker, size - 10, room - 2)
    maker.made += _PACKED
    constant = nodes.string(text)
    return [nodes.string(text), nodes.call(_packing(), [constant, *values])]


def _date(maker: Maker, size: int, room: int) -> list[Expr]:
    maker.made += _DATE
    fields = {"year": 1970 + maker.below(60), "month": 1 + maker.below(12)}
    fields["day"] = 1 + maker.below(28)
    return [nodes.table((), {key: nodes.number(value) for key, value in fields.items()})]


# The nodes of a row (with the simplest number), of a call to `string.pack`, and of a date.
_ROW: Final = nodes.size(nodes.table([nodes.number(0)] * 6))
_PACKED: Final = 2 * nodes.CONSTANT + nodes.size(nodes.call(_packing(), []))
_DATE: Final = nodes.size(nodes.table((), dict.fromkeys("ymd", nodes.number(0))))

MAKERS: Final[Mapping[str, Argument]] = {
    **{kind: _constant(texts) for kind, texts in TEXTS.items()},
    "row": _row,
    "format": _format,
    "pack": _pack,
    "fixed": _fixed,
    "packed": _packed,
    "date": _date,
}


def right(maker: Maker, parameter: Parameter, size: int, room: int, *, risky: bool) -> list[Expr]:
    """Return arguments for a parameter.

    They are valid, but if `risky` is true, they are occasionally invalid (see `Maker.wrong`).
    """
    kind = parameter.kind
    if parameter.bounds:
        if risky and maker.wrong():
            other = "int64" if kind == "range64" else "number"
            return [maker.expression(other, size, room, risky=True)]
        make_constant = nodes.int64 if kind == "range64" else nodes.number
        return [maker.constant(make_constant(maker.between(*parameter.bounds)))]
    if kind == "number" and maker.chance(_EDGES):
        return [maker.expression("edge", max(size, _EDGE), room)]
    make = MAKERS.get(kind)
    if make is not None:
        if risky and maker.wrong():
            return [maker.expression(maker.any_kind(), size, room)]
        return make(maker, size, room)
    if kind[0] == '"':
        return [maker.constant(nodes.string(kind[1:-1]))]
    if kind == "true":
        return [maker.constant(nodes.boolean(True))]
    if "." in kind:
        maker.made += nodes.MEMBER
        return [nodes.expr(*nodes.member(*kind.split(".")))]
    return [maker.expression(kind, size, room, risky=risky)]
