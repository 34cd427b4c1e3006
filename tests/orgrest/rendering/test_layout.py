"""How results look in a document, and the data that a document contains: `layout`, `data`."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orgrest.org import data
from orgrest.org.arguments import of_block
from orgrest.org.blocks import ArgumentError
from orgrest.org.document import OrgDocument
from orgrest.org.lisp import Number
from orgrest.org.placing import place
from orgrest.org.results import element_named
from orgrest.org.text import escape
from orgrest.rendering import layout

VALUE = '{\n  "a": 1\n}\n'
WRAPPED = f"#+BEGIN_SRC js\n{VALUE}#+END_SRC\n"
ORGISH = "* h\n#+end_src\n:end:\n"


def shown(line: str, value: str = VALUE, block: str = WRAPPED) -> str:
    document = OrgDocument(f"#+begin_src restclient {line}\nGET x\n#+end_src\n")
    arguments = of_block(document, document.blocks[0])
    return layout.show(arguments, [value], [block], "restclient").text


class TestTypes:
    @pytest.mark.parametrize(
        ("line", "text"),
        [
            ("", WRAPPED),
            (":results verbatim", WRAPPED),
            (":results scalar", WRAPPED),
            (":results output", WRAPPED),
            (":results", WRAPPED),
            (":results code", WRAPPED),
            (":results value", VALUE),
            (":results Value", VALUE),
            (":results value raw", VALUE),
            (":results drawer", f":results:\n{WRAPPED}:end:\n"),
            (":results value drawer", f":results:\n{VALUE}:end:\n"),
            (":results value code", f"#+begin_src restclient\n{VALUE}#+end_src\n"),
            (":results value org", f"#+begin_src org\n{VALUE}#+end_src\n"),
            (":results value html", f"#+begin_src html\n{VALUE}#+end_src\n"),
            (":results value latex", f"#+begin_src latex\n{VALUE}#+end_src\n"),
            (":results value list", '- {\n- "a": 1\n- }\n'),
            (":results value pp", ': {\n:   "a": 1\n: }\n'),
            (":results value link", ': {\n:   "a": 1\n: }\n'),
            (":results value :wrap", f"#+begin_results\n{VALUE}#+end_results\n"),
            (":results value :wrap src json", f"#+begin_src json\n{VALUE}#+end_src\n"),
            (":results value :wrap foo bar", f"#+begin_foo bar\n{VALUE}#+end_foo\n"),
            (":results value drawer :wrap EXPORT ascii", f"#+begin_src ascii\n{VALUE}#+end_src\n"),
        ],
    )
    def test_each_word_has_its_form(self, line: str, text: str) -> None:
        assert shown(line) == text

    @pytest.mark.parametrize(
        "line", [":results html", ":results org", ":wrap example", ":wrap SRC json"]
    )
    def test_the_wrapper_of_restclient_is_escaped_where_org_has_commas(self, line: str) -> None:
        assert ",#+BEGIN_SRC js\n" in shown(line)
        assert ",#+END_SRC\n" in shown(line)

    def test_ten_lines_become_an_example_block(self) -> None:
        assert shown(":results value pp", "x\n" * 9) == ": x\n" * 9
        example = f"#+begin_example\n{'x' * 0}{'x' + chr(10)}"
        assert shown(":results value pp", "x\n" * 10).startswith(example)

    def test_an_empty_body_keeps_its_wrapper_but_no_lines(self) -> None:
        assert shown(":results value drawer", "") == ":results:\n:end:\n"
        assert shown(":results value", "") == ""
        assert shown(":results value pp", "") == ""
        assert shown(":results value list", "") == "\n"
        assert shown(":results table", "") == ""

    def test_several_responses_stand_in_one_drawer(self) -> None:
        document = OrgDocument("#+begin_src restclient\nGET x\n#+end_src\n")
        arguments = of_block(document, document.blocks[0])
        found = layout.show(arguments, ["a\n", "b\n"], [WRAPPED, WRAPPED], "restclient")
        assert found.text == f":results:\n{WRAPPED * 2}:end:\n"


class TestResponsesThatLookLikeOrg:
    @pytest.mark.parametrize(
        "line", [":results value", ":results value drawer", ":results value :wrap quote"]
    )
    def test_where_a_comma_would_show_they_go_into_an_example(self, line: str) -> None:
        assert "#+begin_example\n,* h\n,#+end_src\n:end:\n#+end_example\n" in shown(line, ORGISH)

    @pytest.mark.parametrize(
        "text",
        [
            "* h\n",
            "  #+x\n",
            ":d:\n",
            "[fn:1] x\n",
            "\\begin{a}\n",
            "a src_sh{x} b\n",
            "call_x()\n",
        ],
    )
    def test_each_thing_that_org_would_read_is_noticed(self, text: str) -> None:
        document = OrgDocument("#+begin_src restclient :results value\nGET x\n#+end_src\n")
        arguments = of_block(document, document.blocks[0])
        found = layout.show(arguments, [text], [""], "restclient")
        assert found.notes == (layout.IN_EXAMPLE,)

    @pytest.mark.parametrize("text", ["bold\n", "a, b; c.\n", "5 * 3\n", "{}\n", "a: b:\n", "#x\n"])
    def test_ordinary_text_stays_as_it_is(self, text: str) -> None:
        assert shown(":results value", text) == text

    @pytest.mark.parametrize("text", ["*bold*\n", "- a\n", "| a |\n", "# x\n", "a:b:\n", "a_b\n"])
    def test_text_with_markup_of_orgs_goes_into_an_example(self, text: str) -> None:
        assert shown(":results value", text) == f"#+begin_example\n{escape(text)}#+end_example\n"

    @pytest.mark.parametrize(
        ("line", "text"),
        [
            (":results value list", "- =https://x/=\n- =a_b=\n- c\n"),
            (":results table", "| =https://x/= |\n| =a_b=        |\n| c            |\n"),
        ],
    )
    def test_items_and_cells_with_markup_are_verbatim(self, line: str, text: str) -> None:
        assert shown(line, "https://x/\na_b\nc\n") == text

    def test_an_example_takes_the_place_of_what_stood_there_as_prose(self) -> None:
        body = "a_b\n\n,c_d\n\ne_f\n"
        block = "#+begin_src restclient :results value\nGET x\n#+end_src\n"
        document = OrgDocument(f"{block}\n#+RESULTS:\n{body}\nkept\n")
        new = place(document, document.blocks[0], shown(":results value", body), prose=True)
        text = document.text[: new.start] + new.text + document.text[new.end :]
        example = f"#+begin_example\n{body}#+end_example\n"
        assert text == f"{block}\n#+RESULTS:\n{example}\nkept\n"

    @pytest.mark.parametrize("line", [":results value list", ":results table"])
    def test_a_list_or_table_that_cannot_be_verbatim_is_an_example(self, line: str) -> None:
        text = "a\nhttps://x/?a=&b=~\n"
        assert shown(line, text) == f"#+begin_example\n{text}#+end_example\n"

    @given(
        st.text(alphabet="*#+,:[]ab \n|-_{}()\\", max_size=60),
        st.sampled_from(
            ["value", "value drawer", "value list", "table", "value org", "value pp", "value code"]
        ),
    )
    def test_no_response_becomes_a_heading_a_block_or_a_result(self, body: str, kind: str) -> None:
        before = "#+begin_src restclient :results " + kind + "\nGET x\n#+end_src\n"
        after = "\nafter\n#+begin_src restclient\nGET y\n#+end_src\n* H\n"
        document = OrgDocument(before + after)
        value = body + "\n" if body.strip() else ""
        text = shown(f":results {kind}", value)
        edit = place(document, document.blocks[0], text)
        new = OrgDocument(before + edit.text + after)
        kept = [block for block in new.blocks if block.result is None]
        assert [new.body(block).text for block in kept] == ["GET x", "GET y"]
        assert {block.heading.level for block in kept} == {0}


class TestTables:
    @pytest.mark.parametrize(
        ("text", "rows"),
        [
            ("name,n\nx,1\ny,20\n", "| name |  n |\n| x    |  1 |\n| y    | 20 |\n"),
            ("a\tb\n1\t2\n", "| a | b |\n| 1 | 2 |\n"),
            ('"a, ""b""",c\n', '| a, "b" | c |\n'),
            ("a|b,c\n", "| a\\vert{}b | c |\n"),
            ("| a|b |\n|-|\n|1|2|\n", "| a | b |\n|---+---|\n| 1 | 2 |\n"),
            ("42\n", "| 42 |\n"),
            ("one\ntwo words\n", "| one       |\n| two words |\n"),
            ("a,b\nc\n", "| a | b |\n| c |   |\n"),
            ('[["n","x"],["a",1.50]]\n', "| n |    x |\n| a | 1.50 |\n"),
            ('[1, {"k": [2]}]\n', '|          1 |\n| {"k": [2]} |\n'),
            (
                '[{"a": 1, "b": null}, {"a": "x"}]\n',
                "| a | b    |\n|---+------|\n| 1 | null |\n| x |      |\n",
            ),
            ('{"a": 1}\n', "| a |\n|---|\n| 1 |\n"),
            ("[1, oops\n", "| =[1= | oops |\n"),
            ("日本,1\nab,2\n", "| 日本 | 1 |\n| ab   | 2 |\n"),
            ("[]\n", ""),
            ("\n", ""),
        ],
    )  # fmt: skip
    def test_rows_of_any_kind_become_an_aligned_table(self, text: str, rows: str) -> None:
        assert layout.table(text) == rows

    def test_json_too_deep_for_python_is_shown_as_lines(self) -> None:
        assert layout.table("[" * 100_000 + "\n").startswith("| =[[[[")


