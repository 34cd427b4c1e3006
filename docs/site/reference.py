"""Pages of reference, made from the code: commands, tables, and the names of each package.

`pages()` returns the Markdown of each by its path in the site. The tables are those that the
programs themselves work with, and the texts are theirs.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator
from html import escape
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from scriptschema.luau.library import Parameter, Signature

    _Sections = Callable[[click.Command, click.Context], dict[str, list[tuple[str, str]]]]

SKIPPED = {"__main__", "commands", "hypothesis_plugin"}
"""What is started and not imported; the pages of the commands describe it."""


def pages() -> dict[str, str]:
    """Return the text of each generated page by its path."""
    return {
        **_scriptschema_commands(),
        "scriptschema/reference/rules.md": _rules(),
        "scriptschema/reference/idioms.md": _idioms(),
        "scriptschema/reference/operators.md": _operators(),
        "scriptschema/reference/library.md": _library(),
        **_orgrest_commands(),
        "orgrest/reference/header-arguments.md": _header_arguments(),
        "orgrest/reference/functions.md": _functions(),
        **dict(_modules("scriptschema")),
        **dict(_modules("orgrest")),
    }


# ------------------------------------------------------------------------------------ commands


def _scriptschema_commands() -> dict[str, str]:
    from scriptschema.commands.main import main
    from scriptschema.commands.sections import sections

    context = click.Context(main, info_name="scriptschema", help_option_names=_HELP)
    commands = [_Command(main.commands[name], name, context) for name in main.commands]
    return _command_pages("scriptschema", _described(main, context, sections), commands, sections)


def _orgrest_commands() -> dict[str, str]:
    from orgrest.commands.main import program
    from orgrest.commands.sections import sections

    context = click.Context(program, info_name="orgrest", help_option_names=_HELP)
    found = [(name, program.get_command(context, name)) for name in program.list_commands(context)]
    commands = [
        _Command(command, f"orgrest {name}", None)
        for name, command in found
        if command is not None and not command.hidden
    ]
    return _command_pages("orgrest", _described(program, context, sections), commands, sections)


_HELP = ["-h", "--help"]  # click keeps the first that it is given for a command
_OPTIONS = "`-h` and `--help` of each command tell the same as its page."


class _Command(NamedTuple):
    command: click.Command
    name: str
    parent: click.Context | None


def _command_pages(
    program: str, described: str, commands: list[_Command], sections: _Sections
) -> dict[str, str]:
    """Return a page for the program itself, and one for each of its commands."""
    folder = f"{program}/reference/commands"
    rows, found = [], {}
    for one in commands:
        word = one.name.split()[-1]
        found[f"{folder}/{word}.md"] = _page(one, 1, sections)
        told = _cell(one.command.get_short_help_str(200))
        rows.append((f"[`{program} {word}`](commands/{word}.md)", told))
    overview = f"# Commands of {program}\n\n{_OPTIONS}\n\n"
    overview += _table(("command", "what it does"), rows)
    return {f"{folder}.md": f"{overview}## `{program}`\n\n{described}", **found}


def _page(one: _Command, level: int, sections: _Sections) -> str:
    context = click.Context(
        one.command, info_name=one.name, parent=one.parent, help_option_names=_HELP
    )
    path = context.command_path
    text = f"{'#' * level} `{path}`\n\n" + _described(one.command, context, sections)
    if isinstance(one.command, click.Group):
        for name, inner in one.command.commands.items():
            text += _page(_Command(inner, name, context), level + 1, sections)
    return text


def _described(command: click.Command, context: click.Context, sections: _Sections) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    text = f"```text\n{usage}\n```\n\n{_paragraphs(cleandoc(command.help or ''))}\n\n"
    for title, records in sections(command, context).items():
        rows = [(f"`{option}`", _cell(told)) for option, told in records if "--help" not in option]
        if rows:
            text += f"**{title}**\n\n" + _table(("option", "what it does"), rows)
    return text


def _paragraphs(text: str) -> str:
    """Click's help as Markdown: what it shows as it is becomes a block."""
    parts = []
    for part in text.replace("\r\n", "\n").split("\n\n"):
        if part.startswith("\b"):
            parts.append("```text\n" + part.removeprefix("\b").strip("\n") + "\n```")
        else:
            parts.append(_escaped(part))
    return "\n\n".join(parts)


# -------------------------------------------------------------------------------------- tables


def _rules() -> str:
    from scriptschema.luau.repair import RULES

    rows = ((f"`{name}`", _cell(text)) for name, text in RULES.items())
    return (
        "# Rules of repair\n\nWhat `check` finds and `repair` mends: the rule that a problem "
        "names, and what it demands.\n\n" + _table(("rule", "demands"), rows)
    )


def _idioms() -> str:
    from scriptschema.generation.programs.idioms import FILES, IDIOMS, SPANS, UNTYPED, _read

    text = (
        "# Idioms of programs\n\nThe pieces that programs that run are made of, by topic, with "
        "their weights: `weights={'counter': 9}` makes one likelier, and 0 leaves it out. Words in "
        "capitals stand for what is generated there. An untyped one is not in programs with sound "
        "types, one with a version in those for that Luau or a newer one.\n\n"
    )
    for topic in FILES:
        source = _read(topic)
        text += f"## {topic.capitalize()}\n\n"
        for name, (weight, template) in IDIOMS.items():
            if f"-- {name}: " in source:
                mark = f", Luau {SPANS[name].since}" if name in SPANS else ""
                mark += ", untyped" if name in UNTYPED else ""
                text += f"**{name}** ({weight:g}{mark})\n\n"
                text += f"```lua\n{template.strip()}\n```\n\n"
    return text


