"""Programs use only features that all targets have: anything else would be a false find."""

import re
from pathlib import Path

import pytest
from command import run_here

from scriptschema import wire
from scriptschema.choices import seeded
from scriptschema.fuzzing.campaign.config import Config, load, missing_of
from scriptschema.fuzzing.campaign.fuzzer import Fuzzer
from scriptschema.fuzzing.restriction import Restriction
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.probing import (
    SYNTAX,
    Probed,
    as_json,
    names,
    probe,
    version_of,
)
from scriptschema.generation.programs import grammar_of, make_program
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render_module_set
from scriptschema.luau.repair import check
from scriptschema.versions import TODAY, Version

CAT = Description("command", "cat")
TYPED = r"local v\d+: |function(?: \w+)?(?:<|\(v\d+: )| :: |^type "


def sources(config: Config, count: int = 150) -> list[str]:
    fuzzer = Fuzzer(config, seed=1)
    for seed in range(20):  # what is in the corpus may use it
        source = f"print({seed}, buffer.len(buffer.create(8)), 7 // 2, math.floor(1.5), `{{1}}`)"
        fuzzer.add(wire.encode(parse(source).tree))
    made = [fuzzer._make() for _ in range(count)]
    fuzzer.close()
    assert not any(check(each.tree) for each in made)
    return [each.sources.program for each in made]


@pytest.mark.slow
@pytest.mark.parametrize("source", ["program", "repaired"])
@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({"without": ("buffer", "math.floor")}, r"\bbuffer\.|\bmath\.floor\b"),
        ({"without": ("pcall",)}, r"\bpcall\b"),
        ({"only": ("string", "table")}, r"\b(?:math|bit32|buffer|vector|utf8|os|debug)\.\w"),
        ({"probed": (Probed("x", "", ("ExprBinary.Op.FloorDiv",)),)}, r" // | //= "),
        ({"probed": (Probed("x", "", ("ExprInterpString",)),)}, r"`\{1\}`"),
        ({"types": "none", "luau": "today"}, TYPED),
        ({"probed": (Probed("x", "", ("Type", "Typename")),)}, TYPED),
    ],
)
def test_programs_do_without_what_is_missing(
    options: dict[str, object], pattern: str, source: str
) -> None:
    config = Config(targets=(CAT,), source=source, mutants=0.5, **options)  # type: ignore[arg-type]
    found = [text for text in sources(config) if re.search(pattern, text)]
    assert not found, found[0]
    free = Config(targets=(CAT,), source=source, mutants=0.5)
    assert any(re.search(pattern, text) for text in sources(free))


def test_what_is_stripped_is_all_that_goes() -> None:
    tree = parse("local a = 1\nprint(buffer.create(1))\nprint(a)").tree
    stripped = Restriction(missing_of(("buffer",), ())).strip(tree)
    assert "buffer" not in render_module_set(stripped).program
    assert len(stripped.program.body) == 2


def test_a_version_of_lua_that_reads_less_is_known(tmp_path: Path) -> None:
    """The target accepts no `//` and no backticks, and has only the global `print`."""
    script = tmp_path / "old.sh"
    script.write_text(
        "grep -q 'print(1 2' $1 && exit 1\n"
        "grep -q '//' $1 && exit 1\n"
        "grep -q '`' $1 && exit 1\n"
        "echo 'probe 2'; echo 'has 0'; echo 'probe 3'\n"
    )
    found = probe(Description("command", f"sh {script} {{file}}"))
    assert "print" not in found.missing
    assert {"math", "math.floor", "pcall"} <= {*found.missing}
    lacks = {"ExprBinary.Op.FloorDiv", "StatCompoundAssign.floor", "ExprInterpString"}
    assert {*found.missing} & SYNTAX.keys() == lacks


