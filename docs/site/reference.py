"""The generated part of the reference: commands, tables, and the names of each package.

`pages()` returns the Markdown of each page by its path in docs/. Where docs/ has a page of that
path, with a title and an introduction, the text belongs below these (see `build.py`). Everything
comes from the tables that the programs themselves use, from their help texts and docstrings.

Run `python docs/site/reference.py` to update the generated text in docs/. Long lists and the names
of each package are only on the site.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator
from html import escape
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from scriptschema.luau.library import Parameter, Signature

    _Sections = Callable[[click.Command, click.Context], dict[str, list[tuple[str, str]]]]

DOCS = Path(__file__).parents[1]
GENERATED = "<!-- generated -->\n"
"""In a page of docs/: what follows is generated, either there already or only on the site."""
_ONLY_ON_SITE = ("/names.md", "/idioms.md", "/library.md")
SKIPPED = {"__main__", "commands", "hypothesis_plugin"}
"""Modules that are run, not imported; the pages about commands describe them."""


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
        **_names("scriptschema"),
        **_names("orgrest"),
    }


def head(page: Path) -> str:
    """Return the part of a page that is not generated: its title and its introduction."""
    return page.read_text("utf-8").partition(GENERATED)[0] if page.exists() else ""


def committed() -> dict[Path, str]:
    """Return the content of each page in docs/ that contains its generated text."""
    return {
        DOCS / path: f"{head(DOCS / path)}{GENERATED}\n{text.rstrip()}\n"
        for path, text in pages().items()
        if "/api/" not in path and not path.endswith(_ONLY_ON_SITE)
    }


def main() -> None:
    """Update the generated text in docs/."""
    found = committed()
    for page, text in found.items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
    for page in set(DOCS.glob("*/reference/commands/*.md")) - set(found):
        page.unlink()


# ------------------------------------------------------------------------------------ commands


def _scriptschema_commands() -> dict[str, str]:
    from scriptschema.commands.main import main
    from scriptschema.commands.program import sections

    context = click.Context(main, info_name="scriptschema", help_option_names=_HELP)
    commands = _commands(main, context, context)
    return _command_pages("scriptschema", _described(main, context, sections), commands, sections)


def _orgrest_commands() -> dict[str, str]:
    from orgrest.commands.main import program
    from orgrest.commands.program import sections

    context = click.Context(program, info_name="orgrest", help_option_names=_HELP)
    commands = _commands(program, context, None)
    return _command_pages("orgrest", _described(program, context, sections), commands, sections)


def _commands(
    group: click.Group, context: click.Context, parent: click.Context | None
) -> list[_Command]:
    """Return a group's commands; without a parent, their names begin with the program's."""
    prefix = "" if parent else f"{context.info_name} "
    found = [(name, group.get_command(context, name)) for name in group.list_commands(context)]
    return [_Command(one, f"{prefix}{name}", parent) for name, one in found if one is not None]


_HELP = ["-h", "--help"]  # click keeps the first that it is given for a command


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
    overview = _table(("command", "what it does"), rows)
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

    return _table(
        ("rule", "requires"), ((f"`{name}`", _cell(text)) for name, text in RULES.items())
    )


def _idioms() -> str:
    from scriptschema.generation.programs.idioms import FILES, IDIOMS, SPANS, UNTYPED, _read

    text = ""
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
    return _table(("operator", "weight", "makes", "the tree grows"), rows)


def _growth(growth: int) -> str:
    return {1: "yes", -1: "it shrinks"}.get(growth, "either")


def _library() -> str:
    from scriptschema.luau.library import KINDS, ROLES, SIGNATURES

    kinds = ((f"`{name}`", _cell(text)) for name, text in KINDS.items())
    signatures = ((f"`{_called(one)}`", ", ".join(sorted(one.marks))) for one in SIGNATURES)
    return (
        "## Signatures\n\n"
        + _table(("member", "marks"), signatures)
        + "## Kinds\n\n"
        + _table(("kind", "is"), kinds)
        + "## Numbers\n\nThe role of a number, which determines its boundary values.\n\n"
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

    held = ", ".join(
        f"`{name}\N{NO-BREAK SPACE}{value}`" for name, value in (*DEFAULTS, *REQUEST_DEFAULTS)
    )
    text = fill(f"The defaults for requests are {held}.", 120).replace("\N{NO-BREAK SPACE}", " ")
    text += "\n\n"
    rows = []
    for name, known in KNOWN.items():
        values = "<br>".join(f"`{value}`: {_cell(told)}" for value, told in known.values.items())
        inert = " Org's; has no effect in orgrest." if known.inert else ""
        rows.append((f"`:{name}`", _cell(known.description) + inert, values))
    return text + _table(("argument", "what it does", "values"), rows)


def _functions() -> str:
    from orgrest.http.values.expressions import FUNCTIONS

    rows = ((f"`{one.usage}`", _cell(one.description)) for one in FUNCTIONS.values())
    return _table(("function", "returns"), rows)


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


def _names(package: str) -> dict[str, str]:
    """Return a page for each module in `package` and each folder of modules, and their overview."""
    root = import_module(package)
    folder = f"{package}/reference"
    rows, found = [], {}
    for module in sorted(pkgutil.iter_modules(root.__path__), key=lambda module: module.name):
        if module.name in SKIPPED or module.name.startswith("_"):
            continue
        name = f"{package}.{module.name}"
        text = f"# {module.name}\n\n"
        for inner in public_modules(name):
            text += f"::: {inner}\n    options:\n      heading_level: 2\n\n"
        found[f"{folder}/api/{module.name}.md"] = text
        first = (import_module(name).__doc__ or "").partition("\n")[0]
        rows.append((f"[`{name}`](api/{module.name}.md)", _cell(first)))
    return {f"{folder}/names.md": _table(("module", "what it is for"), rows), **found}


def public_modules(name: str) -> Iterator[str]:
    """Yield a module's name and those of the modules in it, without those that are private."""
    yield name
    spec = find_spec(name)
    for found in pkgutil.iter_modules((spec and spec.submodule_search_locations) or ()):
        if not found.name.startswith("_"):
            yield from public_modules(f"{name}.{found.name}")


if __name__ == "__main__":
    main()
