"""Signing in from an editor: the prompt, the page that it opens, device codes, cancelling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import requests
from editors import TIMEOUT, Editor, plain
from login_browser import callback, sign_in
from oauth_provider import Provider

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = """@oauth2_authorizationEndpoint = {url}/authorize
@oauth2_tokenEndpoint = {url}/token
@oauth2_deviceCodeEndpoint = {url}/device
@oauth2_clientId = notes
### api
GET {url}/api
Authorization: oauth2 FLOW
"""


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with Provider() as found:
        yield found


@pytest.fixture
def editor(provider: Provider, tmp_path: Path) -> Iterator[Editor]:
    home = str(tmp_path / "home")
    environ = {"HOME": home, "ORGREST_LOGINS": f"{home}/logins", "ORGREST_HISTORY": "off"}
    with Editor(environ=environ) as editor:
        editor.answer = "Allow"
        yield editor
        for buffer in list(editor.buffers.values()):
            editor.close(buffer)


def opened(editor: Editor) -> str:
    """Return the page that the editor was asked to open in the browser."""
    [page] = editor.wait_for(
        lambda: [document for document in editor.client.shown_documents if document.external]
    )
    return page.uri


def text(provider: Provider, flow: str) -> str:
    return TEXT.replace("{url}", provider.url).replace("FLOW", flow)


def test_the_editor_opens_the_page_and_the_login_serves_its_session(
    editor: Editor, provider: Provider, tmp_path: Path
) -> None:
    buffer = editor.open(tmp_path / "a.http", text(provider, "code"), "http")
    (tmp_path / "a.http").write_text(buffer.text)
    sent = editor.start_run("orgrest.send", buffer.uri, 5)
    assert sign_in(opened(editor)).status_code == 200
    result = plain(sent.result(TIMEOUT))
    assert (result["outcome"], result["status"]) == ("passed", 200)
    [question] = editor.questions
    assert f"a.http wants you to sign in at {provider.url}" in question
    assert buffer.command("orgrest.send", 5)["status"] == 200
    curl = buffer.command("orgrest.copyAsCurl", 5)
    assert provider.tokens[0]["access_token"] in curl
    assert provider.asked == ["authorization_code"]
    assert len(editor.questions) == 1


def test_a_question_that_is_dismissed_signs_nobody_in(
    editor: Editor, provider: Provider, tmp_path: Path
) -> None:
    editor.answer = None
    buffer = editor.open(tmp_path / "a.http", text(provider, "code"), "http")
    result = buffer.command("orgrest.send", 5)
    assert result["outcome"] == "error"
    assert "you declined" in result["message"]
    assert provider.authorizations == []


def test_the_code_of_a_device_is_shown_and_its_page_opened(
    editor: Editor, provider: Provider, tmp_path: Path
) -> None:
    buffer = editor.open(tmp_path / "a.http", text(provider, "device"), "http")
    sent = editor.start_run("orgrest.send", buffer.uri, 5)
    page = opened(editor)
    code = page.partition("user_code=")[2]
    assert any(f"check the code {code}" in message for message in editor.messages)
    assert sign_in(page).text == "thank you"
    assert plain(sent.result(TIMEOUT))["status"] == 200


def test_a_cancelled_login_listens_no_longer(
    editor: Editor, provider: Provider, tmp_path: Path
) -> None:
    buffer = editor.open(tmp_path / "a.http", text(provider, "code"), "http")
    sent = editor.start_run("orgrest.send", buffer.uri, 5)
    uri, _ = callback(opened(editor))
    assert requests.get(uri, timeout=TIMEOUT).status_code == 400
    assert buffer.command("orgrest.cancel", 5) == 1
    assert plain(sent.result(TIMEOUT))["outcome"] == "skipped"

    def listens() -> bool:
        try:
            requests.get(uri, timeout=TIMEOUT)
        except requests.ConnectionError:
            return False
        return True

    editor.wait_for(listens, lambda found: not found)


def test_an_editor_that_opens_no_pages_shows_the_address(
    provider: Provider, tmp_path: Path
) -> None:
    environ = {"HOME": str(tmp_path), "ORGREST_LOGINS": "off", "ORGREST_HISTORY": "off"}
    with Editor(environ=environ, without=("window.show_document",)) as editor:
        editor.answer = "Allow"
        buffer = editor.open(tmp_path / "a.http", text(provider, "code"), "http")
        sent = editor.start_run("orgrest.send", buffer.uri, 5)
        [message] = editor.wait_for(
            lambda: [
                message.message
                for message in editor.client.messages
                if "/authorize?" in message.message
            ]
        )
        sign_in(message[message.index(provider.url) :])
        assert plain(sent.result(TIMEOUT))["status"] == 200
        editor.close(buffer)
