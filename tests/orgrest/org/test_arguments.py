"""Header arguments, parsed, inherited, merged: `orgrest.org.arguments`, `orgrest.org.lisp`."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orgrest import run
from orgrest.org import argument_syntax, arguments, blocks, lisp
from orgrest.org.argument_syntax import ValueReference, parse
from orgrest.org.arguments import of_block
from orgrest.org.blocks import ArgumentError, Arguments, Lisp
from orgrest.org.document import OrgDocument
from orgrest.org.known import GROUPS, KNOWN
from orgrest.org.lisp import Number
from orgrest.rendering import layout, results


def first(text: str, index: int = 0) -> Arguments:
    document = OrgDocument(text)
    return of_block(document, document.blocks[index])


def block(line: str = "", language: str = "restclient") -> str:
    return f"#+begin_src {language} {line}\nGET x\n#+end_src\n"


class TestReading:
    def test_names_and_values_are_split_at_colons_behind_blanks(self) -> None:
        assert parse(":a b c\t:d :e\tf :g h:i") == (
            (":a", "b c"),
            (":d", None),
            (":e", "f"),
            (":g", "h:i"),
        )

    def test_quotes_and_brackets_keep_a_value_together(self) -> None:
        assert parse(':a "x :b y" :c [ :d] :e "q\\"\\n"') == (
            (":a", "x :b y"),
            (":c", "[ :d]"),
            (":e", 'q"\n'),
        )

    def test_words_before_the_first_colon_are_no_argument(self) -> None:
        assert first(block("value :a 1")).values.get("a") == "1"

    def test_a_quote_that_never_closes_is_an_error_that_names_the_argument(self) -> None:
        with pytest.raises(ArgumentError, match=r'argument :jq has an unclosed quote: "\.a'):
            parse(':jq ".a')

    def test_lisp_that_puts_texts_together_is_understood(self) -> None:
        assert parse(':a (concat "x" (identity "y")) :b "z"') == ((":a", "xy"), (":b", "z"))

    @pytest.mark.parametrize("text", ['(shell-command "x")', "'.token'", "(concat x)", "`(a)"])
    def test_other_lisp_is_not_run_and_says_so_where_it_is_needed(self, text: str) -> None:
        found = first(block(f":jq {text}"))
        assert found.values["jq"] == Lisp(text)
        with pytest.raises(
            ArgumentError, match="header argument :jq contains Emacs Lisp, which is not"
        ):
            found.get("jq")

    def test_lisp_for_results_is_an_error(self) -> None:
        with pytest.raises(ArgumentError, match=":results contains Emacs Lisp"):
            first(block(":results (foo)"))

    @pytest.mark.parametrize(
        ("text", "pairs"),
        [
            ('a="1", b="2"', ['a="1"', 'b="2"']),
            ('a="1" b="x y"', ['a="1"', 'b="x y"']),
            ('a = "1"', ['a="1"']),
            ("a=f(x, y) , b=t[1, 2]", ["a=f(x, y)", "b=t[1, 2]"]),
            (r'a="x\\" b="y z"', [r'a="x\\"', 'b="y z"']),
            (r'a="x\" b=\\" c="y"', [r'a="x\" b=\\"', 'c="y"']),
        ],
    )
    def test_one_var_may_hold_several_assignments(self, text: str, pairs: list[str]) -> None:
        assert [value for _, value in parse(f":var {text}")] == pairs

    @given(st.text(alphabet=':ab "()[]\\\t=,', max_size=30))
    def test_whatever_is_written_there_it_is_read_or_refused(self, text: str) -> None:
        try:
            pairs = parse(text)
        except ArgumentError:
            return
        for name, value in pairs:
            if name == ":var":
                with contextlib.suppress(ArgumentError):
                    argument_syntax.value(str(value))


class TestValues:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('a="x\\"y"', 'x"y'),
            ('a=""', ""),
            (r'a="x\\\ "', "x\\"),  # as in Emacs
            ('a="x\\\ny"', "xy"),
            ("a=1.50", Number("1.50")),
            ("a=-2e3", Number("-2e3")),
            ('a=\'("x" 1 (nil y))', ["x", Number("1"), [None, "y"]]),
            ("a=tbl", ValueReference("tbl")),
            ("a=tbl[1,2]", ValueReference("tbl", "1,2")),
            ("a=f(x=1)", ValueReference("f", "", "x=1")),
            ("a=f()[0]", ValueReference("f", "0", "")),
            ("a=(+ 1 2)", Lisp("(+ 1 2)")),
        ],
    )
    def test_each_form_of_a_value_is_read(self, text: str, value: object) -> None:
        assert argument_syntax.value(text) == ("a", value)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a", ':var a has no value; for an empty value, write :var a=""'),
            ("a=", "has no value"),
            ('="a"', ':var must be followed by name=value, found: ="a"'),
            ('a="x', "unclosed quote:"),
            ("a='(1", "unclosed Lisp expression:"),
            ("a='(1) x", "must have one value, found:"),
            ("a='", "must have one value, found: '"),
            ("a=')", "invalid Lisp:"),
            ("a=b c d", "invalid value: b c d"),
        ],
    )
    def test_a_value_that_cannot_be_read_is_named(self, text: str, message: str) -> None:
        with pytest.raises(ArgumentError, match=message.replace('"', '\\"')):
            argument_syntax.value(text)

    def test_arguments_of_a_call_need_names(self) -> None:
        assert argument_syntax.call_arguments('a=f(1,2), b="x,y"') == ["a=f(1,2)", 'b="x,y"']
        with pytest.raises(ArgumentError, match="must be written as name=value"):
            argument_syntax.call_arguments("1, 2")


class TestPrecedence:
    def test_the_default_of_restclient_is_raw(self) -> None:
        assert first(block()).results == ("replace", "raw")
        assert first(block(language="sh")).results == ("replace",)

    def test_the_last_property_line_wins_whole_and_plus_appends(self) -> None:
        text = (
            "#+PROPERTY: header-args :a 1 :b 1\n"
            "#+PROPERTY: header-args :a 2\n"
            f"#+PROPERTY: header-args+ :c 3\n{block()}"
        )
        assert {k: v for k, v in first(text).values.items() if k in "abc"} == {"a": "2", "c": "3"}

    def test_a_nearer_heading_replaces_what_it_inherits_and_plus_adds(self) -> None:
        text = (
            ":PROPERTIES:\n:header-args: :a 0\n:END:\n"
            f"* A\n:PROPERTIES:\n:header-args: :a 1 :b 1\n:END:\n{block()}"
            f"** B\n:PROPERTIES:\n:HEADER-ARGS+: :c 2\n:END:\n{block()}"
            f"** C\nSCHEDULED: <2024-01-01>\n:PROPERTIES:\n:header-args: :c 3\n:END:\n{block()}"
            f"* D\ntext\n:PROPERTIES:\n:header-args: :a 9\n:END:\n{block()}"
        )
        found = [{k: v for k, v in first(text, i).values.items() if k in "abc"} for i in range(4)]
        assert found == [
            {"a": "1", "b": "1"},
            {"a": "1", "b": "1", "c": "2"},
            {"c": "3"},
            {"a": "0"},
        ]

    def test_a_language_is_looked_up_for_itself_and_wins(self) -> None:
        text = (
            "* A\n:PROPERTIES:\n:header-args: :a 1 :b 1\n:header-args:restclient: :a 2\n:END:\n"
            f"** B\n:PROPERTIES:\n:header-args: :b 2\n:END:\n{block()}{block(language='http')}"
        )
        assert [first(text, i).values.get("a") for i in (0, 1)] == ["2", None]
        assert first(text).values["b"] == "2"

    def test_the_line_wins_over_properties_and_header_lines_over_the_line(self) -> None:
        above = "#+PROPERTY: header-args :a 1 :b 1\n#+HEADER: :b 3\n#+HEADER: :b 4\n"
        text = above + block(":a 2 :b 2")
        values = first(text).values
        assert (values["a"], values["b"]) == ("2", "3")

    def test_words_of_results_displace_their_own_group_only(self) -> None:
        above = "#+PROPERTY: header-args:restclient :results value drawer\n"
        text = above + block(":results verbatim")
        assert first(text).results == ("replace", "value", "drawer", "verbatim")
        assert first(text.replace("verbatim", "raw silent")).results == ("value", "raw", "silent")

    def test_results_given_twice_merge(self) -> None:
        assert first(block(":results value :results drawer")).results == (
            "replace",
            "value",
            "drawer",
        )

    def test_variables_are_kept_one_by_one(self) -> None:
        text = f"#+PROPERTY: header-args :var a=1 b=2\n{block(':var b=3 c=4')}"
        assert dict(first(text).variables) == {"a": "a=1", "b": "b=3", "c": "c=4"}

    def test_a_property_drawer_with_other_text_in_it_is_none(self) -> None:
        text = f"* A\n:PROPERTIES:\nwords\n:header-args: :a 1\n:END:\n{block()}"
        assert "a" not in first(text)

    def test_the_first_of_two_properties_counts_as_in_org(self) -> None:
        drawer = (
            ":header-args: :a 1\n:header-args+: :b 1\n:header-args: :a 2\n:header-args+: :c 1\n"
        )
        values = first(f"* A\n:PROPERTIES:\n{drawer}:END:\n{block()}").values
        assert {k: v for k, v in values.items() if k in "abc"} == {"a": "1", "b": "1", "c": "1"}

    def test_a_call_adds_its_own_arguments_to_those_of_the_block(self) -> None:
        text = f"#+NAME: n\n{block(':a 1 :b 1 :var x=1')}#+CALL: n[:a 2](x=2) :b 3\n"
        document = OrgDocument(text)
        found = of_block(document, document.blocks[1])
        assert (found.values["a"], found.values["b"], found.variables["x"]) == ("2", "3", "x=2")


class TestFlags:
    @pytest.mark.parametrize(
        ("line", "on"),
        [("", False), (":x", True), (":x yes", True), (":x no", False), (":x nil", False)],
    )
    def test_a_name_alone_is_yes_and_no_is_no(self, line: str, on: bool) -> None:
        assert first(block(line)).flag("x") is on


class TestHash:
    """The hashes are those that Org 9.5.5 computes for the same blocks."""

    def test_it_is_the_one_that_org_writes(self) -> None:
        found = first(block(":cache yes :noheaders"))
        body = "GET http://127.0.0.1:8098/line?cache=1"
        assert arguments.digest(found, body, ()) == "8bf47cc554d506d2d18c06053e74afa8b30f4e82"

    def test_variables_and_all_words_count(self) -> None:
        line = ':cache yes :var b="x y" :var a="q" :results value drawer :timeout 5 :dir sub'
        body = ":b = x y\n:a = q\nGET http://x?a=:a"
        found = arguments.digest(first(block(line)), body, (("b", "x y"), ("a", "q")))
        assert found == "cfc59343341fac6400f578561f09b22e86948e1e"

    def test_texts_are_written_as_lisp_writes_them(self) -> None:
        line = ':cache yes :file x.json :var a="é\\"q\\\\n" :jq .a :noweb yes'
        body = ':a = é"q\\n\nGET http://x?a=:a'
        found = arguments.digest(first(block(line)), body, (("a", 'é"q\\n'),))
        assert found == "4d1adf26883d4d32a2e407b6272b4160b4879a22"

    def test_what_replaces_or_appends_does_not_count(self) -> None:
        one, two = (first(block(f":results {word} value")) for word in ("append", "replace"))
        assert arguments.digest(one, "x", ()) == arguments.digest(two, "x", ())

    @pytest.mark.parametrize(
        ("text", "written"),
        [
            ("+007", "7"),
            ("-0", "0"),
            ("-012", "-12"),
            ("9" * 5000, "9" * 5000),
            ("1e2", "100.0"),
            ("1.", "1"),
            ("1.e2", "100.0"),
            ("1e14", "100000000000000.0"),
            ("1e15", "1e+15"),
            ("12345678901234567.5", "12345678901234568.0"),
            ("-1e999", "-1.0e+INF"),
        ],
    )
    def test_a_number_of_any_length_is_written_as_lisp_does(self, text: str, written: str) -> None:
        """As Emacs 28 prints them."""
        assert lisp.write_number(text) == written

    @given(st.from_regex(r"[-+]?[0-9]{1,30}", fullmatch=True))
    def test_whole_numbers_are_written_as_int_does(self, text: str) -> None:
        assert lisp.write_number(text) == str(int(text))

    def test_a_cached_block_with_a_huge_number_has_a_hash(self) -> None:
        number = "9" * 5000
        found = first(block(f":cache yes :var x={number}"))
        assert len(arguments.digest(found, "GET http://x", (("x", Number(number)),))) == 40

    def test_numbers_and_lists_have_their_lisp_form(self) -> None:
        value = [Number("1"), Number("2.50"), None, "x", ["y"]]
        assert lisp.write(value) == '(1 2.5 nil "x" ("y"))'


class TestUnderstanding:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('"a\\tb"', "a\tb"),
            (" 42\n", "42"),
            ("s", "S"),
            ('(concat "<" s ">")', "<S>"),
            ("(concat)", ""),
            ('(concat "a" (concat s "b"))', "aSb"),
        ],
    )
    def test_constants_variables_and_concat_have_a_value(self, text: str, value: str) -> None:
        assert lisp.understand(text, {"s": "S"}) == value

    def test_long_texts_take_no_longer_per_character_than_short_ones(self) -> None:
        """With quadratic costs, this would take minutes."""
        count = 200_000
        assert argument_syntax.value(f"v='({'a ' * count})") == ("v", ["a"] * count)
        assert lisp.understand(f"(concat{' s' * count}){' ' * count}", {"s": "S"}) == "S" * count
        deep = f"{'(concat s ' * count}{')' * count}"
        assert lisp.understand(deep, {"s": "S"}) == "S" * count

    @pytest.mark.parametrize(
        "text", ["", "x", '(message "a")', "(concat 1 s)", '"a" "b"', "(", ")", "((concat))", "'a"]
    )
    def test_everything_else_is_refused(self, text: str) -> None:
        with pytest.raises(ArgumentError, match="Emacs Lisp is not run"):
            lisp.understand(text, {})


def test_every_argument_that_changes_something_is_known() -> None:
    """Editors offer these arguments, and diagnostics accept them."""
    heeded: set[str] = set()
    folder = Path(run.__path__[0])
    modules = (blocks, layout, results)
    for path in (*(Path(str(module.__file__)) for module in modules), *folder.rglob("*.py")):
        source = path.read_text("utf-8")
        if "arguments" not in source or path.name == "comparison.py":  # keys of records
            continue
        # `sending` contains httpyac's settings.
        heeded.update(re.findall(r'(?<!sending)\.(?:get|flag)\(\s*"([a-z][\w-]*)"', source))
        heeded.update(re.findall(r'"([\w-]+)" (?:not )?in (?:arguments|self)\b(?!\.)', source))
    assert len(heeded) > 15
    assert {name for name, known in KNOWN.items() if not known.inert} == heeded | {
        "results",
        "var",
    }


def test_every_word_of_results_is_known() -> None:
    words = {word for group in GROUPS for word in group}
    assert set(KNOWN["results"].values) == words | {"wrap"}
