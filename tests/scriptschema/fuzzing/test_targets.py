"""Targets: whatever happens to a program and to the process that runs it, there is an outcome."""

import contextlib
import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import quote

import pytest
from waiting import is_alive, wait_until

from scriptschema.fuzzing.oracles.judging import broken, is_clear
from scriptschema.fuzzing.targets import reports
from scriptschema.fuzzing.targets.base import Sources, Target
from scriptschema.fuzzing.targets.description import Description, TargetError
from scriptschema.fuzzing.targets.opening import open_target, try_target, versions_of
from scriptschema.fuzzing.targets.outcome import Outcome, Run
from scriptschema.fuzzing.targets.processes import kill_all, split

SERVICE = f"{sys.executable} {Path(__file__).with_name('service.py')}"


def run(
    target: Target, source: str, seconds: float = 20, module: str | None = None
) -> list[Outcome]:
    target.submit(Sources(module, source), seconds)
    return target.collect()


def test_variants_after_one_that_breaks_the_target_may_be_left_out() -> None:
    description = Description("persistent", SERVICE, variants=("-O0", "-O1", "-O2"))
    service = open_target(description)
    shell = open_target(Description("command", "sh", variants=("-s", "-s")))
    for until_broken, last in ((True, "not run"), (False, "assertion")):
        service.submit(Sources(None, "-- abort"), 20, until_broken=until_broken)
        assert [each.kind for each in service.collect()] == ["assertion", last, last]
        service.submit(Sources(None, "print(7)"), 20, until_broken=until_broken)
        assert [each.output for each in service.collect()] == ["7\n"] * 3
        shell.submit(Sources(None, "kill -SEGV $$"), 20, until_broken=until_broken)
        assert [each.kind for each in shell.collect()] == [
            "crash",
            "not run" if until_broken else "crash",
        ]
    service.close()
    shell.close()


def test_a_hang_or_memory_exhaustion_leaves_no_variant_out(
    serving: Callable[..., Target],
) -> None:
    """The signature names the variants that hang, so a second run must name the same ones."""
    script = """import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if request["variant"] != "-O0" and request["source"] == "hang":
        time.sleep(1000)
    if request["variant"] != "-O0" and request["source"] == "exhaust":
        raise MemoryError
    print(json.dumps({"id": request["id"], "kind": "ok"}), flush=True)
"""
    target = serving(script, ("-O1", "-O2", "-O0"))
    run(target, "print(1)")
    for source, kind in (("hang", "hang"), ("exhaust", "memory")):
        for until_broken in (True, False):
            target.submit(Sources(None, source), 0.1, until_broken=until_broken)
            assert kinds(target.collect()) == [kind, kind, "ok"]


def command(text: str, source: str = "print(1)", **options: object) -> list[Outcome]:
    seconds = options.pop("limit", 20)
    assert isinstance(seconds, int | float)
    target = open_target(Description("command", text, **options))  # type: ignore[arg-type]
    try:
        return run(target, source, seconds)
    finally:
        target.close()


def shell(script: str, source: str = "print(1)", **options: object) -> list[Outcome]:
    return command(f"sh -c {quote(script)}", source, **options)


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    """Return a function that opens a service, which is a Python script, until the test ends."""
    with contextlib.ExitStack() as stack:

        def opened(script: str, variants: tuple[str, ...] = ("",)) -> Target:
            path = tmp_path / "service.py"
            path.write_text(script)
            target = open_target(Description("persistent", f"{sys.executable} {path}", variants))
            stack.callback(target.close)
            return target

        yield opened


# Commands


def test_a_command_reads_the_program_from_a_file_or_its_input() -> None:
    assert command("cat {file}")[0] == Outcome("ok", "print(1)", "", 0)
    assert command("cat")[0] == Outcome("ok", "print(1)", "", 0)


def test_a_program_finds_its_module_beside_it() -> None:
    target = open_target(Description("command", "sh -c 'cat $(dirname $0)/module0.luau' {file}"))
    assert run(target, "print(1)", module="return 2")[0].output == "return 2"
    assert run(target, "print(1)")[0].kind == "error"
    target.close()


