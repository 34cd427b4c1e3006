"""Any command works as a target: crashes of programs in other languages are recognized."""

import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import attrs
import pytest
from command import run_here

from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.fuzzer import Fuzzer
from scriptschema.fuzzing.campaign.programs import MadeProgram, ProgramSource
from scriptschema.fuzzing.campaign.reduction import reduce_suspect
from scriptschema.fuzzing.campaign.runner import _STOPPED, Runner, _counting
from scriptschema.fuzzing.oracles import differential
from scriptschema.fuzzing.oracles.judging import broken, is_clear
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.calibration import Normal
from scriptschema.fuzzing.targets.description import Description, TargetError, from_word
from scriptschema.fuzzing.targets.opening import open_target
from scriptschema.fuzzing.targets.outcome import Outcome, Run
from scriptschema.fuzzing.targets.probing import Probed, as_json, probe
from scriptschema.fuzzing.targets.reports import outcome_of
from scriptschema.luau.parse import parse

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


def absent(program: str, language: str) -> str:
    """Return why a language's targets cannot be tested, and what to do about it."""
    return f"{program} is not on PATH: install it to test targets in {language}"


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
            return absent(name, kind.language)
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
    assert Probed.from_json(json.loads(json.dumps(as_json(probed)))) == probed


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
    assert str(find.signature) == "internal error: run_if < <module>: KeyError"
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
        ("fetch", "run", "<main>"),
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


RAISING = {  # by language: the start of a program, and statements with their signatures
    "python": (
        (
            "import asyncio, sys\ndef f(x): return {}[x]\nasync def visit(): f(1)\n"
            "async def run():\n    async with asyncio.TaskGroup() as group:\n"
            "        group.create_task(visit())\n"
            "def local():\n    class Failure(Exception): pass\n    raise Failure('a\\nb')\n"
            "def expr(n): return term(n) + 1\ndef term(n): return atom(n) + 1\n"
            "def atom(n): return expr(n) + 1\ndef before(): term(1)\n"
        ),
        {
            "asyncio.run(run())": "f < visit: KeyError",
            "local()": "local < <module>: local.<locals>.Failure",
            "f(1)": "f < <module>: KeyError",
            "f([])": "f < <module>: TypeError",
            "1 / 0": "target.py:14: ZeroDivisionError",
            "\n1 / 0": "target.py:15: ZeroDivisionError",
            "exec('1 / 0')": "<module> < <module>: ZeroDivisionError",
            "expr(1)": "atom < expr < term: RecursionError",
            "sys.setrecursionlimit(100); before()": "atom < expr < term: RecursionError",
            "__import__('threading').Thread(target=f, args=(1,)).start()": "f: KeyError",
        },
    ),
    "node": (
        (
            "const assert = require('assert'); const few = {a: 1}\n"
            "function f(x) { if (x) null.y; throw new RangeError('a\\nb') }\n"
            "class Tree { constructor() { this.y.z } }\n"
            "function expr(n) { return term(n) + 1 }\nfunction term(n) { return atom(n) + 1 }\n"
            "function atom(n) { return expr(n) + 1 }\n"
            "const many = Array.from({length: 12}, (_, n) =>\n"
            "    ({['f' + n]: () => many[(n + 1) % 12]() + 1})['f' + n]);\n"
        ),
        {
            "f()": "f < Object.<anonymous>: RangeError",
            "f(1)": "f < Object.<anonymous>: TypeError",
            "null.x": "target.js:9: TypeError",
            "assert.strictEqual(1, 2)": "target.js:9: AssertionError",
            "assert.deepEqual([few, 1], [few, 2])": "target.js:9: AssertionError",
            "assert.strictEqual('hello world', 'hello wurld')": "target.js:9: AssertionError",
            "throw SyntaxError('1 | x =\\n    ^\\nno value')": "target.js:9: SyntaxError",
            "throw {kind: 'bug'}": "Node.js: { kind: '…' }",
            "assert.strictEqual('x\\n'.repeat(99), 'y')": "target.js:9: AssertionError",
            "assert(few.b, 'a\\nb')": "target.js:9: AssertionError",
            "JSON.parse('{')": "target.js:9: SyntaxError",
            "throw 'a\\nb'": "Node.js: a",
            "new Tree()": "new Tree < Object.<anonymous>: TypeError",
            "[1].map((x) => x.y.z)": "target.js:9 < Object.<anonymous>: TypeError",
            "throw Error('a', {cause: (() => TypeError('b\\n\\nc'))()})": (
                "target.js:9 < Object.<anonymous>: TypeError"
            ),
            "try { f(1) } catch (e) { throw Error('a\\nb', {cause: e}) }": (
                "f < Object.<anonymous>: TypeError"
            ),
            "expr(1)": "atom < expr < term: RangeError",
            "term(1)": "atom < expr < term: RangeError",
            "many[0]()": "RangeError: Maximum call stack size exceeded",  # longer than the trace
        },
    ),
}


