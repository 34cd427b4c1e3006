"""Environments are found where VS Code, JetBrains' HTTP Client and httpyac store them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from components import needs_engine
from hypothesis import example, given
from hypothesis import strategies as st

from orgrest.http.parsing.dialects import read
from orgrest.http.values import Context, Inputs, environments, expand
from orgrest.http.values.environment import Environment
from orgrest.http.values.global_variables import text_of
from orgrest.model import OrgrestError, Source

if TYPE_CHECKING:
    from pathlib import Path

    from orgrest.model import Request


def put(file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))


def values(folder: Path, *names: str) -> dict[str, str]:
    chosen = environments.find(folder).choose(names)
    return {name: setting.value for name, setting in chosen.items()}


def test_without_files_there_is_no_environment(tmp_path: Path) -> None:
    found = environments.find(tmp_path)
    assert found.names == ()
    assert found.choose([]) == {}
    with pytest.raises(OrgrestError, match="unknown environment dev: there is no environment file"):
        found.choose(["dev"])


def test_jetbrains_files_give_their_environments_and_private_values_win_and_are_secret(
    tmp_path: Path,
) -> None:
    put(
        tmp_path / "http-client.env.json",
        {
            "dev": {"host": "localhost", "port": 8080, "tls": False, "list": [1]},
            "prod": {"host": "h"},
        },
    )
    put(tmp_path / "http-client.private.env.json", {"dev": {"password": "p", "host": "mine"}})
    found = environments.find(tmp_path)
    assert found.names == ("dev", "prod")
    chosen = found.choose(["dev"])
    assert {name: setting.value for name, setting in chosen.items()} == {
        "host": "mine",
        "port": "8080",
        "tls": "false",
        "list": "[1]",
        "password": "p",
    }
    assert {name for name, setting in chosen.items() if setting.secret} == {"host", "password"}
    assert chosen["port"].file == tmp_path / "http-client.env.json"


def test_vs_codes_settings_may_have_comments_and_shared_variables(tmp_path: Path) -> None:
    put(
        tmp_path / ".vscode" / "settings.json",
        """{
          // a comment, "not a string"
          "editor.tabSize": 4, /* another */
          "rest-client.environmentVariables": {
            "$shared": {"version": "v1", "url": "http://a//b",},
            "local": {"host": "here", "base": "{{$shared version}}/{{$local host}}/{{$dev x}}"},
          },
        }""",
    )
    assert values(tmp_path) == {"version": "v1", "url": "http://a//b"}
    assert values(tmp_path, "local") == {
        "version": "v1",
        "url": "http://a//b",
        "host": "here",
        "base": "v1/here/{{$dev x}}",
    }


def test_dotenv_files_beside_and_in_the_folder_env_are_taken(tmp_path: Path) -> None:
    put(tmp_path / ".env", "A=1\nexport B='two words' # comment\nAPI_TOKEN=x\n")
    put(tmp_path / ".env.dev", "A=2\n")
    put(tmp_path / "env" / "prod.env", "A=3\n")
    put(tmp_path / "env" / ".env", "C=4\n")
    assert environments.find(tmp_path).names == ("dev", "prod")
    assert values(tmp_path) == {"A": "1", "B": "two words", "API_TOKEN": "x", "C": "4"}
    assert values(tmp_path, "dev")["A"] == "2"
    assert values(tmp_path, "dev", "prod")["A"] == "3"
    secret = {n for n, s in environments.find(tmp_path).choose([]).items() if s.secret}
    assert secret == {"API_TOKEN"}


def test_dotenv_reads_the_nearest_folder_and_prefers_the_selected_environment(
    tmp_path: Path,
) -> None:
    put(tmp_path / ".env", "FAR=1\n")
    put(tmp_path / "project" / ".env", "A=1\nB=1\n")
    put(tmp_path / "project" / ".env.dev", "A=2\n")
    (tmp_path / "project" / ".git").mkdir()
    inner = tmp_path / "project" / "inner"
    inner.mkdir()
    assert environments.dotenv_near(inner, ()) == {"A": "1", "B": "1"}
    assert environments.dotenv_near(inner, ("dev",)) == {"A": "2", "B": "1"}
    put(inner / ".env", "C=3\n")
    assert environments.dotenv_near(inner, ("dev",)) == {"C": "3"}
    assert environments.dotenv_near(tmp_path / "none", ()) == {}


def test_httpyacs_configuration_gives_environments(tmp_path: Path) -> None:
    put(tmp_path / ".httpyac.json", {"environments": {"$shared": {"a": "1"}, "dev": {"b": "2"}}})
    assert values(tmp_path, "dev") == {"a": "1", "b": "2"}


def test_folders_up_to_the_projects_count_and_the_nearer_one_wins(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    put(tmp_path / ".env", "OUTSIDE=1\n")
    put(project / ".env", "A=far\nB=far\n")
    put(project / "api" / ".env", "A=near\n")
    assert values(project / "api") == {"A": "near", "B": "far"}
    assert environments.find(project / "api").project == project.resolve()


def test_the_error_does_not_deny_a_file_that_was_not_searched_for(tmp_path: Path) -> None:
    put(tmp_path / "http-client.env.json", {"dev": {"a": "1"}})
    (tmp_path / "api").mkdir()
    with pytest.raises(
        OrgrestError, match=r"environment dev: there is no .*a project's folder contains \.git,"
    ):
        values(tmp_path / "api", "dev")
    (tmp_path / ".git").mkdir()
    assert values(tmp_path / "api", "dev") == {"a": "1"}


def test_without_a_project_only_the_documents_folder_counts(tmp_path: Path) -> None:
    put(tmp_path / ".env", "A=1\n")
    (tmp_path / "inner").mkdir()
    assert values(tmp_path / "inner") == {}


def test_a_folder_that_is_called_like_a_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    (tmp_path / "http-client.env.json").mkdir()
    os.mkfifo(tmp_path / "dev.env")
    assert values(tmp_path) == {}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", "expected a JSON object"),
        ('{"dev": 1}', "the environment dev must be an object"),
        ('{"dev": {', "not valid JSON"),
        ("\udcff", "the environment file is not UTF-8"),
        ("[" * 100_000, "the JSON is nested too deeply"),
        ("/*" * 400_000, "not valid JSON"),
        ('\\"' * 400_000, "not valid JSON"),
        (" " * (environments.LARGEST + 1), "the environment file is larger than 1,048,576 bytes"),
    ],
)
def test_a_broken_file_is_an_error_with_its_name(tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "http-client.env.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(OrgrestError) as caught:
        environments.find(tmp_path).check()
    assert caught.value.reason.startswith(reason)
    assert caught.value.file == str(file)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("http-client.env.json", {"dev": {"host": None}}),
        ("http-client.private.env.json", {"$shared": {"host": None}}),
        (".httpyac.json", {"environments": {"dev": {"host": None}}}),
        (".vscode/settings.json", {"rest-client.environmentVariables": {"dev": {"host": None}}}),
    ],
)
def test_a_null_is_no_text_called_null(tmp_path: Path, name: str, content: Any) -> None:
    put(tmp_path / name, content)
    put(tmp_path / ".env.dev", "other=1\n")
    with pytest.raises(OrgrestError, match="host is null in the environment") as caught:
        Environment(tmp_path, ["dev"], str).value("host")
    assert caught.value.file == str(tmp_path / name)
    assert Environment(tmp_path, ["dev"], str).values() == {"other": "1"}
    assert Environment(tmp_path, ["dev"], str).value("other") == "1"
    assert Environment(tmp_path, ["dev"], str).value("elsewhere") is None


def test_a_schema_comments_and_trailing_commas_are_read_and_reported(tmp_path: Path) -> None:
    file = tmp_path / "http-client.env.json"
    put(file, '{"$schema": "https://a/b.json", "dev": {"a": "1"}}')
    assert environments.find(tmp_path).names == ("dev",)
    assert environments.find(tmp_path).notices == []
    put(file, '{\n  // of the team\n  "dev": {"a": "http://b", /* old */ },\n}')
    assert values(tmp_path, "dev") == {"a": "http://b"}
    [notice] = environments.find(tmp_path).notices
    assert notice.startswith(f"{file}: comments and trailing commas")


def test_a_malformed_line_of_a_dotenv_file_is_reported_with_its_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / ".env", "A=1\n# a comment\nB='two\nlines'\n\n\nH\n  =bad\nC=3\nD='open\n")
    assert values(tmp_path) == {"A": "1", "B": "two\nlines", "C": "3"}
    [notice] = environments.find(tmp_path).notices  # however many lines of the file are malformed
    reason = "this line is not of the form NAME=value, so it is ignored (and 2 more such lines)"
    assert notice == f"{tmp_path / '.env'}:7: {reason}"
    assert not caplog.records


def test_a_broken_file_keeps_no_variable_back_that_it_cannot_change(tmp_path: Path) -> None:
    put(tmp_path / ".vscode" / "settings.json", "{ broken")
    put(tmp_path / "http-client.env.json", {"dev": {"a": "1"}, "prod": {"b": "2"}})
    environment = Environment(tmp_path, ("prod", "dev"), str)
    assert environment.value("a") == "1"
    for name in ("b", "c"):  # the settings may give these for dev
        with pytest.raises(OrgrestError, match="not valid JSON"):
            environment.value(name)
    put(tmp_path / "http-client.private.env.json", "{ broken")
    with pytest.raises(OrgrestError, match=r"settings\.json"):
        Environment(tmp_path, ("dev",), str).value("a")
    with pytest.raises(OrgrestError, match="not valid JSON"):
        Environment(tmp_path, ("nowhere",), str).value("a")


def request_to(url: str, folder: Path, *chosen: str) -> Request:
    (parsed,) = read(Source(f"GET {url}\n")).requests
    return expand(parsed, Context(Inputs(directory=folder, environments=chosen)))


@pytest.mark.parametrize("name", [".vscode/settings.json", ".httpyac.json"])
def test_broken_settings_keep_no_request_back_that_does_not_need_them(
    tmp_path: Path, name: str
) -> None:
    put(tmp_path / name, '{"rest-client.certificates": {"safe.example": {"cert": "a.pem"')
    put(tmp_path / "http-client.env.json", '{"dev": {"SSLConfiguration": ')
    assert request_to("https://example.org/", tmp_path).url == "https://example.org/"
    with pytest.raises(OrgrestError, match=f"{name}:1:.*: not valid JSON"):
        request_to("https://safe.example/", tmp_path)
    with pytest.raises(OrgrestError, match=r"http-client\.env\.json:1:.*: not valid JSON"):
        request_to("https://example.org/", tmp_path, "dev")
    put(tmp_path / "http-client.env.json", '{"dev": {')
    assert request_to("https://example.org/", tmp_path, "dev").certificate is None
    with pytest.raises(OrgrestError, match=f"a is not defined in the document.*{name}"):
        request_to("https://example.org/{{a}}", tmp_path, "dev")


def test_files_are_read_again_when_they_change_and_only_then(tmp_path: Path) -> None:
    file = tmp_path / "http-client.env.json"
    put(file, {"dev": {"a": "1"}})
    (tmp_path / "env").mkdir()

    def age() -> None:
        for path in (tmp_path, *tmp_path.rglob("*")):
            os.utime(path, (1, 1))

    age()
    known = environments.find(tmp_path)
    assert environments.find(tmp_path) is known
    put(file, {"dev": {"a": "2"}})
    assert values(tmp_path, "dev") == {"a": "2"}  # changed just now, and remembered no more
    put(file, {"dev": {"a": "3"}})
    assert values(tmp_path, "dev") == {"a": "3"}
    age()
    assert values(tmp_path, "dev") == {"a": "3"}
    put(tmp_path / "env" / "dev.env", "b=1")
    assert values(tmp_path, "dev") == {"a": "3", "b": "1"}
    age()
    assert values(tmp_path, "dev") == {"a": "3", "b": "1"}
    file.unlink()
    assert values(tmp_path, "dev") == {"b": "1"}


PROVIDED = {"provider": "AspnetUserSecrets", "secretName": "config:Key"}


class TestVisualStudio:
    """Visual Studio's files for one user, and its secret providers."""

    def folder(self, tmp_path: Path, **variables: Any) -> Path:
        """Return a project folder with an environment, and store its secrets below `home`."""
        folder = tmp_path / "project"
        put(folder / "http-client.env.json", {"dev": {"key": PROVIDED} | variables})
        put(folder / "App.csproj", "<Project><UserSecretsId> my-app </UserSecretsId></Project>")
        secrets = tmp_path / "home" / ".microsoft" / "usersecrets" / "my-app" / "secrets.json"
        put(secrets, '{"config": {"KEY": "secret-one"}, // of .NET\n"Other:Number": 5,}')
        return folder

    def sent(self, folder: Path, text: str, **environ: str) -> Request:
        environ = environ or {"HOME": str(folder.parent / "home")}
        inputs = Inputs(directory=folder, environments=("dev",), environ=environ)
        return expand(read(Source(text), "http").requests[0], Context(inputs))

    def test_a_users_file_wins(self, tmp_path: Path) -> None:
        put(tmp_path / "http-client.env.json", {"dev": {"path": "/a", "host": "h"}})
        put(tmp_path / "http-client.env.json.user", {"dev": {"path": "/b", "token": "t"}})
        assert values(tmp_path, "dev") == {"path": "/b", "host": "h", "token": "t"}
        found = environments.find(tmp_path).choose(["dev"])
        assert [found[name].secret for name in ("path", "token")] == [False, True]

    def test_a_user_secret_is_sent_and_masked(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, n=PROVIDED | {"secretName": "other:number"})
        request = self.sent(folder, "GET http://h/{{n}}\nKey: {{key}}\n")
        assert request.url == "http://h/5"
        assert request.header("Key") == "secret-one"
        assert "secret-one" in {str(secret) for secret in request.secrets}

    def test_on_windows_they_are_below_appdata(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path)
        roaming = tmp_path / "Roaming"
        put(
            roaming / "Microsoft" / "UserSecrets" / "my-app" / "secrets.json",
            {"config:Key": "of Windows"},
        )
        request = self.sent(folder, "GET http://h\nKey: {{key}}\n", APPDATA=str(roaming))
        assert request.header("Key") == "of Windows"

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ({"provider": "AzureKeyVault", "secretName": "a"}, "provider AzureKeyVault is not"),
            ({"provider": "Encrypted", "value": "AQ"}, "provider Encrypted is not supported"),
            ({"provider": "Mine", "secretName": "a"}, "provider Mine is not supported"),
            ({"provider": "AspnetUserSecrets"}, "requires a secretName"),
            ({"provider": "AspnetUserSecrets", "secretName": "no"}, "no user secret no"),
        ],
    )
    def test_what_no_provider_gives_is_an_error_and_not_sent(
        self, tmp_path: Path, value: Any, reason: str
    ) -> None:
        folder = self.folder(tmp_path, x=value)
        with pytest.raises(OrgrestError, match=reason):
            self.sent(folder, "GET http://h\nX: {{x}}\n")

    @pytest.mark.parametrize("name", ["../../../etc", "..", "a/b", "", "a\\b"])
    def test_the_id_of_a_project_is_the_name_of_a_folder(self, tmp_path: Path, name: str) -> None:
        folder = self.folder(tmp_path)
        put(folder / "App.csproj", f"<UserSecretsId>{name}</UserSecretsId>")
        with pytest.raises(OrgrestError, match="no project in"):
            self.sent(folder, "GET http://h\nX: {{key}}\n")