def _operators() -> str:
    from scriptschema.fuzzing.operators import OPERATORS

    rows = (
        (f"`{one.name}`", f"{one.weight:g}", _cell(one.what), _growth(one.grows))
        for one in OPERATORS
    )
    return (
        "# Operators of mutation\n\nWhat `mutate` chooses from, with the weights that a `Mutator` "
        "starts with.\n\n" + _table(("operator", "weight", "makes", "the tree grows"), rows)
    )


def _growth(growth: int) -> str:
    return {1: "yes", -1: "it shrinks"}.get(growth, "either")


def _library() -> str:
    from scriptschema.luau.library import KINDS, ROLES, SIGNATURES

    kinds = ((f"`{name}`", _cell(text)) for name, text in KINDS.items())
    signatures = ((f"`{_called(one)}`", ", ".join(sorted(one.marks))) for one in SIGNATURES)
    return (
        "# Library signatures\n\nWhat each global and library member of Luau takes and returns, as "
        "the generator of programs knows it.\n\n## Signatures\n\n"
        + _table(("member", "marks"), signatures)
        + "## Kinds\n\n"
        + _table(("kind", "is"), kinds)
        + "## Numbers\n\nWhat a number is for, which says at which values something changes.\n\n"
        + _table(("number", "is"), ((f"`@{name}`", _cell(one.what)) for name, one in ROLES.items()))
    )


def _called(signature: Signature) -> str:
    """A signature as the tables of the library write it."""
    if signature.parameters is None:
        return f"{signature} -> {signature.results[0]}"
    taken = ", ".join(map(_parameter, signature.parameters))
    given = ", ".join(signature.results)
    return f"{signature}({taken})" + (f" -> {given}" if given else "")


def _parameter(one: Parameter) -> str:
    kind = one.kind
    if one.bounds is not None:
        kind = f"{one.bounds[0]}..{one.bounds[1]}"
    elif one.function is not None:
        taken = ", ".join(map(_parameter, one.function.parameters or ()))
        kind = f"function({taken}) -> {', '.join(one.function.results)}"
    role = f"@{one.role}" if one.role else ""
    return ("..." if one.repeated else "") + kind + role + ("?" if one.optional else "")


def _header_arguments() -> str:
    from orgrest.org.known import DEFAULTS, KNOWN, REQUEST_DEFAULTS

    held = ", ".join(f"`{name} {value}`" for name, value in (*DEFAULTS, *REQUEST_DEFAULTS))
    text = (
        "# Header arguments\n\nWhat may stand behind `#+begin_src restclient`, in `#+HEADER:` and "
        f"`#+PROPERTY: header-args` lines, and in properties. Without any, {held} hold for "
        "requests.\n\n"
    )
    rows = []
    for name, known in KNOWN.items():
        values = "<br>".join(f"`{value}`: {_cell(told)}" for value, told in known.values.items())
        inert = " Org's; changes nothing in orgrest." if known.inert else ""
        rows.append((f"`:{name}`", _cell(known.description) + inert, values))
    return text + _table(("argument", "what it does", "values"), rows)


def _functions() -> str:
    from orgrest.http.values.functions import FUNCTIONS

    rows = ((f"`{one.usage}`", _cell(one.description)) for one in FUNCTIONS.values())
    return (
        "# Functions of values\n\nWhat may stand behind `:name := ` in restclient's requests. "
        "There are no others, and no code runs.\n\n" + _table(("function", "gives"), rows)
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n\n"


def _cell(text: Any) -> str:
    return _escaped(" ".join(str(text).split()))


def _escaped(text: str) -> str:
    """Text in which nothing is Markdown but code between backticks."""
    parts = text.split("`")
    for number in range(0, len(parts), 2):
        part = escape(parts[number], quote=False)
        for character in "\\*_[]{}#":
            part = part.replace(character, "\\" + character)
        parts[number] = part
    return "`".join(parts)


# --------------------------------------------------------------------------------------- names


def _modules(package: str) -> Iterator[tuple[str, str]]:
    """Yield a page for each module beside `package`'s layers, and for each folder."""
    root = import_module(package)
    for found in sorted(pkgutil.iter_modules(root.__path__), key=lambda module: module.name):
        if found.name in SKIPPED or found.name.startswith("_"):
            continue
        name = f"{package}.{found.name}"
        text = f"# {found.name}\n\n"
        for module in public_modules(name):
            text += f"::: {module}\n    options:\n      heading_level: 2\n\n"
        yield f"{package}/reference/api/{found.name}.md", text


def public_modules(name: str) -> Iterator[str]:
    """Yield a module's name and those of the modules in it, without those that are private."""
    yield name
    spec = find_spec(name)
    for found in pkgutil.iter_modules((spec and spec.submodule_search_locations) or ()):
        if not found.name.startswith("_"):
            yield from public_modules(f"{name}.{found.name}")
