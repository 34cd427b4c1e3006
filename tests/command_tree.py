"""Lists the commands of a program. The tests of both programs use it."""

from __future__ import annotations

import click


def commands(group: click.Group, path: str) -> list[tuple[str, click.Command]]:
    """Return each command of a group and of its nested groups, preceded by its full name."""
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found.append((f"{path} {name}", command))
        found += commands(command, f"{path} {name}") if isinstance(command, click.Group) else []
    return found