@pytest.mark.parametrize("change", ["echo >> $0", "rm $0"])
def test_each_variant_gets_the_program_whatever_the_run_before_did_to_it(change: str) -> None:
    outcomes = command(f"sh -c 'cat $0; {change}' {{file}}", variants=("-a", "-b"))
    assert [found.output for found in outcomes] == ["print(1)", "print(1)"]


@pytest.mark.parametrize("words", ["cat {file}", "cat"])
def test_a_disk_without_space_for_the_program_is_named(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_path: Path, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", write)
    with pytest.raises(TargetError, match=r"could not write .*program\.luau: No space left"):
        command(words)


def test_a_target_that_leaves_a_folder_in_place_of_the_program_is_named() -> None:
    with pytest.raises(TargetError, match=r"^sh .* could not write .*program.luau: Is a directory"):
        command("sh -c 'rm $0; mkdir $0' {file}", variants=("-a", "-b"))


def test_each_variant_is_put_where_it_belongs() -> None:
    variants = ("-O0", "-O2 --codegen")
    after = command("echo x {file}", variants=variants)
    placed = command("echo {file} {variant} y", variants=variants)
    inside = command("sh -c 'echo <{variant}>; cat'", variants=variants)
    assert [found.output for found in after] == [
        "-O0 x program.luau\n",
        "-O2 --codegen x program.luau\n",
    ]
    assert [found.output for found in placed] == [
        "program.luau -O0 y\n",
        "program.luau -O2 --codegen y\n",
    ]
    assert [found.kind for found in inside] == ["error", "error"]  # a shell's redirection


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ("exit 1", "error", ""),
        ("echo 'a.luau:1: bad' >&2; exit 1", "error", "a.luau:1: bad"),
        ("echo 'SyntaxError: x' >&2; exit 1", "rejected", "SyntaxError: x"),
        ("kill -SEGV $$", "crash", "SIGSEGV"),
        ("exit 139", "crash", "SIGSEGV"),
        ("kill -ABRT $$", "crash", "SIGABRT"),
        (
            'echo "x: a.c:3: f: Assertion \\`n > 0\' failed." >&2; kill -ABRT $$',
            "assertion",
            "n > 0",
        ),
        ("echo 'internal compiler error: no' >&2; exit 1", "internal error", "internal"),
        ("echo 'not enough memory' >&2; exit 1", "memory", "not enough memory"),
    ],
)
def test_how_a_command_ends_is_distinguished(script: str, kind: str, message: str) -> None:
    [found] = shell(script)
    assert found.kind == kind
    assert message in found.error


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    [found] = command(f"sh -c 'sleep 500 & echo $! > {note}; wait'", limit=1)
    assert found.kind == "hang"
    wait_until(lambda: not is_alive(int(note.read_text())))


def test_what_a_command_leaves_behind_is_not_waited_for() -> None:
    [found] = command("sh -c 'sleep 500 & echo done'")
    assert found == Outcome("ok", "done\n", "", 0)


def test_output_without_an_end_is_cut_off() -> None:
    [found] = command("yes", output=1000)
    assert (found.kind, len(found.output)) == ("flood", 1000)


@pytest.mark.parametrize("output", [1000, 1_000_000])
def test_a_crash_is_found_however_much_the_target_wrote_before(output: int) -> None:
    log = "yes trace | head -n 500000"
    says = f"echo 'the first line'; {log}; echo 'the last line'"
    [found] = shell(f"({says}) >&2; kill -SEGV $$", output=output)
    assert (found.kind, found.error) == ("crash", "SIGSEGV")
    lines = found.report.splitlines()
    assert (lines[0], lines[-1]) == ("the first line", "the last line")
    [found] = shell(f"(echo internal error: x; {log}) >&2", output=output)
    assert (found.kind, found.error) == ("internal error", "internal error: x")


def test_a_command_that_closes_its_output_and_stays_is_ended() -> None:
    [found] = command("sh -c 'exec >&- 2>&-; sleep 500'", limit=0.3)
    assert found.kind == "hang"


def test_memory_is_limited() -> None:
    text = f"{sys.executable} -S -c 'import time; time.sleep(0.5); x = bytearray(500_000_000)'"
    [found] = command(text, megabytes=100)
    assert found.kind in ("memory", "error"), found
    assert "MemoryError" in found.error or found.kind == "memory"


def test_bytes_that_are_no_text_are_shown() -> None:
    [found] = command(r"printf '\377a'")
    assert found.output == r"\xffa"


