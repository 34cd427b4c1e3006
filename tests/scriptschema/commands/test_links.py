"""Links in an untrusted folder: no command writes through a link to its target.

Each command that writes is run once in a plain folder. Then it is run again for each file that it
wrote, with a link in the place of that file, and for each subfolder, with a link in its place.
"""

import shutil
import sys
from pathlib import Path

import click
import pytest
from command import run_here
from command_tree import commands

from scriptschema import files, wire
from scriptschema.commands.main import main
from scriptschema.files import FileError
from scriptschema.fuzzing.campaign.folder import _refuse_links
from scriptschema.generation.trees import generate

TARGET = "if grep -q end $1; then kill -SEGV $$; fi\n"

COMMANDS: dict[str, list[list[str]]] = {
    "convert": [
        ["trees", "--to", "json", "-o", "out/"],
        ["trees/a.pb", "--to", "text", "-o", "out/a.textproto"],
    ],
    "corpus diff": [["trees", "trees", "--plot", "out/a.svg"]],
    "corpus distill": [
        ["trees", "-o", "out"],
        ["trees", "-o", "out", "--coverage", f"{sys.executable} -c print(1)"],
    ],
    "corpus export": [
        ["trees", "-o", "out"],
        ["trees", "-o", "out", "--to", "luau"],
        ["trees", "-o", "out/a.pbstream"],
    ],
    "corpus import": [["trees", "-o", "out"]],
    "corpus merge": [["trees", "-o", "out"]],
    "corpus stats": [["trees", "--plot", "out/a.svg"]],
    "dictionary": [["-o", "out/a.dict"]],
    "export": [["FIND", "--to", "sarif", "-o", "out/a.sarif"]],
    "fuzz": [
        ["-o", "campaign", "--count", "1", "--trust"],
        ["-t", "command:true {file}", "-o", "out", "--count", "1"],
    ],
    "generate": [
        ["-n", "2", "-o", "out"],
        ["--programs", "-n", "9", "--format", "luau", "-o", "out"],
        ["-n", "2", "-o", "out/a.pbstream"],
        ["-o", "out/a.pb"],
    ],
    "parse": [
        ["sources", "-o", "out/"],
        ["sources", "-o", "sources/"],
        ["sources/a.luau", "-o", "out/a.pb", "--save-names", "out/names.json"],
    ],
    "reduce": [["FIND", "--trust"], ["sources/a.luau", "--test", "true {}", "-o", "out/a.luau"]],
    "render": [["trees", "-o", "out/"], ["trees/module.pb", "-o", "out/a.luau"]],
    "repair": [["trees", "-o", "out/"]],
    "report": [["campaign", "-o", "out/a.html"]],
    "tutorial": [["out"]],
}
"""The arguments of all commands that write; FIND is a find of the campaign."""


def writes(command: click.Command) -> bool:
    """Return whether a command has an option for an output file, or writes without one."""
    options = {option for parameter in command.params for option in parameter.opts}
    return (
        bool(options & {"-o", "--output", "--plot", "--save-names"}) or command.name == "tutorial"
    )