def test_an_object_never_becomes_text_but_its_members_do(tmp_path: Path) -> None:
    user = {"name": "ann", "provider": "google"}
    put(tmp_path / "http-client.env.json", {"dev": {"user": user, "list": [1]}})
    context = Context(Inputs(directory=tmp_path, environments=("dev",)), computes=True)

    def sent(text: str) -> str:
        return expand(read(Source(text), "http").requests[0], context).url

    assert sent("GET http://h/{{user.name}}/{{list}}\n") == "http://h/ann/[1]"
    for text in ("GET http://h/{{user}}\n", "@x = {{user}}\nGET http://h/{{x}}\n"):
        with pytest.raises(OrgrestError, match=r"user is an object in http-client\.env\.json"):
            sent(text)
    context.close()


def test_numbers_are_sent_as_javascript_tools_send_them(tmp_path: Path) -> None:
    # the right side is String(number), as JavaScript formats it
    numbers = {
        "1.0": "1",
        "1e3": "1000",
        "-2.50": "-2.5",
        "-0.0": "0",
        "7": "7",
        "1e-6": "0.000001",
        "1.5E-7": "1.5e-7",
        "1e20": "100000000000000000000",
        "123456789012345680000.0": "123456789012345680000",
        "1e21": "1e+21",
    }
    members = ", ".join(f'"n{i}": {number}' for i, number in enumerate(numbers))
    put(tmp_path / "http-client.env.json", f'{{"dev": {{{members}}}}}')
    assert list(values(tmp_path, "dev").values()) == list(numbers.values())


@needs_engine
@given(st.floats(allow_nan=False))
@example(1e21)
@example(5e-324)
@example(123456789012345680000.0)
def test_every_number_has_the_format_of_javascript(number: float) -> None:
    import quickjs

    text = text_of(number)
    expected = quickjs.Context().eval(f"String({number!r})".replace("inf", "1/0"))
    # Old releases of QuickJS print more digits of some numbers than are necessary.
    assert text == expected or (len(text) < len(expected) and float(text) == float(expected))