def test_a_command_that_is_not_there_is_reported() -> None:
    with pytest.raises(TargetError, match="no-such-program: No such file"):
        command("no-such-program {file}")
    with pytest.raises(TargetError, match="cannot parse the command"):
        command("sh -c 'x")
    with pytest.raises(TargetError, match="empty"):
        split(" ")


def test_a_target_that_never_works_is_reported_with_its_output() -> None:
    with pytest.raises(TargetError, match=r"(?s)does not work.*status 3\nwhat is luau"):
        try_target(Description("command", "sh -c 'echo what is luau >&2; exit 3'"))
    with pytest.raises(TargetError, match="it wrote nothing"):
        try_target(Description("command", "false"))
    thread = Description("command", "sh -c 'echo no new thread >&2; exit 1'", megabytes=64)
    with pytest.raises(TargetError, match=r"new thread\nthe memory limit is 64 MB.*--memory"):
        try_target(thread)
    assert [found.kind for found in try_target(Description("command", "cat {file}"))] == ["ok"]


def test_a_target_that_prints_too_much_is_reported_on_one_screen() -> None:
    with pytest.raises(TargetError) as caught:
        try_target(Description("command", "sh -c 'yes | head -c 300000'", output=200_000))
    message = str(caught.value)
    assert "ended with: flood (more than 200,000 bytes of output)" in message
    assert "a higher `output` for the target" in message
    assert len(message) < 5000
    with pytest.raises(TargetError) as caught:
        try_target(Description("command", r"""sh -c 'printf "\033[31mx"; exit 3'"""))
    assert r"\x1b[31mx" in str(caught.value)


def test_a_target_that_reaches_the_time_limit_with_any_program_does_not_work() -> None:
    with pytest.raises(TargetError, match=r"(?s)does not work.*hang\n.* after 0.2 s.*--timeout"):
        try_target(Description("command", "sleep 1", seconds=0.2))


def test_a_target_that_needs_more_memory_than_the_limit_is_reported_with_the_option() -> None:
    says = "sh -c 'echo out of memory >&2; exit 1'"
    with pytest.raises(TargetError, match=r"(?s)out of memory.*limit is 100 MB.*--memory"):
        try_target(Description("command", says, megabytes=100))


def test_a_target_works_if_only_its_first_start_is_slow(tmp_path: Path) -> None:
    script = f"sh -c 'test -e {tmp_path}/cache || sleep 1.5; touch {tmp_path}/cache'"
    found = try_target(Description("command", script, seconds=1))
    assert [each.kind for each in found] == ["ok"]


def test_versions_are_those_of_the_targets() -> None:
    found = versions_of([Description("command", "bash {file}"), Description("command", "false")])
    assert "GNU bash" in found["bash"]
    assert found["python"] == sys.version.split()[0]
    assert "false" not in found or "false" in found["false"]


ERRORS_OF_PROGRAMS = {
    'error("not enough memory")': ("not enough memory", "memory"),
    "error('internal\\x20error: ' .. type(x))": ("internal error: nil", "internal error"),
    "error(`internal error: {x}`)": ("internal error: 5", "internal error"),
    "local a = [[unreachable code]] error(a)": ("unreachable code", "internal error"),
    'assert(x, "Assertion failed: " .. y)': ("Assertion failed: 5", "assertion"),
}


@pytest.mark.parametrize(("source", "reported"), ERRORS_OF_PROGRAMS.items())
def test_what_a_program_says_itself_is_no_bug_of_the_target(
    source: str, reported: tuple[str, str]
) -> None:
    message, kind = reported
    says = f"grep -q 'print(1 2' && exit 1; echo 'program.luau:1: {message}' >&2"
    assert shell(f"{says}; exit 1", source)[0].kind == "error"
    assert shell(f"{says}; exit 1", "error(x)")[0].kind == kind
    found = shell(f"{says}; kill -SEGV $$", source)[0]
    assert found.kind == ("crash" if kind == "memory" else kind)


def test_a_bug_is_not_hidden_by_other_strings_of_its_program() -> None:
    says = "echo 'internal error: no register' >&2; exit 1"
    for source in ("error('an error')", "local internal, error = 1", "-- internal error"):
        assert shell(says, source)[0].kind == "internal error"
    unlike = "grep -q no_register || exit 1; echo 'internal error: no register' >&2; exit 70"
    assert shell(unlike, "no_register('internal error')")[0].kind == "internal error"