@pytest.mark.parametrize("language", RAISING)
def test_each_exception_of_a_real_interpreter_is_a_find_of_its_own(
    language: str, tmp_path: Path
) -> None:
    file, name, _, _ = COMMANDS[language]
    interpreter = shutil.which(name)
    if interpreter is None:
        pytest.skip(absent(name, language))  # not on a bare machine; CI installs all of them
    start, statements = RAISING[language]
    seen = {}
    for statement in statements:
        (tmp_path / file).write_text(f"{start}{statement}\n")
        done = subprocess.run(
            [interpreter, tmp_path / file], capture_output=True, text=True, check=False
        )
        seen[statement] = signature_of(done.returncode, done.stderr).detail
    assert seen == statements


def signature_of(status: int, errors: str) -> Signature:
    verdict = broken([Run("x", outcome_of(status, "", errors, 0))])
    assert verdict is not None, errors
    return verdict.signature


GO_OVERFLOW = (  # of Go 1.19, without the addresses
    "runtime: goroutine stack exceeds 1000000000-byte limit\n"
    "runtime: sp=0xc127800340 stack=[0xc127800000, 0xc147800000]\n"
    "fatal error: stack overflow\n\nruntime stack:\n"
    "runtime.throw({0x170f829, 0x20f4e60})\n\truntime/panic.go:1198 +0x71\n"
    "runtime.newstack()\n\truntime/stack.go:1088 +0x5ac\n"
    "runtime.morestack()\n\truntime/asm_amd64.s:461 +0x8b\n\ngoroutine 1 [running]:\n"
)
GO_FRAMES = (
    "github.com/shurcooL/graphql.writeQuery({0x722d20, 0xc0000a4cf0}, 0x0)\n\t/q.go:123 +0x16b\n",
    "main.(*T).run(...)\n\t/main.go:7\n",
)
JAVA_FRAMES = ("\tat vm.Parser.expr(Parser.java:3)\n", "\tat vm.Parser.term(Parser.java:4)\n")
RUBY_FRAMES = ("vm.rb:3:in `expr'", "vm.rb:4:in `term'")


@pytest.mark.parametrize("phase", [0, 1])
def test_an_endless_recursion_is_one_find_in_each_language(phase: int) -> None:
    def turned(frames: tuple[str, ...], count: int) -> list[str]:
        return [frames[(number + phase) % 2] for number in range(count)]

    go = GO_OVERFLOW + "".join(turned(GO_FRAMES, 50)) + "...additional frames elided...\n"
    assert signature_of(2, go).detail == (
        "github.com/shurcooL/graphql.writeQuery < main.(*T).run: fatal error"
    )
    head = 'Exception in thread "main" java.lang.StackOverflowError\n'
    java = head + "".join(turned(JAVA_FRAMES, 1024))
    expected = "vm.Parser.expr < vm.Parser.term: java.lang.StackOverflowError"
    assert signature_of(1, java).detail == expected
    first, *others = turned(RUBY_FRAMES, 9)
    ruby = f"{first}: stack level too deep (SystemStackError)\n"
    ruby += "".join(f"\tfrom {each}\n" for each in others)
    ruby += "\t ... 10067 levels...\n\tfrom vm.rb:4:in `term'\n\tfrom vm.rb:9:in `<main>'\n"
    assert signature_of(1, ruby).detail == "expr < term: SystemStackError"


