"""The protocol's types that are created on demand are equal to those that lsprotocol creates."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

# Prints all that matters of lsprotocol's classes, and what a converter makes of some messages.
PROBE = """
import json, sys
from orgrest.editor.server import types_on_demand
if sys.argv[1] == "on demand":
    types_on_demand.load()
    types_on_demand.load()  # a second time changes nothing
import attrs
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter
from orgrest.editor.server.features.table import make_server
make_server()
converter = default_converter()
item = {"completionItem": {"snippetSupport": True}}
sent = {"capabilities": {"workspace": {"applyEdit": True}, "textDocument": {"completion": item}},
        "processId": 1, "rootUri": None, "clientInfo": {"name": "x"},
        "workspaceFolders": [{"uri": "file:///a", "name": "a"}]}
found = converter.structure(sent, types.InitializeParams)
edit = types.WorkspaceEdit(changes={"a": [types.TextEdit(types.Range(types.Position(1, 2),
        types.Position(3, 4)), "b")]})
told = {"waiting": len(types_on_demand.waiting()), "messages": [repr(found), repr(edit),
        converter.unstructure(found), converter.unstructure(edit),
        types.Position(1, 2) < types.Position(1, 3), types.Position(1, 2) == types.Position(1, 2)]}
try:
    types.Position(-1, 0)
except ValueError as error:
    told["refused"] = str(error)
told["classes"] = {
    name: [(one.name, repr(one.type), repr(one.default), one.kw_only, one.alias,
            one.validator is None, one.converter is None) for one in attrs.fields(value)]
    for name, value in sorted(types.ALL_TYPES_MAP.items())
    if isinstance(value, type) and attrs.has(value)
}
told["methods"] = {name: sorted(x for x in ("__eq__", "__hash__", "__repr__", "__lt__")
        if x in vars(types.ALL_TYPES_MAP[name])) for name in told["classes"]}
print(json.dumps(told, default=repr))
"""


def asked(how: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, how], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def on_demand() -> dict[str, Any]:
    return asked("on demand")


def test_types_on_demand_are_those_of_the_protocol(on_demand: dict[str, Any]) -> None:
    at_once = asked("at once")
    assert len(at_once["classes"]) > 500
    assert at_once["waiting"] == 0
    for name in ("classes", "methods", "messages", "refused"):
        assert on_demand[name] == at_once[name]


def test_a_server_starts_without_making_types_that_it_does_not_need(
    on_demand: dict[str, Any],
) -> None:
    assert on_demand["waiting"] > 300, "lsprotocol declares its types in a new way: make them so"