# Reports

ASAN = """\
=================================================================
==4==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x0000004f
READ of size 4 at 0x602000000010 thread T0
    #0 0x4f8c3a in __asan_memcpy (/bin/luau+0x4f8c3a)
    #1 0x4f8c3b in Luau::Compiler::compile(Luau::AstStat*, std::vector<int>) /src/Compiler.cpp:31:5
    #2 0x4f8d00 in lua_concat /src/lvm.cpp:3
    #3 0x4f8d01 in main /src/main.cpp:9
freed by thread T0 here:
    #0 0x493 in free
"""
UBSAN = "/src/a.cpp:31:5: runtime error: signed integer overflow: 1 + 2147483647\n"


def test_reports_of_sanitizers_give_the_error_and_the_functions() -> None:
    found = reports.outcome_of(1, "", ASAN, 0)
    assert (found.kind, found.error) == ("sanitizer", "heap-use-after-free")
    assert found.frames == ("Luau::Compiler::compile", "lua_concat")
    found = reports.outcome_of(0, "x", UBSAN, 0)
    assert (found.kind, found.output) == ("undefined behaviour", "x")
    assert found.frames[0] == "a.cpp:31:5"
    assert found.error.startswith("signed integer overflow")
    header = UBSAN.replace("/src/a.cpp", "/llvm/include/c++/v1/vector")
    assert reports.outcome_of(0, "", header, 0).kind == "undefined behaviour"


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ("==4==ERROR: AddressSanitizer: hard rss limit exhausted (5Mb vs 4Mb)", "memory"),
        ("terminate called after throwing an instance of 'std::bad_alloc'", "memory"),
        ("terminate called after throwing an instance of 'int'", "internal error"),
        ("thread 'main' panicked at src/a.rs:3", "internal error"),
        ("lvm.cpp(12): ASSERTION FAILED: x", "assertion"),
        ("Assertion failed: (x > 0), function f, file a.c, line 3.", "assertion"),
        ("thread 7 panic: reached unreachable code", "internal error"),
        ("FATAL ERROR: Reached heap limit Allocation failed", "memory"),
    ],
)
def test_messages_of_run_time_libraries_are_known(errors: str, kind: str) -> None:
    assert reports.outcome_of(-6, "", errors, 0).kind == kind


@pytest.mark.parametrize("name", ["program.luau", "/tmp/module0.luau", "a.lua", "source", "stdin"])
def test_a_run_time_error_at_a_position_in_a_program_is_no_undefined_behaviour(name: str) -> None:
    error = f"{name}:1:10: runtime error: attempt to call nil\n"
    assert reports.outcome_of(1, "", error, 0).kind == "error"
    assert not reports.has_begun(error)
    found = reports.outcome_of(1, "", error + UBSAN, 0)
    assert (found.kind, found.frames[0]) == ("undefined behaviour", "a.cpp:31:5")


@pytest.mark.parametrize(
    "warning",
    [
        "program.luau(3,5): UnreachableCode: Unreachable code (previous statement always returns)",
        "gc: heap limit 512 MB, used 3 MB",
    ],
)
def test_warnings_of_a_linter_or_an_allocator_are_no_bugs(warning: str) -> None:
    assert reports.outcome_of(0, "", warning, 0).kind == "ok"
    error = f"{warning}\nprogram.luau(7,1): TypeError: Type 'string' could not be converted"
    assert reports.outcome_of(1, "", error, 0).kind == "error"


@pytest.mark.parametrize("line", ["warning: unreachable code", "gc: 0 chunks out of memory"])
def test_a_process_that_ends_normally_may_warn(line: str) -> None:
    assert reports.outcome_of(0, "", line, 0).kind == "ok"


def test_damage_to_the_heap_is_known_by_who_called_the_library() -> None:
    names = (
        "raise",
        "abort",
        "__libc_message",
        "malloc_printerr",
        "_int_free",
        "cfree",
        "luaM_free",
    )
    stack = "".join(f"    #{at} 0x7f{at} in {name} a.c:{at}:5\n" for at, name in enumerate(names))
    abort = "==4==ERROR: UndefinedBehaviorSanitizer: ABRT on unknown address 0x01 (pc 0x7f)\n"
    assert reports.outcome_of(1, "", abort + stack, 0).frames == ("luaM_free",)