RUST_OVERFLOW = (  # of Rust 1.95
    "\nthread 'main' (27715) has overflowed its stack\n"
    "fatal runtime error: stack overflow, aborting\n"
)


def test_stack_overflows_whose_recursion_is_not_shown_are_told_apart_by_their_programs() -> None:
    signature = signature_of(-signal.SIGABRT, RUST_OVERFLOW)
    assert str(signature) == "crash: stack-overflow"
    assert not is_clear(signature)
    assert not is_clear(Signature("internal error", RAISING["node"][1]["many[0]()"]))
    assert is_clear(Signature("internal error", RAISING["node"][1]["expr(1)"]))


MULTI_LINE = {  # messages of several lines
    "java": (
        (
            'Exception in thread "main" M$Mine: x\ny\n\tat M.main(M.java:9)\n'
            "Caused by: M$Mine: mid\nmid2\n\tat M.run(M.java:7)\n\t... 1 more\n"
        ),
        "M.run: M$Mine",
    ),
    ".net": (
        (
            "Unhandled exception. vm.Failure: a\nb\n ---> System.InvalidOperationException: c\nd\n"
            "   at Program.<<Main>$>g__Join|0_8[T](T[] x) in /src/Program.cs:line 7\n"
            "   --- End of inner exception stack trace ---\n"
            "   at Program.<Main>$(String[] args) in /src/Program.cs:line 3\n"
        ),
        "Program.<<Main>$>g__Join|0_8[T] < Program.<Main>$: System.InvalidOperationException",
    ),
    ".net, compiled ahead of time": (
        "Unhandled exception. System.Exception: a\n   at Vm.Run(Int32) + 0x1f\n",
        "Vm.Run: System.Exception",
    ),
    ".net, outside functions": (
        (
            "Unhandled exception. System.Exception: a\n"
            "   at Program.<Main>$(String[] args) in /src/Program.cs:line 3\n"
        ),
        "Program.cs:3: System.Exception",
    ),
    "ruby": (
        (
            "vm.rb:2:in 'Vm#floor': undefined method 'x' for nil (NoMethodError)\n\n"
            "  nil.x\n     ^^\n\tfrom vm.rb:4:in '<main>'\n"
        ),
        "Vm#floor < <main>: NoMethodError",
    ),
}


@pytest.mark.parametrize("language", MULTI_LINE)
def test_an_exception_with_a_message_of_several_lines_keeps_its_stack(language: str) -> None:
    errors, detail = MULTI_LINE[language]
    assert signature_of(1, errors).detail == detail


@pytest.mark.parametrize("file", ["tmp.x3Zk/a.js", "tmpq7/a.js", "7Jl8J7Z0.js"])
def test_a_bug_in_a_translated_program_has_one_signature_whatever_its_file_is_called(
    file: str,
) -> None:
    place = f"{tempfile.gettempdir()}/{file}:3:1"
    errors = (
        f"{place}\n    x()\n    ^\n\nReferenceError: x is not defined\n"
        f"    at Object.<anonymous> ({place})\n\nNode.js v20.1.0\n"
    )
    assert signature_of(1, errors).detail == "Object.<anonymous>: ReferenceError"


def test_different_panics_of_a_go_function_are_different_finds() -> None:
    errors, _, _ = REPORTS["go"]
    other = errors.replace("index out of range [5] with length 3", "integer divide by zero")
    for text, kind in ((errors, "index out of range"), (other, "integer divide by zero")):
        expected = f"main.compile < main.main: panic: runtime error: {kind}"
        assert signature_of(2, text).detail == expected


