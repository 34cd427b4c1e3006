"""Any command works as a target: crashes of programs in other languages are recognized."""

import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import attrs
import pytest
from command import run_here

from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.calibration import Normal
from scriptschema.fuzzing.targets.description import Description, TargetError
from scriptschema.fuzzing.targets.opening import open_target
from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.fuzzing.targets.probing import Probed, probe
from scriptschema.fuzzing.targets.reports import outcome_of

TARGETS = {
    "python": """
import sys
class LuauError(Exception):
    pass
def run_if(source):
    return {}[source]
source = sys.stdin.read()
if "if " in source:
    run_if("if")
if "error(" in source or "a.b" in source:
    raise LuauError("an error of the program")
print(source)
""",
    "node": """
class LuauError extends Error {}
function runIf(x) { return x.y.z }
const source = require('fs').readFileSync(0, 'utf8')
if (source.includes('if ')) runIf({})
if (source.includes('error(')) throw new LuauError('an error of the program')
if (source.includes('a.b')) throw 'an error of the program'
console.log(source)
""",
    "java": """
class Target {
    static int runIf(String source) { return Integer.parseInt(source); }
    public static void main(String[] arguments) throws Exception {
        String source = new String(System.in.readAllBytes());
        if (source.contains("if ")) runIf("x");
        if (source.contains("error(")) throw new IllegalStateException("an error of the program");
        if (source.contains("a.b")) System.exit(4);
    }
}
""",
    "c++": """
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
struct LuauError : std::runtime_error { using runtime_error::runtime_error; };
int main() {
    std::string line, source;
    while (std::getline(std::cin, line)) source += line;
    if (source.find("if ") != std::string::npos) BREAK;
    if (source.find("error(") != std::string::npos) throw LuauError("an error of the program");
    return source.find("a.b") != std::string::npos;
}
""",
    "go": """
package main
import ("fmt"; "io"; "os"; "strings")
func runIf(numbers []int, at int) int { return numbers[at] }
func main() {
    source, _ := io.ReadAll(os.Stdin)
    if strings.Contains(string(source), "if ") { fmt.Println(runIf([]int{1}, len(os.Args) + 3)) }
    if strings.Contains(string(source), "error(") { os.Exit(1) }
}
""",
    "rust": """
use std::io::Read;
fn run_if(numbers: &[i32], at: usize) -> i32 { numbers[at] }
fn main() {
    let mut source = String::new();
    std::io::stdin().read_to_string(&mut source).unwrap();
    if source.contains("if ") { println!("{}", run_if(&[1, 2, 3], source.len() + 9)); }
    if source.contains("error(") { panic!("an error of the program"); }
    if source.contains("a.b") { std::process::exit(2); }
}
""",
    "ruby": """
def run_if(source) = {}.fetch(source)
source = STDIN.read
run_if("if") if source.include?("if ")
raise "an error of the program" if source.include?("error(")
abort "an error of the program" if source.include?("a.b")
""",
    "shell": """
source=$(cat)
case $source in *"if "*) echo "no register for $source" >&2; exit 70;; esac
case $source in *"error("*|*a.b*) echo "an error of the program" >&2; exit 2;; esac
""",
}
"""Targets by language. They fail on each `if`, and report errors in programs in typical ways."""


@attrs.frozen
class Kind:
    """A kind of command: its language, its reaction to `if`, and the expected report."""

    language: str
    error: str
    frame: str = ""
    kind: str = "internal error"
    does: str = ""


