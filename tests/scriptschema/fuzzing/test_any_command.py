"""Any command works as a target: crashes of programs in other languages are found as such."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.description import Description, TargetError
from scriptschema.fuzzing.targets.opening import open_target
from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.fuzzing.targets.probing import Probed, probe
from scriptschema.fuzzing.targets.reports import outcome_of

PYTHON = """
import sys
class LuauError(Exception):
    pass
def run_if(source):
    return {}[source]
def run(source):
    if "if " in source:
        run_if("if")
    if "error(" in source or "nothing." in source:
        raise LuauError("an error of the program")
    print(source)
run(sys.stdin.read())
"""

NODE = """
function runIf(x) { return x.y.z }
const source = require('fs').readFileSync(0, 'utf8')
if (source.includes('if ')) runIf({})
console.log(source)
"""

CPP = """
#include <iostream>
#include <stdexcept>
#include <string>
int main() {
    std::string line, source;
    while (std::getline(std::cin, line)) source += line;
    if (source.find("if ") != std::string::npos) throw std::out_of_range("no such key");
}
"""


JAVA = """
class Target {
    static int runIf(String source) { return Integer.parseInt(source); }
    public static void main(String[] arguments) throws Exception {
        String source = new String(System.in.readAllBytes());
        if (source.contains("if ")) runIf("x");
    }
}
"""


def target(folder: Path, language: str) -> Description:
    """A target in that language which breaks on each `if`."""
    if language == "python":
        (folder / "target.py").write_text(PYTHON)
        return Description("command", f"{sys.executable} {folder / 'target.py'}")
    if language == "node":
        node = shutil.which("node")
        if node is None:
            pytest.skip("node is not on PATH: apt install nodejs")
        (folder / "target.js").write_text(NODE)
        return Description("command", f"{node} {folder / 'target.js'}", megabytes=4096)
    name, source, file = {
        "c++": ("g++", CPP, "target.cpp"),
        "java": ("javac", JAVA, "Target.java"),
    }[language]
    compiler = shutil.which(name)
    if compiler is None:
        pytest.skip(f"{name} is not on PATH: install the compiler of {language}")
    (folder / file).write_text(source)
    if language == "java":
        subprocess.run([compiler, file], cwd=folder, check=True)
        return Description("command", f"java -cp {folder} Target", megabytes=4096)
    subprocess.run([compiler, file, "-o", "target"], cwd=folder, check=True)
    return Description("command", str(folder / "target"))


def run(description: Description, source: str) -> Outcome:
    opened = open_target(description)
    try:
        opened.submit(Sources(None, source), 20)
        return opened.collect()[0]
    finally:
        opened.close()


@pytest.mark.parametrize(
    ("language", "error", "frame"),
    [
        ("python", "KeyError: 'if'", "run_if"),
        ("node", "TypeError: Cannot read properties of undefined (reading 'z')", "runIf"),
        ("java", 'java.lang.NumberFormatException: For input string: "x"', "java.base/java.lang."),
        ("c++", "terminate called after throwing an instance of 'std::out_of_range'", ""),
    ],
)
def test_an_exception_that_nothing_catches_is_a_find_in_each_language(
    tmp_path: Path, language: str, error: str, frame: str
) -> None:
    description = target(tmp_path, language)
    assert run(description, "print(1)").kind == "ok"
    found = run(description, "if 1 then end")
    assert found.kind == "internal error"
    assert found.error.startswith(error)
    assert "".join(found.frames[:1]).startswith(frame)
    assert "ExprIfElse" not in probe(description).missing


REPORTS = {  # uncaught failures, in the formats that these runtimes print
    "java": (
        (
            'Exception in thread "main" java.lang.IllegalStateException: no register left\n'
            "\tat luau.Compiler.allocate(Compiler.java:31)\n\tat luau.Main.main(Main.java:7)\n"
        ),
        "java.lang.IllegalStateException: no register left",
        ("luau.Compiler.allocate", "luau.Main.main"),
    ),
    "go": (
        (
            "panic: runtime error: index out of range [5] with length 3\n\n"
            "goroutine 1 [running]:\nmain.compile(...)\n\t/src/main.go:6\nmain.main()\n"
            "\t/src/main.go:10 +0x1d\nexit status 2\n"
        ),
        "panic: runtime error: index out of range [5] with length 3",
        ("main.compile", "main.main"),
    ),
    "ruby": (
        (
            'target.rb:3:in `fetch\': key not found: "if" (KeyError)\n'
            "\tfrom target.rb:3:in `run'\n\tfrom target.rb:6:in `<main>'\n"
        ),
        'KeyError: key not found: "if"',
        ("fetch",),
    ),
    ".net": (
        (
            "Unhandled exception. System.NullReferenceException: Object reference not set.\n"
            "   at Luau.Compiler.Visit(Node node) in /src/Compiler.cs:line 12\n"
            "   at Luau.Program.Main(String[] args) in /src/Program.cs:line 5\n"
        ),
        "System.NullReferenceException: Object reference not set.",
        ("Luau.Compiler.Visit", "Luau.Program.Main"),
    ),
    "rust": (
        (
            "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds: the len is 3\n"
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
        ),
        "thread 'main' panicked at src/main.rs:4:5:",
        (),
    ),
}


@pytest.mark.parametrize("language", REPORTS)
def test_panics_of_languages_that_are_not_here_are_told_by_their_text(language: str) -> None:
    errors, error, frames = REPORTS[language]
    found = outcome_of(2, "", errors, 0)
    assert (found.kind, found.error, found.frames) == ("internal error", error, frames)


@pytest.mark.parametrize(
    "errors",
    [
        "program.luau:1: attempt to index nil\nstacktrace:\n[C] in ?\nprogram.luau:1\n",
        "program.luau:3: TypeError: no\n",
        "Exception: what the program says\n",
        "panic: what the program says\n",
    ],
)
def test_an_error_of_a_program_is_no_crash_whatever_it_says(errors: str) -> None:
    assert outcome_of(1, "", errors, 0).kind == "error"


def test_exceptions_by_which_a_target_reports_errors_of_programs_are_no_crashes(
    tmp_path: Path,
) -> None:
    description = target(tmp_path, "python")
    assert run(description, 'error("x")').kind == "error"
    assert run(description, "if 1 then end").kind == "internal error"
    opened = open_target(description)  # in one process, also after programs were tried
    try:
        kinds = []
        for source in ('error("x")', "print(1)", "if 1 then end", 'error("y")'):
            opened.submit(Sources(None, source), 20)
            kinds.append(opened.collect()[0])
        assert [one.kind for one in kinds] == ["error", "ok", "internal error", "error"]
        assert kinds[1].output == "print(1)\n"
    finally:
        opened.close()


def test_what_is_a_crash_and_what_an_error_can_be_said(tmp_path: Path) -> None:
    path = tmp_path / "target.sh"
    path.write_text('read -r line; echo "$line" >&2; exit 3\n')
    command = f"sh {path}"
    assert run(Description("command", command), "OOPS: at 3").kind == "error"
    said = Description("command", command, crash="^OOPS", error="^panic: goroutine|^Traceback")
    found = run(said, "OOPS: at 3")
    assert (found.kind, found.error) == ("internal error", "OOPS: at 3")
    assert run(said, "Traceback (most recent call last):").kind == "error"
    assert run(said, "no").kind == "error"
    with pytest.raises(TargetError, match="crash of a target is no regular expression"):
        Description("command", command, crash="(")
    with pytest.raises(TargetError, match="error is for a target of the kind command"):
        Description("pluau", error="x")


def test_a_target_on_which_every_if_fails_is_told_so_and_not_taken_for_an_old_luau(
    tmp_path: Path,
) -> None:
    path = tmp_path / "target.sh"
    path.write_text("if grep -qw if ; then exit 1; fi\n")
    found = probe(Description("command", f"sh {path}"))
    assert found.fails == ("if",)
    assert "ExprIfElse" not in found.missing
    assert "every program with if fails" in str(found)
    assert Probed.from_json(found.as_json()) == found
    assert not probe(Description("command", "cat")).fails