IN_THREAD = {  # reports of exceptions that did not end the process
    "java": (
        (
            'Exception in thread "Thread-0" java.lang.NullPointerException: x\n'
            "\tat vm.Table.concat(Table.java:2)\n"
            "\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
        ),
        "vm.Table.concat: java.lang.NullPointerException",
    ),
    "ruby": (
        (
            "#<Thread:0x00007fbc4f53a288 vm.rb:37 run> terminated with exception"
            " (report_on_exception is true):\n"
            "vm.rb:4:in `visit': undefined method `v' for nil:NilClass (NoMethodError)\n\n"
            "  n.v\n   ^^\n\tfrom vm.rb:37:in `block in <main>'\n"
        ),
        "visit < block in <main>: NoMethodError",
    ),
    "python": (
        (
            "Exception in thread Thread-1 (run):\nTraceback (most recent call last):\n"
            '  File "/srv/vm.py", line 2, in visit\n    return {}["x"]\nKeyError: \'x\'\n'
        ),
        "visit: KeyError",
    ),
    "rust": (
        (
            "\nthread '<unnamed>' (19) panicked at src/vm.rs:2:46:\nindex out of bounds\n"
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
        ),
        "src/vm.rs:2:46",
    ),
}


@pytest.mark.parametrize("language", IN_THREAD)
def test_an_exception_that_ends_only_a_thread_is_a_bug_with_its_place(language: str) -> None:
    errors, detail = IN_THREAD[language]
    assert str(signature_of(0, errors)) == f"internal error: {detail}"
    assert outcome_of(0, "", errors, 0, texts=lambda: f"x\n{errors}").kind == "ok"
    normal = Normal(frozenset([signature_of(0, errors).detail.rpartition(": ")[2]]))
    assert outcome_of(0, "", errors, 0, normal=normal).kind == "error"


@pytest.mark.parametrize("errors", [JSON_OF_PYTHON, WRAPPED["ruby"], REPORTS["go"][0]])
def test_an_exception_that_a_target_catches_and_prints_is_no_bug(errors: str) -> None:
    assert outcome_of(0, "", errors, 0).kind == "ok"


def test_a_thread_that_runs_out_of_memory_is_no_internal_error() -> None:
    errors = (
        'Exception in thread "Thread-0" java.lang.OutOfMemoryError: Java heap space\n'
        "\tat vm.Table.grow(Table.java:3)\n"
    )
    assert outcome_of(0, "", errors, 0).kind == "memory"


def test_panics_with_which_a_target_reports_errors_of_programs_are_no_bugs(tmp_path: Path) -> None:
    path = tmp_path / "target.sh"
    path.write_text(
        "panic() { printf \"thread 'main' panicked at $1:\\nno\\n\" >&2; }\n"
        "case $(cat) in *while*) panic src/vm.rs:9:5;; *error*) panic src/error.rs:3:1;; esac\n"
    )
    found = run(Description("command", f"sh {path}"), "error('x')", "while x do end", "print(1)")
    assert [each.kind for each in found] == ["error", "internal error", "ok"]


PANIC = "\nthread 'main' (17) panicked at {}:\n{}\n"
CORE = "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/panicking.rs:{}:5"
CAUGHT = PANIC.format("src/caught.rs:1:2", "a panic that was caught")
FIRST = PANIC.format("src/vm.rs:26:85", "no register")
ABORTING = {  # of Rust 1.95
    "during a panic": (
        PANIC.format("src/drop.rs:26:56", "in drop")
        + PANIC.format(CORE.format(233), "panic in a destructor during cleanup")
    ),
    "in a function that must not panic": PANIC.format(
        CORE.format(225), "panic in a function that cannot unwind"
    ),
}


@pytest.mark.parametrize("name", ABORTING)
def test_panics_that_lead_to_the_same_second_panic_are_different_finds(name: str) -> None:
    end = f"{ABORTING[name]}thread caused non-unwinding panic. aborting.\n"
    for errors in (FIRST + end, CAUGHT + FIRST + end):
        assert signature_of(-signal.SIGABRT, errors).detail == "src/vm.rs:26:85"


@pytest.mark.parametrize(
    "folder", ["/rustc/59807616e1fa", "/home/me/.rustup/a/lib/rustlib/src/rust"]
)
def test_a_panic_of_rusts_library_is_one_find_with_any_compiler(folder: str) -> None:
    errors = PANIC.format(f"{folder}/library/alloc/src/raw_vec/mod.rs:28:5", "capacity overflow")
    assert signature_of(101, errors).detail == "library/alloc/src/raw_vec/mod.rs:28:5"


