"""Descriptions in several files: the files that they refer to are read, and no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orgrest.description.files import below, read
from orgrest.description.model import Description
from orgrest.description.schemas import Schemas
from orgrest.editor.used_files import Described
from orgrest.http.values import Context, Inputs
from orgrest.model import OrgrestError

FILES = {
    "api.yaml": """\
openapi: 3.1.0
paths:
  /pets/{id}: {$ref: paths/pet.yaml}
  /new: {get: {responses: {"200": {$ref: "components/responses.yaml#/Pet"}}}}
components:
  schemas: {$ref: components/schemas/_index.yaml}
""",
    "paths/pet.yaml": """\
parameters:
  - $ref: ../components/parameters.json#/id
get:
  summary: One pet
  responses:
    200: {$ref: "../components/responses.yaml#/Pet"}
""",
    "components/parameters.json": json.dumps(
        {"id": {"name": "id", "in": "path", "schema": {"type": "integer"}}}
    ),
    "components/responses.yaml": """\
Pet:
  content:
    application/json:
      schema: {$ref: "../api.yaml#/components/schemas/Pet"}
""",
    "components/schemas/_index.yaml": "Pet: {$ref: Pet.yaml}\n",
    "components/schemas/Pet.yaml": """\
type: object
required: [name]
properties:
  name: {$ref: "./Name%20of.yaml"}
  mother: {$ref: "#"}
  father: {$ref: "../../api.yaml#/components/schemas/Pet"}
""",
    "components/schemas/Name of.yaml": "{type: string, enum: [Rex]}",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def opened(path: Path, **limits: int) -> Description:
    return read(path, path.name, below(path.parent, ()), **limits)


def test_references_lead_through_files_and_back(folder: Path) -> None:
    description = opened(folder / "api.yaml")
    assert [operation.name for operation in description.operations] == [
        "GET /pets/{id}",
        "GET /new",
    ]
    found = description.operation("GET", "http://h/pets/7")
    assert found is not None
    operation, values = found
    assert (operation.summary, values) == ("One pet", {"id": "7"})
    assert [parameter.schema.value for parameter in operation.parameters()] == [{"type": "integer"}]
    node = operation.response(200)
    assert node is not None
    schema = node.child("content", "application/json", "schema")
    assert schema.child("properties", "mother", "properties", "father").value is schema.value
    assert schema.child("properties", "name").value == {"type": "string", "enum": ["Rex"]}
    assert description.unreadable == []


HOSTILE = [
    ("file:///etc/passwd", "only files beside"),
    ("http://127.0.0.1:1/x.yaml", "only files beside"),
    ("/etc/passwd", "only files beside"),
    ("//host/x.yaml", "only files beside"),
    ("~/x.yaml", "only files beside"),
    ("C:\\x.yaml", "only files beside"),
    ("../outside.yaml", "outside"),
    ("link.yaml", "outside"),
    ("..%2Foutside.yaml", "outside"),
    (".env", "must end in one of"),
    ("none.yaml", "No such file"),
    ("folder.yaml", "not a regular file"),
    ("bad.yaml", "valid YAML:"),
    ("x\0.yaml", "NUL"),
    ("\ud800.yaml", "could not be read"),
    ("loop.yaml", "refers to itself"),
    ("#anchor", "does not exist"),
    ("#/a/b", "does not exist"),
]


@pytest.mark.parametrize(("reference", "why"), HOSTILE)
def test_nothing_is_read_but_files_beside_a_description(tmp_path: Path, reference, why) -> None:
    folder = tmp_path / "api"
    folder.mkdir()
    (folder / "folder.yaml").mkdir()
    (tmp_path / "outside.yaml").write_text("type: string")
    (folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (folder / ".env").write_text("SECRET=1")
    (folder / "bad.yaml").write_text("a: [")
    (folder / "loop.yaml").write_text('{"$ref": "loop.yaml"}')
    schema = {"$ref": reference}
    paths = {"/a": {"get": {"parameters": [{"name": "p", "in": "query", "schema": schema}]}}}
    paths["/b"] = {"$ref": reference}
    (folder / "api.json").write_text(json.dumps({"openapi": "3.1.0", "paths": paths}))
    description = opened(folder / "api.json")
    (parameter,) = description.operations[0].parameters()
    assert parameter.schema.value is None
    assert why in parameter.schema.why or "is not a valid file name" in parameter.schema.why
    assert len(description.unreadable) == 1


def test_a_description_that_doubles_with_each_step_costs_little(tmp_path: Path) -> None:
    paths = {f"/{n}": {"x": {"$ref": f"#/paths/~1{n + 1}/x/y"}} for n in range(60)}
    whole = {"openapi": "3.1.0", "paths": {**paths, "/60": {"x": {"y": {"y": 1}}}}}
    (tmp_path / "api.json").write_text(json.dumps(whole))
    assert opened(tmp_path / "api.json").operations == ()


def test_files_that_are_too_many_or_too_large_are_left_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {f"/{n}": {"$ref": f"{n}.yaml"} for n in range(5)}
    (tmp_path / "api.json").write_text(json.dumps({"openapi": "3.1.0", "paths": paths}))
    for n in range(5):
        (tmp_path / f"{n}.yaml").write_text("get: {}")
    description = opened(tmp_path / "api.json", largest=20)
    assert len(description.operations) == 2
    assert "too large" in description.unreadable[0]
    monkeypatch.setattr("orgrest.description.nodes._MOST_FILES", 2)
    description = opened(tmp_path / "api.json")
    assert len(description.operations) == 2
    assert "more than 2 files" in description.unreadable[0]


def test_a_description_on_its_own_refers_to_no_files() -> None:
    text = b'{"openapi": "3.0.0", "paths": {"/a": {"$ref": "a.yaml"}}}'
    description = Description.read(text, "api.json")
    assert (description.operations, len(description.unreadable)) == ((), 1)
    assert "cannot refer to other files" in description.unreadable[0]


def test_a_schema_that_is_too_large_is_reported_and_not_passed(monkeypatch) -> None:
    monkeypatch.setattr("orgrest.description.schemas._MOST_PARTS", 10)
    schema = {"properties": {f"p{n}": {"type": "string"} for n in range(20)}}
    text = json.dumps({"openapi": "3.1.0", "x": schema}).encode()
    description = Description.read(text, "api.json")
    from orgrest.description.checks import Part

    work, wrong = Schemas(description).job([Part("it", description.at("/x"), {}, "response")])
    assert wrong == ["it cannot be checked: its schema is too large"]
    assert work["parts"] == []


def test_an_editor_notices_a_change_of_any_of_the_files(folder: Path) -> None:
    described, scope = Described(), Context(Inputs(directory=folder))
    first = described.get("api.yaml", scope)
    assert first is not None
    assert len(first.operations) == 2
    assert described.get("api.yaml", scope) is first
    (folder / "paths" / "pet.yaml").write_text("{get: {}, put: {}}")
    second = described.get("api.yaml", scope)
    assert second is not None
    assert len(second.operations) == 3
    (folder / "paths" / "pet.yaml").unlink()
    third = described.get("api.yaml", scope)
    assert third is not None
    assert len(third.operations) == 1
    (folder / "paths" / "pet.yaml").write_text("{get: {}}")
    fourth = described.get("api.yaml", scope)
    assert fourth is not None
    assert len(fourth.operations) == 2


def test_a_file_that_is_no_description_is_reported_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text("a: 1")
    with pytest.raises(OrgrestError, match=r"api\.yaml"):
        opened(tmp_path / "api.yaml")
