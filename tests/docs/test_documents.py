"""orgrest can read the request documents on the pages."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from components import require
from pages import PAGES, Block, blocks
from servers import RawServer, by_path, response

from orgrest.commands.main import program

HOST = "https://api.example.org"
SUFFIXES = {"org": ".org", "http": ".http"}
DOCUMENTS = [
    block
    for page in PAGES
    if page.parent.name != "moving"  # test_moving.py runs those, which include fragments and errors
    for block in blocks(page)
    if block.language in SUFFIXES
]


@pytest.mark.parametrize("block", DOCUMENTS, ids=str)
def test_a_document_of_a_page_can_be_read(
    block: Block, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("document") / f"page{SUFFIXES[block.language]}"
    text = block.text
    if file.suffix == ".org" and "#+begin_src" not in text.lower() and ":verb:" not in text:
        text += "\n#+begin_src http\nGET https://example.org/\n#+end_src\n"  # a part of a document
    file.write_text(text)
    imported = "@host = https://example.org\n\n# @name login\nGET {{host}}/\n"
    file.with_name("login.http").write_text(imported)  # as the page on request files has it
    secrets = {"API_PASSWORD": "a long secret", "TASKS_PASSWORD": "a long secret"}
    listed = file.with_name("secrets.toml")  # as the page on secrets has it
    listed.write_text('[github]\nhosts = ["api.github.com"]\n')
    secrets["ORGREST_SECRETS"] = str(listed)
    done = CliRunner().invoke(program, [str(file), "--dry-run"], env=secrets)
    assert done.exit_code == 0, done.output


LOGINS = [each for each in DOCUMENTS if HOST in each.text and ":var token=login" in each.text]


@pytest.mark.parametrize("block", LOGINS, ids=str)
def test_the_login_on_a_page_does_not_write_its_token_into_the_document(
    block: Block, tmp_path: Path
) -> None:
    require("jq")
    token = response(b'{"token": "a-live-token"}', "Content-Type: application/json")
    file = tmp_path / "page.org"
    with RawServer(by_path({"/login": token})) as server:
        file.write_text(block.text.replace(HOST, server.url))
        CliRunner().invoke(program, [str(file)], env={"API_PASSWORD": "a long secret"})
    assert b"Bearer a-live-token" in server.requests[-1]
    assert "a-live-token" not in file.read_text()