OUT_OF_RANGE = 'throw std::out_of_range("no such key")'
KINDS = {
    "python": Kind("python", "KeyError: 'if'", "run_if"),
    "node": Kind("node", "TypeError: Cannot read properties of undefined (reading 'z')", "runIf"),
    "java": Kind("java", 'java.lang.NumberFormatException: For input string: "x"', "Target.runIf"),
    "c++, terminate": Kind("c++", "std::out_of_range: no such key", does=OUT_OF_RANGE),
    "c++, abort": Kind("c++", "SIGABRT", kind="crash", does="abort()"),
    "c++, a null pointer": Kind("c++", "SIGSEGV", kind="crash", does="*(volatile int *)0 = 1"),
    "go": Kind("go", "panic: runtime error: index out of range [4] with length 1", "main.runIf"),
    "rust": Kind("rust", "panicked at main.rs:3:", "main.rs:3:"),
    "ruby": Kind("ruby", 'KeyError: key not found: "if"', "fetch"),
    "a status": Kind("shell", "status 70, which ordinary errors do not have: no register for if 1"),
}

COMMANDS = {  # the file, the program, how it is built, and how it is run
    "python": ("target.py", sys.executable, (), ("{folder}/target.py",)),
    "node": ("target.js", "node", (), ("{folder}/target.js",)),
    "java": ("Target.java", "javac", ("Target.java",), ("java", "-cp", "{folder}", "Target")),
    "c++": ("main.cpp", "g++", ("main.cpp", "-o", "target"), ("{folder}/target",)),
    "go": ("main.go", "go", ("build", "-o", "target", "main.go"), ("{folder}/target",)),
    "rust": ("main.rs", "rustc", ("main.rs", "-o", "target"), ("{folder}/target",)),
    "ruby": ("target.rb", "ruby", (), ("{folder}/target.rb",)),
    "shell": ("target.sh", "sh", (), ("{folder}/target.sh",)),
}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], Description]:
    """Return a function that returns a target of a kind, built once.

    It skips the test if the language's compiler or interpreter is not on PATH.
    """

    @cache
    def built(kind: Kind) -> Description | str:
        folder = tmp_path_factory.mktemp("target")
        file, name, build, words = COMMANDS[kind.language]
        program = shutil.which(name)
        if program is None:
            return f"{name} is not on PATH: install it to test targets in {kind.language}"
        (folder / file).write_text(TARGETS[kind.language].replace("BREAK", kind.does))
        if build:
            # rustup looks for its toolchains in the user's home, which is another one in tests.
            home = {"HOME": pwd.getpwuid(os.getuid()).pw_dir}
            done = subprocess.run(
                [program, *build],
                cwd=folder,
                env={**os.environ, **home},
                capture_output=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        command = [word.format(folder=folder) for word in (words if build else (program, *words))]
        return Description("command", " ".join(command), megabytes=4096, seconds=20)

    def found(kind: Kind) -> Description:
        description = built(kind)
        if isinstance(description, str):
            pytest.skip(description)
        return description

    return found


def run(description: Description, *sources: str) -> list[Outcome]:
    opened = open_target(description)
    try:
        found = []
        for source in sources:
            opened.submit(Sources(None, source), 20)
            found += opened.collect()
        return found
    finally:
        opened.close()


@pytest.mark.parametrize("name", KINDS)
def test_crashes_are_reported_from_errors_of_programs_in_each_kind_of_command(
    target: Callable[[Kind], Description], name: str
) -> None:
    kind = KINDS[name]
    description = target(kind)
    wrong = ('error("x")', "local a print(a.b)")
    found = run(description, "print(1)", "if 1 then end", *wrong, "print(2)")
    assert [each.kind for each in found if each is not found[1]] in (
        ["ok", "error", "error", "ok"],
        ["ok", "error", "ok", "ok"],  # Go's target does not notice the second one
    )
    assert found[1].kind == kind.kind
    assert found[1].error.startswith(kind.error)
    assert "".join(found[1].frames[:1]).startswith(kind.frame)


@pytest.mark.parametrize("name", KINDS)
def test_a_target_that_fails_on_each_if_is_reported_before_the_campaign(
    target: Callable[[Kind], Description], name: str
) -> None:
    kind = KINDS[name]
    probed = probe(target(kind))
    assert [*probed.fails] == ["an if statement"]
    assert f"every program with an if statement fails: {kind.kind}: {kind.error}" in str(probed)
    assert "ExprIfElse" not in probed.missing
    assert Probed.from_json(json.loads(json.dumps(probed.as_json()))) == probed


@pytest.mark.slow
def test_a_campaign_finds_the_exception_that_every_if_raises(
    target: Callable[[Kind], Description], tmp_path: Path
) -> None:
    command = target(KINDS["python"]).command
    options = ("--count", "60", "--seed", "10", "--jobs", "1")
    done = run_here("fuzz", "--target", f"command:{command}", "-o", tmp_path / "campaign", *options)
    assert done.returncode == 0, done.stderr
    message = b"every program with an if statement fails: internal error: KeyError: 'if'"
    assert message in done.stdout + done.stderr
    [(folder, find)] = finds.load_all(tmp_path / "campaign")
    assert str(find.signature) == "internal error: run_if < <module>"
    assert "if " in finds.source_of(folder, finds.REDUCED)
    assert find.smallest.nodes <= 15


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
        "panicked at src/main.rs:4:5: index out of bounds: the len is 3",
        ("src/main.rs:4:5",),
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


def test_what_is_a_crash_and_what_an_error_can_be_said(tmp_path: Path) -> None:
    path = tmp_path / "target.sh"
    path.write_text('read -r line; echo "$line" >&2; exit 3\n')
    command = f"sh {path}"
    assert run(Description("command", command), "OOPS: at 3")[0].kind == "error"
    said = Description("command", command, crash="^OOPS", error="^panic: goroutine|^Traceback")
    [found] = run(said, "OOPS: at 3")
    assert (found.kind, found.error) == ("internal error", "OOPS: at 3")
    assert run(said, "Traceback (most recent call last):")[0].kind == "error"
    assert run(said, "no")[0].kind == "error"
    with pytest.raises(TargetError, match="the target setting `crash` is not a valid regular"):
        Description("command", command, crash="(")
    with pytest.raises(TargetError, match="requires a target of kind command,"):
        Description("pluau", error="x")


def test_a_target_that_refuses_each_if_is_not_taken_for_an_old_luau(tmp_path: Path) -> None:
    path = tmp_path / "target.sh"
    path.write_text("if grep -qw 'if\\|print(1 2'; then exit 1; fi\n")
    found = probe(Description("command", f"sh {path}"))
    assert "ExprIfElse" not in found.missing
    message = "every program with an if statement fails: error: no error message"
    assert f"{message} (if this is a crash, use --crash REGEX)" in str(found)
    assert not probe(Description("command", "cat")).fails


def test_a_status_that_counts_errors_is_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "target.sh"
    path.write_text("exit $(grep -c 'error\\|strict')\n")
    assert run(Description("command", f"sh {path}"), "error\n" * 5)[0].kind == "error"


def test_a_failure_of_a_target_that_accepts_each_wrong_program_is_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "target.sh"
    path.write_text("if grep -q while; then echo 'broke at register 9' >&2; exit 70; fi\n")
    target = Description("command", f"sh {path}")
    [found] = run(target, "while x do end")
    assert found.kind == "internal error"
    assert found.error == "status 70, which ordinary errors do not have: broke at register 9"
    assert run(target, "error('wrong')")[0].kind == "ok"


def test_an_exception_is_known_by_the_targets_own_functions_and_not_by_its_library() -> None:
    found = outcome_of(1, "", JSON_OF_PYTHON, 0)
    assert (found.error, found.frames) == ("ValueError: no number", ("read_if", "<module>"))


JSON_OF_PYTHON = """Traceback (most recent call last):
  File "/srv/target.py", line 9, in <module>
    read_if(source)
  File "/srv/target.py", line 3, in read_if
    return json.loads(source)
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
ValueError: no number
"""


WRAPPED = {  # a bug in `floor`, whose exception `run` handles by raising its own
    "java": (
        'Exception in thread "main" vm.Failure: internal\n\tat vm.run(Main.java:9)\n'
        "\tat vm.main(Main.java:3)\n\tSuppressed: vm.Other: unlock\n\t\t... 2 more\n"
        "Caused by: java.lang.IllegalStateException: x\n\tat vm.call(Main.java:7)\n\t... 1 more\n"
        "Caused by: java.lang.NullPointerException: y\n"
        "\tat java.base/java.util.Objects.requireNonNull(Objects.java:233)\n"
        "\tat vm.floor(Lib.java:5)\n\t... 2 more\n"
    ),
    "java, without the cause's stack": (
        'Exception in thread "main" vm.Failure: x\n\tat vm.floor(Lib.java:5)\n'
        "Caused by: java.lang.NullPointerException\n"
    ),
    ".net": (
        "Unhandled exception. vm.Failure: internal\n"
        " ---> System.NullReferenceException: Object reference not set.\n"
        "   at vm.floor() in /src/Lib.cs:line 5\n   at vm.run() in /src/Main.cs:line 7\n"
        "   --- End of inner exception stack trace ---\n"
        "   at vm.run() in /src/Main.cs:line 9\n"
    ),
    "node": (
        "Failure: internal\n    at run (/vm.js:3:50)\n"
        "    ... 5 lines matching cause stack trace ...\n"
        "    at node:internal/main/run_main_module:28:49 {\n  code: 'E1',\n"
        "  [cause]: TypeError: Cannot read properties of undefined (reading 'z')\n"
        "      at floor (/vm.js:1:31)\n      at run (/vm.js:2:23)\n  }\n}\n\nNode.js v20.20.2\n"
    ),
    "ruby": (
        "vm.rb:6:in `rescue in run': internal (Failure)\n\tfrom vm.rb:3:in `run'\n"
        "vm.rb:2:in `floor': no key (KeyError)\n\tfrom vm.rb:4:in `run'\n"
    ),
}
RAISED = """Traceback (most recent call last):
  File "vm.py", line 5, in run
    fn()
  File "vm.py", line 3, in floor
    return {}["x"]
KeyError: 'x'
in two lines
"""
FROM = "\nThe above exception was the direct cause of the following exception:\n\n"
DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"
OUTER = """Traceback (most recent call last):
  File "vm.py", line 9, in <module>
    run()
  File "vm.py", line 6, in run
    except KeyError: raise Failure("internal")
Failure: internal
"""
WRAPPED |= {"python, from": RAISED + FROM + OUTER, "python": RAISED + DURING + OUTER}


@pytest.mark.parametrize("language", WRAPPED)
def test_bugs_whose_exceptions_one_function_wraps_are_told_apart(language: str) -> None:
    errors = WRAPPED[language]
    found, other = (outcome_of(1, "", text, 0) for text in (errors, errors.replace("floor", "rep")))
    assert (found.kind, found.frames[0].removeprefix("vm.")) == ("internal error", "floor")
    assert other.frames[0].removeprefix("vm.") == "rep"


@pytest.mark.parametrize("language", WRAPPED)
def test_an_exception_that_reports_errors_of_programs_may_wrap_any_other(language: str) -> None:
    names = frozenset(["vm.Failure", "Failure"])
    found = outcome_of(1, "", WRAPPED[language], 0, normal=Normal(names))
    assert found.kind == "error"


@pytest.mark.parametrize(
    "last",
    [
        '  File "vm.py", line 8, in f\n    raise Failure("no register")\n',
        "    except KeyError: None.x\n",
    ],
    ids=["in another function", "by the handler"],
)
def test_a_bug_after_a_handled_exception_is_not_taken_for_that_exception(last: str) -> None:
    outer = OUTER.replace('    except KeyError: raise Failure("internal")\n', last)
    found = outcome_of(1, "", RAISED + DURING + outer, 0)
    assert (found.error, found.frames[-1]) == ("Failure: internal", "<module>")