@pytest.mark.parametrize("function", ["`verify'", "'Object#verify'"])
def test_a_ruby_exception_without_a_message_is_a_bug(function: str) -> None:
    errors = f"vm.rb:2:in {function}: unhandled exception\n\tfrom vm.rb:5:in `<main>'\n"
    detail = f"{function[1:-1]} < <main>: RuntimeError"
    assert signature_of(1, errors).detail == detail
    normal = Normal(frozenset(["RuntimeError"]), frozenset([1]))  # it may be `error("")`
    assert outcome_of(1, "", errors, 0, normal=normal).kind == "error"


def hanging(folder: Path, variants: Sequence[str]) -> Description:
    """Return a target that hangs because of a bug in `math.abs`, and in endless `repeat` loops."""
    script = folder / "target.sh"
    script.write_text(
        "grep -q math.abs $1 && exec sleep 60\n"  # the bug of the target
        f"grep -q '{_STOPPED}' $1 && grep -q repeat $1 && echo '{_STOPPED}' && exit 1\n"
        "grep -q repeat $1 && exec sleep 60\n"
        "exit 0\n"
    )
    command = f"sh {script} {{file}} {{variant}}"
    return Description("command", command, variants=variants, seconds=0.5)


@pytest.mark.parametrize("variants", [("-O0",), ("-O0", "-O2")])
def test_a_program_that_is_itself_endless_is_told_from_a_hang_of_the_target(
    variants: tuple[str, ...], tmp_path: Path
) -> None:
    target = hanging(tmp_path, variants)
    with contextlib.closing(Runner(Config(targets=(target,)))) as runner:
        for source, kind in (
            ("repeat until nil", "endless"),
            ("repeat until math.abs(1)", "hang"),
            ("print(math.abs(1))", "hang"),
            ("local function f() return math.abs(1) end", "hang"),
            ("print(1)", None),
        ):
            verdict, _ = runner.verdict(parse(source).tree)
            assert (verdict.signature.kind if verdict else None) == kind, source