def test_each_command_that_writes_is_tried() -> None:
    every = commands(main, "scriptschema")
    found = {path.partition(" ")[2] for path, command in every if writes(command)}
    assert {*COMMANDS} == found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with trees, sources and a campaign that has a find."""
    home = tmp_path_factory.mktemp("plain")
    for name, seed in (("a.pb", 1), ("below/b.pb", 2)):
        files.write(home / "trees" / name, wire.encode(generate(seed=seed)))
    module = next(t for t in (generate(seed=n) for n in range(1000)) if t.module is not None)
    files.write(home / "trees" / "module.pb", wire.encode(module))
    for name in ("a.luau", "below/b.luau"):
        files.write(home / "sources" / name, b"local mine = 1\nprint(mine)\n")
    (home / "target.sh").write_text(TARGET)
    target = f"command:sh {home / 'target.sh'} {{file}}"
    done = run_here("fuzz", "-t", target, "-o", home / "campaign", "--count", 3, "--seed", 1)
    assert done.returncode == 0, done.stderr
    return home


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def arguments_of(home: Path, arguments: list[str]) -> list[str]:
    [find, *_] = sorted((home / "campaign" / "finds").iterdir())
    return [str(find.relative_to(home)) if each == "FIND" else each for each in arguments]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments"),
    [(name, each) for name, several in COMMANDS.items() for each in several],
    ids=lambda each: each if isinstance(each, str) else " ".join(each)[:50],
)
def test_nothing_is_written_through_a_link(
    name: str, arguments: list[str], plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"

    def run() -> int:
        shutil.rmtree(outside, ignore_errors=True)
        outside.mkdir()
        (outside / "victim").write_text("kept")
        (outside / ".hidden").write_text("kept")
        return run_here(*name.split(), *arguments_of(home, arguments)).returncode

    def anew() -> None:
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(plain, home)
        if name != "tutorial":
            (home / "out").mkdir()
        monkeypatch.chdir(home)

    anew()
    before = files_below(home)
    assert run() in (0, 1)
    after = files_below(home)
    written = {each for each in after if after[each] != before.get(each)}
    written |= {"out/.covered"} if "--coverage" in arguments else set()
    assert written
    places = {home / each for each in written}
    folders = {parent for each in places for parent in each.parents if home in parent.parents}
    named = {home / "out", home / "sources", home / "campaign"}
    for place in sorted(places | (folders - named)):
        anew()
        is_folder = place in folders
        shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(outside if is_folder else outside / "victim")
        run()
        assert files_below(outside) == {"victim": b"kept", ".hidden": b"kept"}, place


def test_an_error_names_the_link(tmp_path: Path) -> None:
    (tmp_path / "link.pb").symlink_to("real.pb")
    with pytest.raises(files.FileError, match=r"link.pb: a symbolic link: links are not followed"):
        files.write(tmp_path / "link.pb", b"new")
    (tmp_path / "folder").symlink_to(tmp_path)
    with pytest.raises(files.FileError, match=r"folder is a link|a symbolic link: links"):
        files.write(tmp_path / "folder" / "a.pb", b"new", below=tmp_path)
    files.write(tmp_path / "folder" / "a.pb", b"new")  # named by its user
    assert (tmp_path / "a.pb").read_bytes() == b"new"


def test_a_file_with_another_name_elsewhere_is_not_appended_to(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("kept")
    (tmp_path / "other").hardlink_to(tmp_path / "log")
    with pytest.raises(OSError, match="not a regular file, or a file with several hard links:"):
        files.open_to_append(tmp_path / "log")


def test_a_file_cannot_have_the_place_of_the_root_folder() -> None:
    with pytest.raises(files.FileError, match=r"^/: not a regular file$"):
        files.write(Path("/"), b"new")


def test_dev_stdout_is_written_to(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as file:
        files.write(Path(f"/dev/fd/{file.fileno()}"), b"new")
    assert (tmp_path / "out").read_bytes() == b"new"


def test_links_of_aflplusplus_within_its_own_folder_are_no_reason_to_stop(tmp_path: Path) -> None:
    state = tmp_path / "afl" / "out" / "main" / "queue" / ".state"
    state.mkdir(parents=True)
    (state.parent / "id:000001").write_bytes(b"")
    (state / "id:000001").symlink_to("../id:000001")
    _refuse_links(tmp_path)
    (state / "id:000002").symlink_to("../../../../../elsewhere")
    with pytest.raises(FileError, match="is a symbolic link:"):
        _refuse_links(tmp_path)
    (state / "id:000002").unlink()
    (tmp_path / "finds").symlink_to("afl")
    with pytest.raises(FileError, match="is a symbolic link:"):
        _refuse_links(tmp_path)
