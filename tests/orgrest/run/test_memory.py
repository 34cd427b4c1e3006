"""Which responses a run keeps in memory: only those that something may still refer to."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING

import pytest
from components import needs_engine
from evaluated import Evaluated
from servers import RawServer, by_path, response

from orgrest.http.transport.client import Client
from orgrest.http.values import Inputs
from orgrest.model import Response
from orgrest.run.run import Run
from orgrest.run.services import Services
from orgrest.run.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen")
FORMS = {
    "unnamed.http": "###\nGET HOST/login\n\n",
    "titled.http": "### request number-{0}\nGET HOST/login\n\n",
    "named.http": "###\n# @name request{0}\nGET HOST/login\n\n",
    "loop.http": "###\n# @loop for 8\nGET HOST/login\n\n",
    "unnamed.org": "#+begin_src http\nGET HOST/login\n#+end_src\n\n",
    "named.org": "#+name: request-{0}\n#+begin_src http\nGET HOST/login\n#+end_src\n\n",
}
LOGIN = "### log-in\nGET HOST/login\n\n"
OTHERS = "### x\nGET HOST/other\n\n### y\nGET HOST/other\n\n"
USES = {
    "reference": "### use\nGET HOST/use?id={{log-in.response.body.$.id}}\n",
    "header": "### use\nGET HOST/use?id={{log-in.response.headers.X-Id}}\n",
    "definition": "@id = {{log-in.response.body.$.id}}\n### use\nGET HOST/use?id={{id}}\n",
    "included": "### use\nPOST HOST/use\n\n<@ body.txt\n",
    "injected": ("@file = body.txt\n### use\n# @injectVariables\nPOST HOST/use\n\n< {{file}}\n"),
    "default header": "### use\nGET HOST/use\n",
    "GraphQL": "### use\nPOST HOST/use\n\ngql Q < query.graphql\n",
    "environment": "### use\nGET HOST/use?id={{of-environment}}\n",
    "import": "###\nimport uses.http\n\n###\nrun #use\n",
}
SCRIPTS = {
    "script": "### use\n{{\n  exports.id = logIn.id;\n}}\nGET HOST/use?id={{id}}\n",
    "response": (
        "### use\n{{\n  exports.id = signInResponse.parsedBody.id;\n}}\nGET HOST/use?id={{id}}\n"
    ),
}
ORG = {
    "variable": "#+begin_src http :var data=log-in\nPOST HOST/use\n\n{{data}}\n#+end_src\n",
    "other case": "#+begin_src http :var data=LOG-IN\nPOST HOST/use\n\n{{data}}\n#+end_src\n",
    "noweb": "#+begin_src http :noweb yes\nPOST HOST/use\n\n<<log-in()>>\n#+end_src\n",
}


@pytest.fixture
def server() -> Iterator[RawServer]:
    answer = response(b'{"id": 4711}', "Content-Type: application/json", "X-Id: 4711")
    answers = {"/login": answer, "/other": response(b"{}", "Content-Type: application/json")}
    with RawServer(by_path({**answers, "/use": answers["/other"]})) as running:
        yield running


def responses() -> list[Response]:
    gc.collect()
    return [found for found in gc.get_objects() if isinstance(found, Response)]


@pytest.mark.parametrize("name", FORMS)
def test_a_long_run_does_not_keep_the_responses_that_it_has_reported(
    server: RawServer, tmp_path: Path, name: str
) -> None:
    count = 1 if name == "loop.http" else len(NAMES)
    text = "".join(FORMS[name].format(number) for number in NAMES[:count])
    with Client() as client:
        run = Run(
            text.replace("HOST", server.url),
            file=name,
            settings=Settings(Inputs(directory=tmp_path)),
            services=Services(client=client),
            plain=name.endswith(".http"),
        )
        alive, before = [], responses()  # those of other tests must not disappear in between
        for outcome in run.outcomes():
            assert outcome.state == "done", outcome.reason
            del outcome
            alive.append(len(responses()) - len(before))
    assert len(alive) >= len(NAMES)
    assert max(alive) - min(alive) <= 2


def sent(server: RawServer, folder: Path, text: str, file: str) -> None:
    """Evaluate a document, and check that its last request sends what the first one received."""
    environments = ("e",) if (folder / "http-client.env.json").exists() else ()
    inputs = Inputs(directory=folder, environments=environments)
    evaluated = Evaluated(text, inputs, file=file, url=server.url)
    assert set(evaluated.states) == {"done"}, evaluated.reasons
    paths = [request.split()[1].partition(b"?")[0] for request in server.requests]
    assert paths == [b"/login", b"/other", b"/other", b"/use"]
    assert b"4711" in server.requests[-1]


@pytest.mark.parametrize("form", USES)
def test_a_response_is_kept_for_whatever_refers_to_it(
    server: RawServer, tmp_path: Path, form: str
) -> None:
    reference = "{{log-in.response.body.$.id}}"
    of_environment = reference if form == "environment" else "constant"
    environment = {"e": {"of-environment": of_environment}}
    (tmp_path / "http-client.env.json").write_text(json.dumps(environment))
    (tmp_path / "body.txt").write_text(reference)
    if form == "default header":
        (tmp_path / ".vscode").mkdir()
        default = {"rest-client.defaultHeaders": {"X-Id": reference}}
        (tmp_path / ".vscode" / "settings.json").write_text(json.dumps(default))
    (tmp_path / "query.graphql").write_text(f"query Q {{ a(id: {reference}) }}")
    (tmp_path / "uses.http").write_text(USES["reference"].replace("HOST", server.url))
    login = LOGIN.replace("login\n", "login\nX-Id: 0\n") if form == "default header" else LOGIN
    sent(server, tmp_path, login + OTHERS + USES[form], "a.http")


@needs_engine
@pytest.mark.parametrize("form", SCRIPTS)
def test_a_response_is_kept_for_scripts_which_spell_its_name_in_another_way(
    server: RawServer, tmp_path: Path, form: str
) -> None:
    name = "signIn" if form == "response" else "log-in"
    sent(server, tmp_path, LOGIN.replace("log-in", name) + OTHERS + SCRIPTS[form], "a.http")


@pytest.mark.parametrize("form", ORG)
def test_a_response_is_kept_for_blocks_of_an_org_document(
    server: RawServer, tmp_path: Path, form: str
) -> None:
    block = "#+begin_src http\nGET HOST/{0}\n#+end_src\n\n"
    others = block.format("other") * 2
    sent(server, tmp_path, f"#+name: log-in\n{block.format('login')}{others}{ORG[form]}", "a.org")


def test_a_response_is_kept_for_verb_which_gives_it_another_name(
    server: RawServer, tmp_path: Path
) -> None:
    text = (
        "* log :verb:\n:PROPERTIES:\n:Verb-Store: kept\n:END:\nget HOST/login\n"
        "* x :verb:\nget HOST/other\n* y :verb:\nget HOST/other\n"
        '* z :verb:\nget HOST/use?id={{(verb-headers-get (verb-stored-response "kept") "X-Id")}}\n'
    )
    sent(server, tmp_path, text, "a.org")