@pytest.mark.parametrize("terminates", [True, False])
def test_a_program_that_hangs_in_all_runs_is_a_find_only_if_it_was_generated_to_terminate(
    terminates: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mutant, a seed, or what is left of a program after a reduction may be endless."""
    fuzzer = Fuzzer(Config((hanging(tmp_path, ("-O0", "-O2")),)), seed=1)
    made = MadeProgram(parse("print(1) repeat until nil").tree, {}, terminates=terminates)
    source = made.sources.program.encode()
    monkeypatch.setattr(fuzzer, "_make", lambda: made)
    batch = fuzzer.work(seconds=60, programs=2)
    found = {str(suspect.verdict.signature): suspect for suspect in batch.suspects}
    assert [*found] == (["endless: -O0, -O2"] if terminates else [])
    assert (batch.interval.exempt, batch.interval.unconfirmed) == (0 if terminates else 2, 0)
    assert batch.endless == ([] if terminates else [source, source])
    for signature, suspect in found.items():
        assert {str(each): count for each, count in batch.again.items()} == {signature: 1}
        assert is_clear(suspect.verdict.signature)
        reduced = reduce_suspect(fuzzer.runner, suspect)
        assert reduced is not None
        assert (reduced.data, reduced.is_smallest) == (suspect.data, True)
    fuzzer.close()


def test_a_difference_that_is_confirmed_in_fewer_levels_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, log = tmp_path / "target.sh", tmp_path / "log"
    log.touch()
    script.write_text(
        f"runs=$(wc -l < {log}); echo >> {log}\n"
        'test "$1" = -O2 && echo wrong\n'
        'test "$1" = -O1 && test "$runs" -lt 3 && echo wrong\n'
        "exit 0\n"
    )
    levels = ("-O0", "-O1", "-O2")
    target = Description("command", f"sh {script} {{variant}} {{file}}", variants=levels)
    fuzzer = Fuzzer(Config((target,)), seed=1)
    monkeypatch.setattr(fuzzer, "_make", lambda: MadeProgram(parse("print(1)").tree, {}))
    batch = fuzzer.work(seconds=60, programs=2)
    fuzzer.close()
    [suspect] = batch.suspects
    assert str(suspect.verdict.signature) == "difference: -O0, -O1 / -O2"
    assert batch.again[suspect.verdict.signature] == 1


@pytest.mark.parametrize("variants", [("-O0",), ("-O0", "-O2")])
def test_endless_mutants_are_kept_although_the_target_also_has_a_bug_that_makes_it_hang(
    variants: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fuzzer = Fuzzer(Config((hanging(tmp_path, variants),)), seed=1)
    sources = ["repeat until nil", "repeat until math.abs(1)", "print()"]
    made = [MadeProgram(parse(source).tree, {}) for source in sources]
    monkeypatch.setattr(fuzzer, "_make", lambda: made.pop(0))
    names = differential.short_names(fuzzer.runner.run(made[0].sources))
    signature = Signature("hang", ", ".join(names))
    batch = fuzzer.work(seconds=60, programs=3, enough={signature: [frozenset(["StatRepeat"])]})
    fuzzer.close()
    assert (batch.interval.exempt, len(batch.endless)) == (1, 1)
    assert (batch.interval.unconfirmed, len(batch.suspects)) == (0, 0)
    assert {each.bare: count for each, count in batch.again.items()} == {signature: 1}


@pytest.mark.parametrize("kind", ["round-trip", "seen once"])
def test_a_program_that_hangs_in_all_runs_may_show_a_bug_without_them(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_printer = kind == "round-trip"
    printer = "sed 1iprint(0)" if is_printer else ""
    config = Config((hanging(tmp_path, ("-O0", "-O2")),), printer=printer)
    fuzzer = Fuzzer(config, seed=1)
    claim = None if is_printer else Verdict(Signature("crash"), "saved by AFL++")
    made = MadeProgram(parse("print(1) repeat until nil").tree, {}, claim=claim)
    monkeypatch.setattr(fuzzer, "_make", lambda: made)
    batch = fuzzer.work(seconds=60, programs=1)
    fuzzer.close()
    assert [suspect.verdict.signature.kind for suspect in batch.suspects] == [kind]
    assert (batch.interval.exempt, batch.interval.unconfirmed) == (1, 0)


def test_a_seed_that_hangs_in_all_runs_is_kept_for_the_user_to_look_at(tmp_path: Path) -> None:
    target = hanging(tmp_path, ("-O0", "-O2"))
    seed = tmp_path / "seeds" / "one.luau"
    seed.parent.mkdir()
    seed.write_text("repeat until nil\n")
    done = run_here(
        *("fuzz", "-t", f"command:{target.command}", "--variant=-O0", "--variant=-O2"),
        *("--timeout", 0.5, "--seeds", seed.parent, "-n", 1, "-j", 1, "-o", tmp_path / "campaign"),
    )
    assert done.returncode == 0, done.stderr
    [kept] = (tmp_path / "campaign" / "endless").iterdir()
    assert kept.read_bytes() == seed.read_bytes()
    assert b"1 exempt" in done.stdout + done.stderr


@pytest.mark.parametrize("source", ["program", "repaired"])
def test_only_new_programs_that_nothing_changed_are_expected_to_terminate(source: str) -> None:
    config = Config((from_word("command:true"),), source=source, mutants=0.5, size=20)
    programs = ProgramSource(config, seed=1)
    for number in range(30):
        made = programs.next()
        assert made is not None
        assert made.terminates == (source == "program" and made.parent is None)
        assert not programs.stripped(made).terminates
        programs.adopt(str(number), made.tree, ended=True)


def test_the_steps_of_a_program_are_counted_except_in_type_functions() -> None:
    text = """
type function t(a) for i = 1, 2 do local f = function() end end return a end
local function f() return f() end
for i = 1, 2 do end
for k in t do end
while 1 do repeat until 2 end
"""
    counted = _counting(parse(text, luau="today").tree)
    assert counted is not None
    [name] = re.findall(r"^local (\w+)$", counted.program, re.MULTILINE)
    assert counted.program.count(f"{name}()") == 5  # not those of the type function