@pytest.mark.parametrize(
    ("rejected", "version"),
    [("`", "0.735"), ("@", "0.735"), ("const ", "0.710"), ("type ", "0.735"), (r"1\.5", None)],
)
def test_a_target_without_some_syntax_gets_the_newer_syntax_that_it_has(
    rejected: str, version: str | None, tmp_path: Path
) -> None:
    """One missing feature turned off all syntax that the original schema lacks."""
    script = tmp_path / "partial.sh"
    script.write_text(
        "grep -q 'print(1 2' $1 && exit 1\n"
        f"grep -v '^if' $1 | grep -q '{rejected}' && exit 1\n"
        "echo 'probe 2'\n"
        "sed -n 's/^if .* ~= nil then print(\"\\(.*\\)\") end$/\\1/p' $1\n"
        "echo 'probe 3'\n"
    )
    found = probe(Description("command", f"sh {script} {{file}}"))
    assert found.luau == (version and Version.parse(version))
    [line] = Config(targets=(CAT,), probed=(found,)).descriptions
    assert ("or newer: no fractions" in line) == (not version)
    [line] = Config(targets=(CAT,), probed=(found,), luau="today").descriptions
    assert "unknown version" not in line
    if rejected == "`":
        text = "\n".join(sources(Config(targets=(CAT,), probed=(found,), style="plain"), 100))
        assert "`" not in re.sub(r'"(?:\\.|[^"\\])*"', "", text)
        for pattern in (r"\b0\.5\b", "@native", r"\bconst "):
            assert re.search(pattern, text), pattern


@pytest.mark.parametrize(
    ("name", "pattern", "new", "old"),
    [
        ("ExprAttr", "@", "@native local function f() end", "local function f() end"),
        ("StatCompoundAssign.floor", "//=", "x //= 1", "x += 1"),
        ("ExprCall.parenless", "calls without parentheses", 'f "a"', 'f("a")'),
        ("StatTypeFunction", "type function", "type function f() end", "type T = number"),
    ],
)
def test_programs_do_without_newer_syntax_that_is_missing(
    name: str, pattern: str, new: str, old: str
) -> None:
    restriction = Restriction(frozenset([name]))
    assert restriction.admits(parse(old, luau="today").tree)
    assert not restriction.admits(parse(new, luau="today").tree)
    made = []
    for without in (restriction.missing, frozenset[str]()):
        grammar = grammar_of(None, luau="today", types="random", without=without)
        trees = [make_program(seeded(seed, None), grammar, 150) for seed in range(60)]
        strings = re.compile(r'"(?:\\.|[^"\\])*"')
        text = "\n".join(strings.sub("", render_module_set(tree).program) for tree in trees)
        made.append(pattern in text or pattern in grammar.idiom_weights)
    assert made == [False, True]


@pytest.mark.parametrize("source", ["local function f(): () end", "local function f() end f<<>>()"])
def test_an_annotation_without_a_type_is_an_annotation(source: str) -> None:
    tree = parse(source, luau=TODAY).tree
    assert Restriction(frozenset(["ExprIfElse"])).admits(tree)
    assert not Restriction(frozenset(["Type"])).admits(tree)


def test_a_target_that_rejects_annotations_gets_programs_without_any(tmp_path: Path) -> None:
    """Most programs of such a target were rejected, and the campaign did not say why."""
    script = tmp_path / "old.sh"
    script.write_text("grep -Eq 'local [a-z]+:|function f<' $1 && exit 1\nexit 0\n")
    found = probe(Description("command", f"sh {script} {{file}}"))
    assert {*found.missing} & SYNTAX.keys() == {"Type", "Typename"}
    config = Config(targets=(CAT,), probed=(found,), mutants=0.5)
    assert not [text for text in sources(config, 60) if re.search(TYPED, text, re.MULTILINE)]
    assert config.missing() == {"Type", "Typename"}
    assert Config(targets=(CAT,), types="none").missing() == {"Type", "Typename"}
    assert not Config(targets=(CAT,), probed=(found,), types="sound").missing()


def test_a_target_that_does_not_answer_is_taken_to_have_everything() -> None:
    assert probe(CAT).missing == ()
    assert probe(Description("command", "true")).missing == ()
    assert probe(CAT).luau is None  # what takes anything says nothing of a version