def test_exhausted_memory_is_reported_with_the_line_that_says_so() -> None:
    go = "fatal error: runtime: out of memory\n\nruntime stack:\n" + "\truntime/a.go:1\n" * 200
    java = (
        "OpenJDK 64-Bit Server VM warning: INFO: os::commit_memory(0x00007f65ae434000, 524288, 0) "
        "failed; error='Not enough space' (errno=12)\n"
    )
    for errors in (go, java):
        found = reports.outcome_of(2, "", f"a trace\n{errors}", 0, texts=lambda: "position")
        assert (found.kind, found.error) == ("memory", errors.partition("\n")[0])


ABORTED = "FATAL: no register for v19"


@pytest.mark.parametrize(
    ("errors", "error"),
    [
        (ABORTED, f"SIGABRT: {ABORTED}"),
        ("free(): invalid pointer\n", "SIGABRT: free(): invalid pointer"),
        (
            "*** stack smashing detected ***: terminated",
            "SIGABRT: *** stack smashing detected ***: terminated",
        ),
        # What shells and sanitizers print as well:
        (f"{ABORTED}\nAborted\n", f"SIGABRT: {ABORTED}"),
        (f"{ABORTED}\nrun.sh: line 1: 179 Aborted   (core dumped) ./vm\n", f"SIGABRT: {ABORTED}"),
        (f"{ABORTED}\nAddressSanitizer:DEADLYSIGNAL\n=====\nASAN", f"SIGABRT: {ABORTED}"),
        # What the program printed:
        (f"some text 12\nnil true -inf table: 0x5f\n{ABORTED}\n", f"SIGABRT: {ABORTED}"),
        ("some text\n", "SIGABRT"),
        ("function: 0x00aa5f 7.5 text\n", "SIGABRT"),
        ("false program.luau:3: attempt to call a nil value\n", "SIGABRT"),
        ('[string "x"]:1: attempt to call a nil value\n', "SIGABRT"),
        ("warning: no cache\n", "SIGABRT"),
        # What the target wrote about other things:
        (f"compiled f\n{ABORTED}\nplease report this\n", f"SIGABRT: {ABORTED}"),
        (
            "F1130 12:00:00.1 vm.cc:31] Check failed: n > 0\n*** Check failure stack trace: ***\n",
            "SIGABRT: F1130 12:00:00.1 vm.cc:31] Check failed: n > 0",
        ),
        ("no register for v19\n", "SIGABRT: no register for v19"),
        ("no register for v19\nFatal error, aborting.\n", "SIGABRT"),  # each may be the reason
        ("", "SIGABRT"),
    ],
)
def test_an_abort_is_known_by_what_the_target_and_not_the_program_wrote(
    errors: str, error: str
) -> None:
    asan = "==4==ERROR: AddressSanitizer: ABRT on unknown address 0x01 (pc 0x7f)\n"
    errors = errors.replace("ASAN", f"{asan}    #0 0x7f in raise (/lib/libc.so+0x1)\n")
    found = reports.outcome_of(-signal.SIGABRT, "", errors, 0, texts=lambda: "some text")
    assert (found.kind, found.error) == ("crash", error)


def test_aborts_with_one_message_are_different_finds_if_the_programs_need_other_features() -> None:
    def detail(errors: str) -> str:
        verdict = broken([Run("x", reports.outcome_of(134, "", errors, 0))])
        assert verdict is not None
        assert not is_clear(verdict.signature)
        return verdict.signature.detail

    assert detail("FATAL: no register for 'v1' at 0x5f") == detail(
        "FATAL: no register for 'a' at 0x7"
    )
    assert detail("FATAL: unknown opcode 7") == "SIGABRT: FATAL: unknown opcode N"


