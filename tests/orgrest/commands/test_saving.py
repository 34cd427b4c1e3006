"""Documents are never lost or half written: `orgrest.files`, and saving from the command line."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from full_disk import run_with_full_disk
from hypothesis import given
from hypothesis import strategies as st
from servers import RawServer, response

from orgrest import files
from orgrest.commands.main import main
from orgrest.files import File, FileChangedError, FileError, decode, write

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = "#+begin_src restclient :results value\nGET HOST/\n#+end_src\n"


class TestEncodings:
    @given(st.binary(max_size=60))
    def test_reading_and_writing_any_bytes_gives_them_back(self, data: bytes) -> None:
        text, encoding = decode(data)
        assert encoding.encode(text) == data

    @given(st.text(alphabet="a\r\n", max_size=30))
    def test_line_ends_stay_whatever_they_are(self, text: str) -> None:
        found, encoding = decode(text.encode())
        assert encoding.encode(found) == text.encode()

    @pytest.mark.parametrize(
        ("data", "text", "codec", "newline"),
        [
            (b"a\nb", "a\nb", "utf-8", "\n"),
            (b"a\r\nb\r\n", "a\nb\n", "utf-8", "\r\n"),
            (b"a\rb\r", "a\nb\n", "utf-8", "\r"),
            (b"a\r\nb\n", "a\r\nb\n", "utf-8", "\n"),
            (b"\xef\xbb\xbf\xc3\xa9", "é", "utf-8", "\n"),
            (b"\xff\xfea\0\n\0", "a\n", "utf-16-le", "\n"),
            (b"caf\xe9", "café", "latin-1", "\n"),
            (b"# -*- coding: cp1252 -*-\n\x80", "# -*- coding: cp1252 -*-\n€", "cp1252", "\n"),
            (
                b"-*- coding: iso-8859-15-unix -*-\xa4",
                "-*- coding: iso-8859-15-unix -*-€",
                "iso-8859-15",
                "\n",
            ),
            (
                b"-*- coding: cp1252-dos; -*-\r\n\x80\r\n",
                "-*- coding: cp1252-dos; -*-\n€\n",
                "cp1252",
                "\r\n",
            ),
            (
                b"# -*- coding: cp1252-mac -*-\r\x80\r",
                "# -*- coding: cp1252-mac -*-\n€\n",
                "cp1252",
                "\r",
            ),
            (b"# -*- coding: no-such -*-\n\xe9", "# -*- coding: no-such -*-\né", "latin-1", "\n"),
        ],
    )
    def test_each_kind_of_file_is_recognised(
        self, data: bytes, text: str, codec: str, newline: str
    ) -> None:
        found, encoding = decode(data)
        assert (found, encoding.codec, encoding.newline) == (text, codec, newline)
        assert encoding.encode(found + "\n") == data + encoding.newline.encode(codec)

    def test_what_an_encoding_lacks_is_written_as_json_does(self) -> None:
        _, encoding = decode(b"\xe9")
        assert encoding.encode("é☃😀") == b"\xe9\\u2603\\ud83d\\ude00"


class TestReading:
    def test_a_fifo_does_not_hang_the_run_and_a_device_does_not_fill_the_memory(
        self, tmp_path: Path
    ) -> None:
        os.mkfifo(tmp_path / "fifo")
        for path in (tmp_path / "fifo", Path("/dev/zero")):
            with pytest.raises(FileError) as caught:
                File.read(path)
            assert str(caught.value) == f"{path}: could not read the file: not a regular file"

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            (".", "Is a directory"),
            ("no", "No such file or directory"),
            ("a\0", "embedded null byte"),
        ],
    )
    def test_what_cannot_be_read_is_reported(self, tmp_path: Path, name: str, reason: str) -> None:
        with pytest.raises(FileError) as caught:
            File.read(tmp_path / name)
        assert caught.value.reason == f"could not read the file: {reason}"

    def test_a_link_to_a_file_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"a")
        (tmp_path / "b").symlink_to("a")
        assert files.read_bytes(tmp_path / "b") == b"a"


class TestSaving:
    def read(self, path: Path, data: bytes = b"old\n") -> File:
        path.write_bytes(data)
        return File.read(path)

    def test_an_unchanged_text_is_not_written(self, tmp_path: Path) -> None:
        file = self.read(tmp_path / "a")
        before = (tmp_path / "a").stat()
        assert file.save("old\n") is False
        assert (tmp_path / "a").stat().st_ino == before.st_ino

    def test_a_file_can_be_saved_again_and_again(self, tmp_path: Path) -> None:
        file = self.read(tmp_path / "a")
        assert file.save("new\n")
        assert file.save("newer\n")
        assert (tmp_path / "a").read_bytes() == b"newer\n"
        assert [path.name for path in tmp_path.iterdir()] == ["a"]

    def test_mode_and_link_stay(self, tmp_path: Path) -> None:
        file = self.read(tmp_path / "a")
        (tmp_path / "a").chmod(0o604)
        (tmp_path / "link").symlink_to("a")
        File.read(tmp_path / "link").save("new\n")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "a").read_bytes() == b"new\n"
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o604
        with pytest.raises(FileChangedError):
            file.save("x")

    @pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")
    def test_the_owner_stays(self, tmp_path: Path) -> None:
        file = self.read(tmp_path / "a")
        os.chown(tmp_path / "a", 12345, 12345)
        file.save("new\n")
        assert ((tmp_path / "a").stat().st_uid, (tmp_path / "a").stat().st_gid) == (12345, 12345)

    def test_a_file_that_was_changed_meanwhile_is_left_alone(self, tmp_path: Path) -> None:
        file = self.read(tmp_path / "a")
        (tmp_path / "a").write_bytes(b"theirs\n")
        with pytest.raises(FileChangedError, match="the file was changed on disk in the meantime"):
            file.save("mine\n")
        assert (tmp_path / "a").read_bytes() == b"theirs\n"

    @pytest.mark.parametrize("step", ["_check_writable", "_sync_folder"])
    def test_after_ctrl_c_during_a_save_no_change_by_others_is_reported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        file = self.read(tmp_path / "a")
        for text in ("new\n", "newer\n"):
            with monkeypatch.context() as patched:
                patched.setattr(files, step, interrupted)
                with pytest.raises(KeyboardInterrupt):
                    file.save(text)
        assert file.is_unchanged()
        file.save("newer\n")
        assert (tmp_path / "a").read_bytes() == b"newer\n"
        (tmp_path / "a").write_bytes(b"theirs\n")
        with pytest.raises(FileChangedError):
            file.save("newest\n")

    def test_a_file_that_is_gone_is_not_made_again(self, tmp_path: Path) -> None:
        file = self.read(tmp_path / "a")
        (tmp_path / "a").unlink()
        with pytest.raises(FileChangedError, match="could not read the file again"):
            file.save("mine\n")
        assert list(tmp_path.iterdir()) == []

    def test_a_read_only_file_stays_as_it_is(self, folder: Path) -> None:
        file = self.read(folder / "a")
        (folder / "a").chmod(0o444)
        child = os.fork()
        if child == 0:  # as somebody who is not root, to whom nothing is read-only
            status = 1
            try:
                if os.getuid() == 0:
                    os.setuid(65534)
                file.save("new\n")
            except FileError as error:
                status = 0 if error.reason == "the file is read-only" else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (folder / "a").read_bytes() == b"old\n"

    @pytest.fixture
    def folder(self) -> Iterator[Path]:
        """A folder that everybody may write to. pytest's own folders are private."""
        with tempfile.TemporaryDirectory() as name:
            Path(name).chmod(0o777)
            yield Path(name)

    @pytest.mark.skipif(os.getuid() != 0, reason="only root may write what is read-only")
    def test_root_may_write_everything(self, tmp_path: Path) -> None:
        file = self.read(tmp_path / "a")
        (tmp_path / "a").chmod(0o444)
        assert file.save("new\n")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o444

    @pytest.mark.parametrize("step", ["write", "fsync", "replace"])
    def test_a_full_disk_leaves_the_old_file_and_no_rubbish(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        file = self.read(tmp_path / "a")

        def full(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        if step == "write":
            monkeypatch.setattr(files.os, "fdopen", full)
        elif step == "fsync":
            monkeypatch.setattr(files.os, "fsync", full)
        else:
            monkeypatch.setattr(Path, "replace", full)
        with pytest.raises(FileError, match="could not write the file: No space left on device"):
            file.save("new\n")
        monkeypatch.undo()
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
        assert (tmp_path / "a").read_bytes() == b"old\n"

    def test_a_disk_that_is_really_full_leaves_the_old_file(self, tmp_path: Path) -> None:
        file = self.read(tmp_path / "a")
        code = (
            "import sys; from pathlib import Path; from orgrest.files import *\n"
            "try: File.read(Path(sys.argv[1])).save('x' * 100_000)\n"
            "except FileError as error: print(error)"
        )
        done = run_with_full_disk(code, str(file.path), most_bytes=1000)
        assert "a: could not write the file: File too large" in done.stdout
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
        assert file.path.read_bytes() == b"old\n"

    def test_a_kill_between_writing_and_renaming_leaves_the_old_file(self, tmp_path: Path) -> None:
        self.read(tmp_path / "a")
        code = (
            "import os; from pathlib import Path; from orgrest.files import *\n"
            "Path.replace = lambda *_: os.kill(os.getpid(), 9)\n"
            f"File.read(Path({str(tmp_path / 'a')!r})).save('new')"
        )
        done = subprocess.run([sys.executable, "-c", code], check=False)
        assert done.returncode == -9
        assert (tmp_path / "a").read_bytes() == b"old\n"

    @pytest.mark.slow
    def test_a_kill_at_any_moment_leaves_the_old_or_the_new_file(self, tmp_path: Path) -> None:
        script = Path(__file__).with_name("killed_saves.py")
        path = tmp_path / "a.org"
        done = subprocess.run(
            [sys.executable, str(script), str(path)], check=True, capture_output=True, text=True
        )
        kills, *damaged = done.stdout.splitlines()
        assert int(kills) > 50
        assert damaged == []

    def test_the_next_run_removes_what_a_killed_save_left(self, tmp_path: Path) -> None:
        self.read(tmp_path / "a")
        code = (
            "import os; from pathlib import Path; from orgrest.files import *\n"
            "Path.replace = lambda *_: os.kill(os.getpid(), 9)\n"
            f"File.read(Path({str(tmp_path / 'a')!r})).save('new')"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
        assert len(list(tmp_path.iterdir())) == 2
        code = (
            "from pathlib import Path; from orgrest.files import *\n"
            f"File.read(Path({str(tmp_path / 'a')!r})).save('old\\n')"  # what it is already
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        assert [path.name for path in tmp_path.iterdir()] == ["a"]

    def test_attributes_and_access_control_lists_stay(self, tmp_path: Path) -> None:
        path = tmp_path / "a.org"
        path.write_text("one\n")
        # Version 2; the user rw-, user 65534 r--, the group r--, the mask r--, others ---.
        entries = [(1, 6, -1), (2, 4, 65534), (4, 4, -1), (16, 4, -1), (32, 0, -1)]
        acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
        try:
            os.setxattr(path, "user.note", b"kept")
            os.setxattr(path, "system.posix_acl_access", acl)
        except (AttributeError, OSError) as error:
            pytest.skip(f"no extended attributes here: {error}")
        assert File.read(path).save("two\n")
        assert os.getxattr(path, "user.note") == b"kept"
        assert os.getxattr(path, "system.posix_acl_access") == acl

    def test_a_file_with_several_names_keeps_them(self, tmp_path: Path) -> None:
        path, other = tmp_path / "a.org", tmp_path / "b.org"
        path.write_text("one\n")
        os.link(path, other)
        for text in ("longer than that\n", "x\n"):
            assert File.read(path).save(text)
            assert (path.read_text(), other.read_text()) == (text, text)
        assert path.samefile(other)
        assert sorted(tmp_path.iterdir()) == [path, other]

    def test_a_full_disk_leaves_a_file_with_several_names_as_it_was(self, tmp_path: Path) -> None:
        path = tmp_path / "a.org"
        path.write_text("one\n")
        os.link(path, tmp_path / "b.org")
        code = (
            "import sys; from pathlib import Path; from orgrest import files\n"
            "try: files._write_into(Path(sys.argv[1]), b'x' * 9999)\n"
            "except OSError as error: print(error.strerror)"
        )
        done = run_with_full_disk(code, str(path), most_bytes=4096)
        assert done.stdout in ("File too large\n", "No space left on device\n"), done.stderr
        assert path.read_text() == "one\n"

    def test_a_file_with_several_names_is_whole_in_another_after_a_kill(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "a.org"
        path.write_text("old\n")
        os.link(path, tmp_path / "b.org")
        code = (
            "import os, sys; from pathlib import Path; from orgrest import files\n"
            "files.os.pwrite = lambda *_: os._exit(9)\n"
            "files.write(Path(sys.argv[1]), b'new and longer\\n')"
        )
        done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
        assert done.returncode == 9
        files.write(tmp_path / "b.org", b"newer\n")
        files.write(path, b"newest\n")
        [kept] = tmp_path.glob(".a.org.*")
        assert kept.suffix == ".saved"
        assert kept.read_text() == "new and longer\n"

    @pytest.mark.parametrize("interrupts", [1, 2])
    def test_a_file_with_several_names_is_never_half_written_after_ctrl_c(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupts: int
    ) -> None:
        path = tmp_path / "a.org"
        path.write_text("old\n")
        os.link(path, tmp_path / "b.org")
        real, left = os.pwrite, [interrupts]

        def pwrite(number: int, data: bytes, offset: int) -> int:
            if offset == 0 and left[0]:  # the end has been written, the beginning has not
                left[0] -= 1
                raise KeyboardInterrupt
            return real(number, data, offset)

        monkeypatch.setattr(os, "pwrite", pwrite)
        with pytest.raises(KeyboardInterrupt):
            files.write(path, b"new and longer\n")
        whole = [path] if interrupts == 1 else list(tmp_path.glob(".a.org.*.saved"))
        assert [file.read_text() for file in whole] == ["new and longer\n"]
        assert len([*tmp_path.iterdir()]) == 1 + interrupts

    def test_what_a_killed_run_left_is_removed_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "a.org"
        path.write_text("one\n")
        names = [".a.org.0123abcd", ".a.org.0123abc", ".a.org.swp", ".b.org.0123abcd", "a.org~"]
        for name in (*names, ".a.org.aaaaaaaa"):
            (tmp_path / name).write_text("")
        (tmp_path / ".a.org.bbbbbbbb").mkdir()
        for name in (*names, ".a.org.bbbbbbbb"):
            os.utime(tmp_path / name, (0, 0))
        with (tmp_path / ".a.org.aaaaaaaa").open() as written:  # by another run, at this moment
            fcntl.flock(written, fcntl.LOCK_EX)
            assert File.read(path).save("two\n")
        kept = {path.name for path in tmp_path.iterdir()}
        assert kept == {"a.org", ".a.org.aaaaaaaa", ".a.org.bbbbbbbb", *names[1:]}

    def test_a_new_file_gets_the_usual_mode(self, tmp_path: Path) -> None:
        old = os.umask(0o027)
        try:
            files.write(tmp_path / "b", b"x")
        finally:
            os.umask(old)
        assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o640

    def test_a_folder_that_is_not_there_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="could not write the file: No such file or directory"):
            files.write(tmp_path / "no" / "b", b"x")


class TestWhileEvaluating:
    """A server that edits or reads the document while it is evaluated."""

    def evaluate(self, tmp_path, capsys, edit, *arguments: str, blocks: int = 2):
        path = tmp_path / "notes.org"
        seen: list[bytes] = []

        def answer(connection, _: bytes) -> None:
            seen.append(path.read_bytes())
            edit(path, len(seen))
            connection.sendall(response(b"%d" % len(seen), "Content-Type: text/plain"))

        with RawServer(answer) as server:
            path.write_text((BLOCK + "\n").replace("HOST", server.url) * blocks)
            with pytest.raises(SystemExit) as ended:
                main([str(path), *arguments])
        return ended.value.code, capsys.readouterr().err, path, seen

    @pytest.mark.parametrize("save", ["each", "end"])
    def test_an_edit_meanwhile_wins_and_the_results_are_beside_it(
        self, tmp_path: Path, capsys, save: str
    ) -> None:
        def edit(path: Path, number: int) -> None:
            if number == 2:
                path.write_text("edited\n")

        code, err, path, _ = self.evaluate(tmp_path, capsys, edit, "--save", save, blocks=3)
        assert code == 1
        assert path.read_text() == "edited\n"
        beside = tmp_path / "notes.org.orgrest-results"
        assert beside.read_text().count("#+RESULTS") == 3
        assert f"{path}: the file was changed on disk in the meantime\n" in err
        assert err.endswith(f"the document with the results was saved as {beside}\n")

    def test_each_request_is_saved_when_asked_for(self, tmp_path: Path, capsys) -> None:
        _, _, _, seen = self.evaluate(tmp_path, capsys, lambda *_: None, "--save", "each")
        assert [data.count(b"#+RESULTS") for data in seen] == [0, 1]

    def test_quick_requests_are_saved_at_the_end(self, tmp_path: Path, capsys) -> None:
        _, _, path, seen = self.evaluate(tmp_path, capsys, lambda *_: None)
        assert [data.count(b"#+RESULTS") for data in seen] == [0, 0]
        assert path.read_text().count("#+RESULTS") == 2

    def test_slow_requests_are_saved_in_between(
        self, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("orgrest.commands.saving.SAVE_EVERY", 0.0)
        _, _, _, seen = self.evaluate(tmp_path, capsys, lambda *_: None)
        assert [data.count(b"#+RESULTS") for data in seen] == [0, 1]

    def test_a_read_only_document_is_reported_once(
        self, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def edit(path: Path, _: int) -> None:
            monkeypatch.setattr("os.access", lambda *_: False)

        code, err, path, seen = self.evaluate(tmp_path, capsys, edit, "--save", "each")
        assert code == 1
        assert err.count(f"{path}: the file is read-only") == 1
        assert path.read_bytes() == seen[0]

    def test_a_file_for_a_result_that_cannot_be_written_is_reported(
        self, tmp_path: Path, capsys
    ) -> None:
        def edit(path: Path, _: int) -> None:
            path.write_text(path.read_text())
            (tmp_path / "out").write_text("no folder")

        path = tmp_path / "notes.org"
        with RawServer(
            lambda c, _: (edit(path, 0), c.sendall(response(b"x", "Content-Type: text/plain")))
        ) as server:
            text = BLOCK.replace(":results value", ":results file :file out/a.txt")
            path.write_text(text.replace("HOST", server.url))
            with pytest.raises(SystemExit) as ended:
                main([str(path)])
        assert ended.value.code == 1
        assert "out" in capsys.readouterr().err


def test_three_runs_at_once_on_one_document_each_keep_their_result(tmp_path: Path) -> None:
    count = 3
    answers = iter(range(count))
    together = threading.Barrier(count)

    def answer(connection: socket.socket, _: bytes) -> None:
        number = next(answers)
        together.wait(60)
        connection.sendall(response(b"result %d" % number, "Content-Type: text/plain"))

    with RawServer(answer) as server:
        text = f"#+begin_src http\nGET {server.url}/\n#+end_src\n"
        (tmp_path / "a.org").write_text(text)
        command = [sys.executable, "-m", "orgrest", "a.org", "-q"]
        runs = [subprocess.Popen(command, cwd=tmp_path, stderr=-3) for _ in range(count)]
        for run in runs:
            run.wait(60)
    files = list(tmp_path.glob("*.org*"))
    assert len(files) == count
    found = sorted(re.findall(r"result \d", "".join(file.read_text() for file in files)))
    assert found == [f"result {number}" for number in range(count)]
    assert "result" in (tmp_path / "a.org").read_text()


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path: Path) -> None:
    old, new, other = (
        tmp_path / f".{one}" for one in ("a.json.0123abcd", "a.json.0123abce", "a.b")
    )
    for one in (old, new, other):
        one.write_bytes(b"part")
    for one in (old, other):
        os.utime(one, (0, 0))
    with new.open() as written:  # by another run, at this moment
        fcntl.flock(written, fcntl.LOCK_EX)
        write(tmp_path / "a.json", b"{}")
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", new.name, other.name}


def test_a_save_waits_for_the_save_of_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.org"
    path.write_text("old\n")
    file = File.read(path)

    def waited(*_: object) -> None:
        path.write_text("another's\n")  # it was saving, and is done now

    monkeypatch.setattr(fcntl, "flock", waited)
    with pytest.raises(FileChangedError):
        file.save("mine\n")
    assert path.read_text() == "another's\n"