ONE, TWO, THREE = map(Number, "123")


class TestData:
    def read(self, text: str, indices: str = "", colnames: str | None = None) -> object:
        element = element_named(OrgDocument(f"#+NAME: n\n{text}"), "n")
        assert element is not None
        return data.selected(data.read(element), "n", indices, colnames)

    TABLE = "| a | b |\n|---+---|\n| 1 | 2 |\n| 3 | x \\vert{} y |\n#+TBLFM: $1=1\n"

    @pytest.mark.parametrize(
        "block",
        ["src sh", "src emacs-lisp", "src python -n", '"src json :tangle x.sh"', "export sh"],
    )
    def test_no_response_stands_in_a_block_that_org_could_run_or_tangle(self, block: str) -> None:
        for results in ("", ":results value", ":results value code"):
            text = shown(f"{results} :wrap {block}", "rm x\n", "rm x\n")
            assert text == "#+begin_example\nrm x\n#+end_example\n"
        document = OrgDocument(f"#+begin_src restclient :wrap {block}\nGET x\n#+end_src\n")
        arguments = of_block(document, document.blocks[0])
        assert layout.inline(arguments, "rm x", "restclient") is None

    @pytest.mark.parametrize("first", ["x" * 20_000, "x," * 20_000])
    def test_one_long_row_or_cell_does_not_make_the_others_as_long(self, first: str) -> None:
        text = first + "\n" + "a\n" * 20_000
        assert len(layout.table(text)) < 8 * len(text)
        rows = json.dumps([first.split(",")] + [["a"]] * 20_000)
        assert len(layout.table(rows)) < 8 * len(rows)

    def test_a_table_is_its_rows_without_rules_and_header(self) -> None:
        assert self.read(self.TABLE) == [[ONE, TWO], [THREE, "x | y"]]
        assert self.read(self.TABLE, colnames="no") == [["a", "b"], [ONE, TWO], [THREE, "x | y"]]
        assert self.read("| a |\n| 1 |\n", colnames="yes") == [[ONE]]
        ruled = "|---|\n| a |\n|---|\n| 1 |\n|---|\n"
        assert self.read(ruled) == [["a"], [ONE]]  # as in Org, only a single rule marks a header

    @pytest.mark.parametrize(
        ("indices", "value"),
        [
            ("2,1", TWO),
            ("0,0", "a"),
            ("-1,0", THREE),
            ("2", [ONE, TWO]),
            ("*,0", [ONE, THREE]),
            (",1", [TWO, "x | y"]),
            ("0:-1", [[ONE, TWO], [THREE, "x | y"]]),
            ("0:2,0", [ONE]),
            ("2:2", [ONE, TWO]),
            ("2:3,0", [ONE, THREE]),
            ("2:,0", [ONE, THREE]),
        ],
    )
    def test_indices_pick_from_a_table_with_rules_counted(
        self, indices: str, value: object
    ) -> None:
        assert self.read(self.TABLE, indices) == value

    @pytest.mark.parametrize("indices", ["9", "x", "2,9", "-9"])
    def test_indices_outside_are_an_error(self, indices: str) -> None:
        with pytest.raises(ArgumentError, match=re.escape(f"index out of range: n[{indices}]")):
            self.read(self.TABLE, indices)

    def test_indices_into_a_text_are_an_error(self) -> None:
        with pytest.raises(ArgumentError, match="not a table or list"):
            self.read(": x\n", "1")
        with pytest.raises(ArgumentError, match=r"^n\[0,0,0\] has more indices"):
            self.read(self.TABLE, "0,0,0")

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            (
                "- one\n- [X] two\n  - three\n    more\n- four\n  more\n",
                ["one", "two", "four\nmore"],
            ),
            (": a\n:  b\n", "a\n b"),
            ("#+begin_example\n  a\n\n    ,* b\n#+end_example\n", "a\n\n  * b"),
            ("  two\n  lines\n", "two\nlines"),
            (":d:\n| a |\n:end:\n", [["a"]]),
            (":d:\nplain\n:end:\n", "plain"),
        ],
    )
    def test_other_elements_are_items_or_text(self, text: str, value: object) -> None:
        assert self.read(text) == value

    @pytest.mark.parametrize(
        ("written", "text"),
        [
            *(("01234", "1234"), ("2.50", "2.5"), ("1e3", "1000.0"), ("+5", "5"), (".5", "0.5")),
            *(('"01234"', "01234"), ('"a\\"b"', 'a"b'), ("1-2", "1-2"), ("1 2", "1 2"), ("e", "e")),
        ],
    )
    def test_a_cell_or_item_is_sent_as_emacs_would_send_it(self, written: str, text: str) -> None:
        assert data.to_text(self.read(f"| {written} |\n", "0,0")) == text
        assert data.to_text(self.read(f"- {written}\n", "0")) == text

    def test_text_after_a_colon_is_a_number_if_it_looks_like_one(self) -> None:
        assert self.read(": 01234\n") == Number("1234")
        assert self.read(": 1\n: 2\n") == "1\n2"

    def test_lists_and_tables_become_json_with_numbers_as_numbers(self) -> None:
        assert data.to_text([["a", "1"], ["1.50", "-0"]]) == '[["a", 1], [1.50, -0]]'
        assert data.to_text(["01", "é", 'q"', None]) == '["01", "é", "q\\"", null]'

    def test_texts_and_numbers_stay_as_they_are(self) -> None:
        assert [data.to_text(x) for x in ("a b", Number("1.50"), None)] == ["a b", "1.50", ""]


@pytest.mark.parametrize("language", ["http", "rest", "restclient", "verb"])
@pytest.mark.parametrize(
    "text",
    [
        *("GET http://h/x", "https://h/x?t={{token}}", "/path", "{{a}}", "@a=http://h\n{{a}}"),
        *("\ufeffGET http://h", "<<delete>>", "<<delete>>()", "text"),
        '{"a":\n<<delete>>}',
        '["<<delete>>"]',
    ],
)
def test_a_response_is_not_inserted_in_a_block_that_could_be_sent(language: str, text: str) -> None:
    document = OrgDocument(f"#+begin_src {language} :results value code\nGET x\n#+end_src\n")
    arguments = of_block(document, document.blocks[0])
    result = layout.show(arguments, [text], [text], language)
    assert result.text.startswith("#+begin_example\n")
    assert result.notes == (layout.NO_REQUEST,)