@pytest.mark.parametrize("said", ["ran 'x'", "fatal error: x", "*** ran x detected ***"])
def test_an_abort_of_a_service_is_the_same_bug_whatever_earlier_programs_made_it_say(
    serving: Callable[..., Target], said: str
) -> None:
    target = serving(f"""
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    print({said!r}.replace("x", request["source"]), file=sys.stderr, flush=True)
    if request["source"] == "abort":
        os.abort()
    print(json.dumps({{"id": request["id"], "kind": "ok"}}), flush=True)
""")
    for earlier in ("a", "b"):
        run(target, earlier)
        [found] = run(target, "abort")
        assert (found.kind, found.error) == ("crash", "SIGABRT")


@pytest.mark.parametrize(
    "text", ["fatal ", "panic\t", "*** ", "Assertion ", "os::commit_memory(", "check failed: "]
)
def test_a_long_line_that_a_target_repeats_words_in_is_read_at_once(text: str) -> None:
    errors = text * ((1 << 19) // len(text))
    began = time.monotonic()
    for status in (0, 1, -signal.SIGABRT):
        reports.outcome_of(status, "", errors, 0)
    assert time.monotonic() - began < 20  # seconds; it took minutes


def test_a_signal_without_a_name_has_its_number() -> None:
    assert reports.outcome_of(-50, "", "", 0).error == "signal 50"


# Persistent targets


@pytest.fixture
def service() -> Iterator[Target]:
    target = open_target(Description("persistent", SERVICE, variants=("-O0", "-O2")))
    yield target
    target.close()


def kinds(found: list[Outcome]) -> list[str]:
    return [each.kind for each in found]


def test_a_service_answers_for_each_variant(service: Target) -> None:
    first, second = run(service, "print(3) x // y")
    assert first == Outcome("ok", "3\n")
    assert second == Outcome("ok", "3\nwrong\n")
    assert run(service, "say-noise module", module="m")[0].output == "m\n"


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("segfault", "crash", "SIGSEGV"),
        ("abort", "assertion", "x > 0"),
        ("end-badly", "crash", "the service ended with status 5: what is this"),
        ("end-silently", "crash", "the service ended with status 6: nothing on standard error"),
        ("close-output", "crash", "the service closed its output: nothing on standard error"),
        ("say-nothing", "internal error", "the service's answer has no valid `kind`"),
        ("say-frames", "internal error", "`frames` in the service's answer is not a list: 7"),
        ("print-much", "flood", ""),
        ("much-memory", "memory", "not enough memory"),
    ],
)
def test_a_service_that_breaks_is_started_again(
    service: Target, source: str, kind: str, message: str
) -> None:
    found = run(service, source)
    assert kinds(found) == [kind, kind]
    assert message in found[0].error
    assert run(service, "print(3)") == [Outcome("ok", "3\n")] * 2


def test_text_of_a_service_that_is_not_unicode_can_be_shown(service: Target) -> None:
    """Otherwise, the campaign ends when it prints the find, and each time it is continued."""
    for found in run(service, "say-surrogates"):
        texts = (found.output, found.error, *found.frames, found.report)
        assert texts == (r"a\ud800",) * 4


def test_what_a_program_says_itself_is_no_bug_of_a_service(
    serving: Callable[..., Target],
) -> None:
    target = serving("""import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "end" in request["source"]:
        sys.exit("not enough memory")
    answer = {"id": request["id"], "kind": "error", "error": "source:1: not enough memory"}
    print(json.dumps(answer), flush=True)
""")
    for source, kind in (
        ('error("not enough memory")', "error"),
        ("error(x)", "memory"),
        ('end "not enough memory"', "crash"),  # a service must not end
        ("end", "memory"),
    ):
        assert kinds(run(target, source)) == [kind], source
    assert kinds(run(target, "error(x)", module='error("not enough memory")')) == ["error"]


def test_a_service_that_does_not_answer_is_ended(service: Target) -> None:
    run(service, "print(1)")
    began = time.monotonic()
    service.submit(Sources(None, "sleep-long"), 0.1)
    assert service.collect()[0].kind == "hang"
    assert time.monotonic() - began < 50