def test_what_targets_are_is_reported_and_kept(tmp_path: Path) -> None:
    script = tmp_path / "old.sh"
    script.write_text(
        "echo 'probe 2'\n"
        "sed -n 's/^if \\([^bv].*\\) ~= nil then print(\"\\(.*\\)\") end$/\\2/p' $1\n"
        "echo 'probe 3'\n"
    )
    arguments = ["-t", f"command:sh {script} {{file}}", "-n", 2, "--without", "os,math.tan"]
    done = run_here("fuzz", "-j", 1, *arguments, "-o", tmp_path / "campaign")
    assert done.returncode == 0, done.stderr
    assert b": lacks bit32, buffer, vector\n" in done.stderr
    config = load(tmp_path / "campaign")
    assert {"buffer.create", "vector.one", "os.clock", "math.tan"} <= config.missing()
    assert "math.sin" not in config.missing()
    again = run_here("fuzz", "-j", 1, *arguments, "-o", tmp_path / "campaign")
    assert again.returncode == 0, again.stderr  # what was probed is no other option


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--without", "bufer"], "'bufer'; did you mean buffer?"),
        (["--only", "math.floor"], "'math.floor'"),
        (["--only", "print"], "'print'"),
    ],
)
def test_unknown_names_are_reported(option: list[str], message: str, tmp_path: Path) -> None:
    done = run_here("fuzz", "-j", 1, "-t", "command:cat", "-o", tmp_path / "campaign", *option)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.decode().replace("│", "").split())
    path = tmp_path / "campaign.toml"
    path.write_text('without = ["bufer"]\n[[targets]]\nkind = "command"\ncommand = "cat"\n')
    done = run_here("fuzz", "-j", 1, "--config", path, "-o", tmp_path / "campaign")
    assert done.returncode == 2
    assert b"bufer" in done.stderr


def test_a_campaign_is_for_the_oldest_of_its_targets_or_for_what_it_is_told() -> None:
    new, old = Probed("a", luau=Version(735)), Probed("b", luau=Version(711))
    assert Config(targets=(CAT,), probed=(new, old)).version == Version(711)
    assert Config(targets=(CAT,), probed=(new, Probed("c"))).version is None
    assert Config(targets=(CAT,)).version is None
    told = Config(targets=(CAT,), probed=(old,), luau="0.723")
    assert told.version == Version(723)
    assert Config.from_json(told.as_json()) == told
    assert Probed.from_json(as_json(old)) == old
    with pytest.raises(ValueError, match="unknown version of Luau"):
        Config(targets=(CAT,), luau="1")


def test_the_version_of_a_target_is_the_newest_of_which_it_has_all() -> None:
    everything = {*names()}
    assert version_of(()) == TODAY
    assert version_of({"integer", "integer.add"}) == Version(714)
    assert version_of({"math.nan"}, [Version(723)]) == Version(710)
    assert version_of((), [Version(711)]) == Version(710)
    assert version_of({"vector.lerp"}) == Version(687)
    assert version_of({"vector", "vector.lerp"}) == TODAY  # the library is left out as a whole
    assert version_of((), [Version(677)]) is None
    assert version_of(everything - {*DEFAULT.libraries}) == Version(687)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["program", "repaired"])
def test_programs_of_a_campaign_are_for_its_version(source: str) -> None:
    pattern = r"\bconst |@native|\btype function| :: "
    for luau, expected in (("", False), ("0.677", True), ("0.714", True)):
        config = Config(targets=(CAT,), source=source, mutants=0.5, luau=luau)
        strings = re.compile(r'"(?:\\.|[^"\\])*"')  # formats such as "%4i"
        found = [strings.sub('""', text) for text in sources(config)]
        assert any(re.search(pattern, text) for text in found) == expected
        assert not any(re.search(r"\b\d+i\b|\bexport local", text) for text in found)
        assert any(re.search(r"\bconst ", text) for text in found) == (luau == "0.714")
