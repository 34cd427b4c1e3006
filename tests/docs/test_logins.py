"""The documents on the page about logins sign a user in at a real provider.

Only their hosts are replaced with the provider's.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from login_browser import Browser
from oauth_provider import Provider
from pages import PAGES, Block, blocks

from orgrest.http.transport.client import Client
from orgrest.http.values import Inputs
from orgrest.run.logins import Logins, Person
from orgrest.run.run import Run
from orgrest.run.services import Services
from orgrest.run.settings import Settings

[PAGE] = [page for page in PAGES if page.match("how-to/logins.md")]
DOCUMENTS = [block for block in blocks(PAGE) if block.language == "http"]
[ENVIRONMENT] = [block for block in blocks(PAGE) if block.language == "json"]
TOKEN = 'GET https://api.example.com/api\nAuthorization: Bearer {{$auth.token("login")}}\n'


@pytest.mark.parametrize("text", [*(document.text for document in DOCUMENTS), TOKEN])
def test_a_document_of_the_page_signs_in(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    browser = Browser()
    with Provider() as provider, Client() as client:

        def here(block: str) -> str:
            for host in ("login", "api"):
                block = block.replace(f"https://{host}.example.com", provider.url)
            return block

        (tmp_path / "http-client.env.json").write_text(here(ENVIRONMENT.text))
        settings = Settings(Inputs(directory=tmp_path, environments=("dev",)))
        person = Person(lambda _: True, lambda _: None, browser.open)
        provider.interval = 0
        run = Run(
            here(text),
            file="me.http",
            settings=settings,
            services=Services(client=client, person=person, logins=Logins(lambda: None)),
            plain=True,
        )
        [outcome] = run.outcomes()
        assert outcome.reason is None
        response = outcome.exchanges[0].response
        assert response is not None
        assert response.status == 200
        assert b'"user":"jo"' in response.body


def test_the_page_has_a_document_of_each_flow_of_a_person() -> None:
    def flow(block: Block) -> str:
        return block.text.partition("oauth2 ")[2].split()[0]

    assert [flow(block) for block in DOCUMENTS] == ["authorization_code", "device_code"]