@pytest.mark.parametrize("kind", ["persistent", "command"])
def test_a_run_says_how_much_of_its_time_the_start_of_the_process_took(
    kind: str, tmp_path: Path
) -> None:
    script = tmp_path / "slow.py"
    script.write_text("""import json, sys, time
time.sleep(0.4)
for line in sys.stdin:
    if line.startswith("{"):  # for a service
        answer = {"id": json.loads(line)["id"], "kind": "ok", "output": "", "error": ""}
        print(json.dumps(answer), flush=True)
""")
    words = f"{sys.executable} {script}"
    command = words if kind == "persistent" else f"{words} {{variant}}"
    target = open_target(Description(kind, command, variants=("-O0", "-O1")))
    first, second = run(target, "print(1)")
    target.close()
    assert 0.2 <= first.starting <= first.seconds  # on a busy machine, it is measured too late
    # A command starts for every run, a service only for the first one.
    assert (second.starting >= 0.2) == (kind == "command")


def test_the_time_that_a_service_needs_for_each_program_is_not_that_of_the_program(
    serving: Callable[..., Target],
) -> None:
    """Otherwise, each program seems slow, and no hang is reported."""
    script = """import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    time.sleep(0.2 + ("long" in request["source"]))
    answer = {"id": request["id"], "kind": "ok", "output": "", "error": ""}
    print(json.dumps(answer), flush=True)
"""
    target = serving(script, ("-O0", "-O1"))
    run(target, "print(1)")
    for pause in (1, 0):  # both answers are there before they are read
        target.submit(Sources(None, "print(1)"), 5)
        time.sleep(pause)
        target.collect()
    [_, second] = run(target, "long()")
    assert 0.2 <= second.starting < second.seconds  # which is more than 1.2


def test_a_hang_that_a_service_notices_early_is_no_quick_run(
    serving: Callable[..., Target],
) -> None:
    script = """import json, sys
for line in sys.stdin:
    request = json.loads(line)
    kind = "hang" if request["variant"] == "-O1" else "ok"
    print(json.dumps({"id": request["id"], "kind": kind}), flush=True)
"""
    first, second = run(serving(script, ("-O0", "-O1")), "while x do end")
    assert (first.kind, second.kind) == ("ok", "hang")
    assert first.seconds < second.seconds == 20


def test_a_service_may_end_between_two_programs(service: Target) -> None:
    assert kinds(run(service, "then-end")) == ["ok", "ok"]
    assert kinds(run(service, "print(1)")) == ["ok", "ok"]


def test_a_service_that_ends_at_once_is_a_crash_and_no_endless_loop() -> None:
    target = open_target(Description("persistent", "true"))
    assert kinds(run(target, "print(1)")) == ["crash"]
    target.close()


def test_an_endless_recursion_with_a_long_report_is_one_crash_with_its_stack(
    serving: Callable[..., Target],
) -> None:
    # As AddressSanitizer writes it for Luau 0.735, whose names have 700 characters.
    target = serving(
        """import sys
sys.stdin.readline()
print("==7==ERROR: AddressSanitizer: stack-overflow on address 0x7ffc (pc 0x5)", file=sys.stderr)
for number in range(250):
    name = "Luau::getType(" + "Luau::AstName const&, " * 30 + "int)"
    print(f"    #{number} 0x55 in {name} /src/Types.cpp:69:24", file=sys.stderr)
print("SUMMARY: AddressSanitizer: stack-overflow (/luau+0x9) in getType", file=sys.stderr)
sys.exit(1)
"""
    )
    [crash] = run(target, "print(1)")
    assert (crash.kind, crash.error) == ("crash", "stack-overflow")
    assert crash.frames[:2] == ("Luau::getType", "Luau::getType")
    assert "SUMMARY" in crash.report
    assert len(crash.report) < 70_000


def test_programs_larger_than_a_pipe_are_run(service: Target) -> None:
    source = "print(3)" + " " * 200_000
    assert run(service, source) == [Outcome("ok", "3\n")] * 2


def test_nothing_is_left_of_processes_in_a_hurry() -> None:
    target = open_target(Description("persistent", SERVICE))
    run(target, "print(1)")
    kill_all()
    assert kinds(run(target, "print(1)")) == ["crash"]
    target.close()


def test_what_is_missing_is_reported_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TargetError, match=r"npm install luau-web|apt install nodejs"):
        open_target(Description("luau-web", folder=str(tmp_path)))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match="apt install nodejs"):
        open_target(Description("luau-web", folder=str(tmp_path)))
    monkeypatch.setattr("scriptschema.fuzzing.targets.opening._version_of_pluau", lambda: "")
    with pytest.raises(TargetError, match=r"pip install .*pluau"):
        open_target(Description("pluau"))
