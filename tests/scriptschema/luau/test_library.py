"""Signatures: they cover the table of names, and say only what is known."""

from __future__ import annotations

from scriptschema.luau.library import KINDS, SIGNATURES, Parameter
from scriptschema.luau.names import DEFAULT


def test_every_member_and_global_of_the_table_of_names_has_a_signature() -> None:
    known = {(signature.library, signature.name) for signature in SIGNATURES}
    members = {(library, name) for library, names in DEFAULT.libraries.items() for name in names}
    functions = {("", name) for name in DEFAULT.globals if name not in DEFAULT.libraries}
    assert known == members | functions


def kinds(parameter: Parameter) -> list[str]:
    if parameter.function is not None:
        inner = [kind for part in parameter.function.parameters or () for kind in kinds(part)]
        return [*inner, *parameter.function.results]
    kind = parameter.kind
    return [] if parameter.bounds or kind == "true" or kind[0] == '"' or "." in kind else [kind]


def test_every_kind_is_one_that_is_explained() -> None:
    for signature in SIGNATURES:
        assert set(signature.results) <= {*KINDS, "any"}, str(signature)
        assert signature.marks <= {"varies", "fails", "yields"}
        for parameter in signature.parameters or ():
            assert set(kinds(parameter)) <= {*KINDS}, str(signature)


def test_a_line_of_the_table_is_read_in_all_its_parts() -> None:
    [clamp] = [signature for signature in SIGNATURES if str(signature) == "math.clamp"]
    assert [p.bounds for p in clamp.parameters or ()] == [None, (-8, 0), (1, 20)]
    assert clamp.results == ("number",)
    [close] = [signature for signature in SIGNATURES if str(signature) == "coroutine.yield"]
    assert close.marks == {"yields"}
    [_, sort] = [signature for signature in SIGNATURES if str(signature) == "table.sort"]
    _, order = sort.parameters or ()
    assert order.function is not None
    assert order.function.results == ("order",)
    [pi] = [signature for signature in SIGNATURES if str(signature) == "math.pi"]
    assert pi.parameters is None
