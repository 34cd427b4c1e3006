"""The elements of Org documents, and the positions of results: `orgrest.org`."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orgrest.org.blocks import BabelCall
from orgrest.org.document import OrgDocument
from orgrest.org.placing import closes, place, place_inline
from orgrest.org.results import element_named, result_of
from orgrest.org.text import Edit, apply, escape, unescape

BLOCK = "#+begin_src restclient\nGET http://x\n#+end_src\n"


def languages(text: str) -> list[str]:
    return [block.language for block in OrgDocument(text).blocks]


def placed(text: str, result: str, **options: object) -> str:
    """Return the document with `result` for the first block."""
    document = OrgDocument(text)
    return apply(text, [place(document, document.blocks[0], result, **options)])  # type: ignore[arg-type]  # options of several types


class TestBlocksThatRun:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (":DRAWER:\n", ":END:\n"),
            ("#+begin_quote\n", "#+end_quote\n"),
            ("#+begin_center\n", "#+end_center\n"),
            ("#+begin_special\n", "#+end_special\n"),
            ("#+begin: dynamic\n", "#+end:\n"),
            ("[fn:1] a footnote\n", ""),
            ("- an item\n", ""),
            ("* TODO heading :noexport:\n", ""),
            ("#+begin_example\nnever closed\n\n", ""),
        ],
    )
    def test_a_block_inside_something_that_holds_elements_is_found(
        self, before: str, after: str
    ) -> None:
        assert languages(before + BLOCK + after) == ["restclient"]

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("#+begin_example\n", "#+end_example\n"),
            ("#+begin_verse\n", "#+end_verse\n"),
            ("#+begin_comment\n", "#+end_comment\n"),
            ("#+begin_export html\n", "#+end_export\n"),
            ("\\begin{verbatim}\n", "\\end{verbatim}\n"),
        ],
    )
    def test_a_block_that_is_shown_as_text_is_not_a_block(self, before: str, after: str) -> None:
        assert languages(before + BLOCK + after) == []

    @pytest.mark.parametrize("mark", ["# ", ": ", "- ", "| "])
    def test_a_line_with_something_before_the_marker_starts_no_block(self, mark: str) -> None:
        text = "".join(mark + line + "\n" for line in BLOCK.splitlines())
        assert languages(text) == []

    def test_a_block_in_the_source_of_another_one_is_not_a_block(self) -> None:
        assert languages(f"#+begin_src org\n,{BLOCK.replace('#+end', ',#+end')}#+end_src\n") == [
            "org"
        ]

    def test_a_heading_ends_a_block_that_was_never_closed(self) -> None:
        assert languages("#+begin_src restclient\nGET http://x\n* H\n" + BLOCK) == ["restclient"]

    def test_words_after_the_end_marker_do_not_close_a_block(self) -> None:
        document = OrgDocument(BLOCK.replace("#+end_src", "#+end_src words") + BLOCK)
        (block,) = document.blocks
        assert (block.first, block.last) == (1, 5)

    def test_markers_are_read_in_any_case_with_blanks_and_switches(self) -> None:
        (block,) = OrgDocument(
            "\t#+Begin_Src   http -n 10 -r   :a b  \nGET x\n\t#+END_SRC  \n"
        ).blocks
        assert (block.language, block.switches, block.arguments) == ("http", "-n 10 -r", ":a b")
        assert block.indent == 8

    def test_a_block_without_a_language_has_none(self) -> None:
        assert languages("#+begin_src\nx\n#+end_src\n#+begin_srcfoo\n#+end_srcfoo\n") == [""]

    def test_a_comment_tree_is_reported(self) -> None:
        text = f"* TODO [#A] COMMENT a\n** b\n{BLOCK}* c COMMENT\n{BLOCK}"
        assert [block.heading.comment for block in OrgDocument(text).blocks] == [True, False]

    def test_the_documents_own_keywords_for_to_do_are_known(self) -> None:
        text = f"#+TODO: WAIT(w) | GONE\n* WAIT COMMENT a\n{BLOCK}"
        assert OrgDocument(text).blocks[0].heading.comment


class TestKeywordsAbove:
    def test_name_and_header_lines_belong_to_the_block_below(self) -> None:
        (block,) = OrgDocument(f"#+NAME: n\n#+header: :a 1\n#+HEADERS: :b 2\n{BLOCK}").blocks
        assert (block.name, block.headers) == ("n", (":a 1", ":b 2"))

    @pytest.mark.parametrize("between", ["\n", "# comment\n", "text\n", "#+FOO: x\n"])
    def test_anything_in_between_detaches_them(self, between: str) -> None:
        (block,) = OrgDocument(f"#+NAME: n\n{between}{BLOCK}").blocks
        assert block.name is None

    def test_old_spellings_of_a_name_count(self) -> None:
        assert OrgDocument(f"#+SRCNAME: n\n{BLOCK}").block_named("N") is not None

    def test_a_block_is_found_by_a_line_of_it_or_of_its_keywords(self) -> None:
        document = OrgDocument(f"text\n#+NAME: n\n{BLOCK}\n{BLOCK}")
        first, second = document.blocks
        found = [document.block_at(line) for line in range(1, 11)]
        assert found == [None, first, first, first, first, None, second, second, second, None]


class TestCallsAndInlineBlocks:
    def test_a_call_is_read_with_its_parts(self) -> None:
        (block,) = OrgDocument("#+CALL: name[:a b](x=f(1), y=2) :results value\n").blocks
        assert block.call == BabelCall("name", ":a b", "x=f(1), y=2", ":results value")

    @pytest.mark.parametrize("line", ["#+CALL: name", "#+CALL: name(", "#+CALL:f()"])
    def test_what_is_no_call_is_none(self, line: str) -> None:
        assert OrgDocument(line + "\n").blocks == []

    def test_inline_blocks_are_found_in_text_headings_lists_and_tables(self) -> None:
        source = "src_restclient[:a b]{GET http://x}"
        text = f"* {source}\ntext {source}, more\n- {source}\n| {source} |\n"
        blocks = OrgDocument(text).blocks
        assert [block.inline for block in blocks] == ["GET http://x"] * 4
        assert {block.arguments for block in blocks} == {":a b"}
        assert [text[block.start : block.end] for block in blocks] == [source] * 4

    def test_inline_blocks_in_verbatim_text_results_and_words_are_text(self) -> None:
        text = "=src_http{GET x}= ~call_f()~ asrc_http{GET x} {{{results(=src_http{GET x}=)}}}\n"
        assert OrgDocument(text).blocks == []

    def test_an_inline_call_has_a_name_and_arguments(self) -> None:
        (block,) = OrgDocument("see call_f[:i](x=1)[:e] here\n").blocks
        assert (block.kind, block.call) == ("inline call", BabelCall("f", ":i", "x=1", ":e"))


class TestBody:
    def body(self, *lines: str, switch: str = "") -> str:
        text = "\n".join([f"#+begin_src http{switch}", *lines, "#+end_src"])
        document = OrgDocument(text)
        return document.body(document.blocks[0]).text

    def test_common_indentation_is_no_part_of_a_request(self) -> None:
        assert self.body("  GET x", "", "    a", "  b") == "GET x\n\n  a\nb"

    def test_one_line_at_the_margin_keeps_all_indentation(self) -> None:
        assert self.body("  GET x", "a") == "  GET x\na"

    def test_tabs_count_up_to_columns_of_eight(self) -> None:
        assert self.body("\tGET x", "        a") == "GET x\na"

    def test_the_switch_i_keeps_indentation(self) -> None:
        assert self.body("  GET x", switch=" -i") == "  GET x"

    def test_one_comma_of_an_escape_is_taken_away(self) -> None:
        assert self.body(",* a", ",,#+b", " ,*c", ",d") == "* a\n,#+b\n *c\n,d"

    def test_positions_point_into_the_document(self) -> None:
        document = OrgDocument("\n#+begin_src http\n  GET x\n  ,* a\n#+end_src\n")
        assert document.body(document.blocks[0]).places == ((3, 2), (4, 3))


class TestNewResult:
    def test_it_is_below_the_block_after_a_blank_line(self) -> None:
        assert placed(BLOCK, "R\n") == BLOCK + "\n#+RESULTS:\nR\n"

    def test_text_directly_below_is_kept_apart(self) -> None:
        assert placed(BLOCK + "text\n", "R\n") == BLOCK + "\n#+RESULTS:\nR\n\ntext\n"

    def test_blank_lines_below_stay_as_many_as_they_were(self) -> None:
        assert placed(BLOCK + "\n\ntext\n", "R\n") == BLOCK + "\n#+RESULTS:\nR\n\n\ntext\n"

    def test_a_file_that_ends_in_the_block_gets_its_line_end(self) -> None:
        assert placed(BLOCK[:-1], "R\n") == BLOCK + "\n#+RESULTS:\nR\n"

    def test_it_is_indented_as_the_end_marker_is(self) -> None:
        text = "- item\n  #+begin_src http\n  GET x\n  #+end_src\n"
        assert placed(text, "a\n\n  b\n") == text + "\n  #+RESULTS:\n  a\n\n    b\n"

    def test_eight_columns_become_a_tab(self) -> None:
        text = "\t#+begin_src http\n\tGET x\n\t#+end_src\n"
        assert placed(text, "a\n") == text + "\n\t#+RESULTS:\n\ta\n"

    def test_a_named_block_has_its_name_there(self) -> None:
        text = f"#+NAME: n\n{BLOCK}"
        assert placed(text, "R\n") == text + "\n#+RESULTS: n\nR\n"

    def test_an_empty_name_leaves_its_blank(self) -> None:
        text = f"#+NAME:\n{BLOCK}"
        assert placed(text, "R\n") == text + "\n#+RESULTS: \nR\n"

    def test_a_hash_stands_in_brackets(self) -> None:
        assert placed(BLOCK, "R\n", digest="ab12") == BLOCK + "\n#+RESULTS[ab12]:\nR\n"

    def test_an_empty_result_is_the_keyword_alone(self) -> None:
        assert placed(BLOCK, "") == BLOCK + "\n#+RESULTS:\n"


REMOVED = [
    "#+BEGIN_SRC js\nOLD\n#+END_SRC\n",
    "#+begin_example\nOLD\n#+end_example\n",
    "#+begin_export html\nOLD\n#+end_export\n",
    "#+begin_results\nOLD\n#+end_results\n",
    ": OLD\n: OLD\n",
    ":results:\nOLD\n\nOLD\n:end:\n",
    ":RESULTS:\nOLD\n:END:\n",
    "| OLD |\n|-----|\n| x |\n#+TBLFM: $1=2\n",
    "- OLD\n\n- OLD\n  - deep\n    text\n\n    #+begin_example\nOLD\n    #+end_example\n",
    "\\begin{a}\nOLD\n\\end{a}\n",
    "[[file:old.png]]\n",
    "#+CAPTION: c\n: OLD\n",
]
KEPT = [
    "a paragraph\n",
    "#+begin_quote\nq\n#+end_quote\n",
    "#+begin_verse\nq\n#+end_verse\n",
    "#+begin_center\nq\n#+end_center\n",
    "#+begin_comment\nq\n#+end_comment\n",
    "#+begin: d\nq\n#+end:\n",
    "-----\n",
    "# comment\n",
    "* heading\n",
    "[[file:x.png]] and text\n",
    "#+begin_example\nnever closed\n",
    "\n: behind a blank line\n",
]


class TestOldResult:
    @pytest.mark.parametrize("old", REMOVED)
    @pytest.mark.parametrize("after", ["", "\ntext\n", "\n* H\n"])
    def test_what_org_takes_for_a_result_is_replaced(self, old: str, after: str) -> None:
        text = f"{BLOCK}\n#+results:\n{old}{after}"
        assert placed(text, "R\n") == f"{BLOCK}\n#+results:\nR\n{after}"

    @pytest.mark.parametrize("old", KEPT)
    def test_what_is_no_result_is_kept_below_the_new_one(self, old: str) -> None:
        text = f"{BLOCK}\n#+RESULTS:\n{old}"
        assert placed(text, "R\n") == f"{BLOCK}\n#+RESULTS:\nR\n{old}"

    @pytest.mark.parametrize(
        "between",
        ["text\n\n", "# comment\n\n", "* heading\n", BLOCK.replace("restclient", "sh"), "#+x: y\n"],
    )
    def test_a_result_behind_something_else_is_not_the_blocks(self, between: str) -> None:
        rest = f"{between}#+RESULTS:\n: OLD\n"
        assert placed(f"{BLOCK}\n{rest}", "R\n") == f"{BLOCK}\n#+RESULTS:\nR\n\n{rest}"

    def test_a_caption_belongs_to_the_result(self) -> None:
        text = f"{BLOCK}\n#+CAPTION: c\n#+RESULTS:\n: OLD\n"
        assert placed(text, "R\n") == f"{BLOCK}\n#+CAPTION: c\n#+RESULTS:\nR\n"

    def test_keywords_with_nothing_below_belong_to_nothing(self) -> None:
        rest = "#+CAPTION: c\n#+RESULTS:\n\ntext\n"
        assert placed(f"{BLOCK}\n{rest}", "R\n") == f"{BLOCK}\n#+RESULTS:\nR\n\n{rest}"

    def test_a_nameless_block_leaves_a_named_result_alone(self) -> None:
        text = f"{BLOCK}\n#+RESULTS: other\n: OLD\n"
        assert placed(text, "R\n") == f"{BLOCK}\n#+RESULTS:\nR\n\n#+RESULTS: other\n: OLD\n"

    def test_a_named_result_is_found_anywhere_but_in_examples(self) -> None:
        hidden = "#+begin_example\n#+RESULTS: n\n: x\n#+end_example\n"
        text = f"{hidden}- i\n  #+RESULTS[ab]:  N \n  : OLD\n\n#+NAME: n\n{BLOCK}"
        assert placed(text, "a\n") == text.replace("  : OLD\n", "  a\n")

    def test_names_are_compared_as_they_stand(self) -> None:
        text = f"#+NAME: a.b*[c]\n{BLOCK}\n#+RESULTS: aXb\n: x\n\n#+RESULTS: a.b*[c]\n: OLD\n"
        assert placed(text, "R\n") == text.replace(": OLD", "R")

    def test_a_result_outside_the_list_item_is_not_the_blocks(self) -> None:
        item = "- i\n  #+begin_src http\n  GET x\n  #+end_src\n"
        rest = "\n#+RESULTS:\n: OLD\n"
        assert placed(item + rest, "R\n") == f"{item}\n  #+RESULTS:\n  R\n{rest}"

    def test_two_blank_lines_end_a_list_and_a_footnote(self) -> None:
        note = f"[fn:1] note\n{BLOCK}"
        rest = "\n\n#+RESULTS:\n: OLD\n"
        assert placed(note + rest, "R\n") == f"{note}\n#+RESULTS:\nR\n{rest}"

    def test_a_result_behind_the_end_of_a_drawer_is_not_the_blocks(self) -> None:
        text = f":D:\n{BLOCK}:END:\n#+RESULTS:\n: OLD\n"
        new = f":D:\n{BLOCK}\n#+RESULTS:\nR\n\n:END:\n#+RESULTS:\n: OLD\n"
        assert placed(text, "R\n") == new

    def test_the_keywords_column_is_the_results_column(self) -> None:
        text = f"{BLOCK}\n    #+RESULTS:\n    : OLD\n"
        assert placed(text, "a\n") == text.replace(": OLD", "a")

    def test_a_keyword_at_the_very_end_gets_its_line_end(self) -> None:
        assert placed(f"{BLOCK}\n#+RESULTS:", "R\n") == f"{BLOCK}\n#+RESULTS:\nR\n"

    def test_a_request_block_below_the_keyword_is_not_deleted_and_stays_below_one(self) -> None:
        text = f"{BLOCK}\n  #+RESULTS:\n{BLOCK}"
        once = f"{BLOCK}\n  #+RESULTS:\n  : R\n  #+RESULTS:\n{BLOCK}"
        assert placed(text, ": R\n") == placed(once, ": R\n") == once
        assert placed(text, "") == text

    def test_a_list_that_runs_on_into_a_request_is_not_deleted(self) -> None:
        mine = "- mine\n  #+begin_src http\n  GET http://x\n  #+end_src\n"
        text = f"{BLOCK}\n#+RESULTS:\n- a\n{mine}"
        assert placed(text, "R\n") == f"{BLOCK}\n#+RESULTS:\nR\n- a\n{mine}"
        assert placed(text, "- b\n", mode="append") == f"{text}- b\n"

    def test_appending_and_prepending_keep_the_old_result(self) -> None:
        text = f"{BLOCK}\n#+RESULTS:\n: OLD\n\ntext\n"
        assert placed(text, ": R\n", mode="append") == text.replace(": OLD\n", ": OLD\n: R\n")
        assert placed(text, ": R\n", mode="prepend") == text.replace(": OLD\n", ": R\n: OLD\n")

    def test_a_hash_that_still_holds_is_left_alone(self) -> None:
        text = f"{BLOCK}\n#+RESULTS[ab12]:\n: OLD\n"
        assert placed(text, "R\n", digest="ab12") == text.replace(": OLD", "R")

    @pytest.mark.parametrize("old", [": OLD\n", "a paragraph\n", "#+CAPTION: c\n: OLD\n"])
    def test_with_a_new_hash_the_old_result_goes_whatever_it_is(self, old: str) -> None:
        caption = old if old.startswith("#+CAPTION") else ""
        caption = caption.partition("\n")[0] + "\n" if caption else ""
        text = f"{BLOCK}\n#+results[(2024-01-01 10:00:00) ab]:\n{old}text\n"
        new = placed(text, "R\n", digest="cd")
        kept = "text\n" if old != "a paragraph\n" else ""
        end = f"\n{kept}" if kept else ""
        assert new == f"{BLOCK}\n{caption}#+RESULTS[cd]:\nR\n{end}"


class TestProse:
    """Results without delimiters: raw bodies."""

    def again(self, first: str, second: str, after: str = "\ntext\n") -> str:
        once = placed(BLOCK + after, first, prose=True)
        return placed(once, second, prose=True)

    @pytest.mark.parametrize("body", ["a\n", "a\nb\n", "a\n\n", "a\n\nb\n\n\nc\n\n", "- a\n\nb\n"])
    def test_the_same_result_again_changes_nothing(self, body: str) -> None:
        assert self.again(body, body) == placed(f"{BLOCK}\ntext\n", body, prose=True)

    def test_another_one_takes_its_place(self) -> None:
        assert self.again("a\nb\n\n", "c\n\n") == placed(f"{BLOCK}\ntext\n", "c\n\n", prose=True)

    def test_paragraphs_that_stayed_the_same_are_known_again(self) -> None:
        new = self.again("head 1\n\nbody\n", "head 2\n\nbody\n")
        assert new == placed(f"{BLOCK}\ntext\n", "head 2\n\nbody\n", prose=True)

    def test_the_users_text_behind_a_blank_line_stays(self) -> None:
        assert self.again("a\n", "b\n", "\nmine\n").endswith("\nmine\n")

    @pytest.mark.parametrize(
        "mine",
        [
            *("| my | table |\n", ": mine\n", "1. my list\n", "[[file:mine.png]]\n", "-----\n"),
            *("# my comment\n", ":MY:\nd\n:END:\n", "\\begin{a}\nmine\n\\end{a}\n", BLOCK),
        ],
    )
    @pytest.mark.parametrize(
        "new", ["b\n", "- a\n- b\n", "#+begin_example\n- a\n- b\n#+end_example\n"]
    )
    def test_the_users_element_directly_below_stays_whatever_the_response_looks_like(
        self, new: str, mine: str
    ) -> None:
        text = f"{BLOCK}\n#+RESULTS:\na\n{mine}"
        once = placed(text, new, prose=True)
        assert once.startswith(f"{BLOCK}\n#+RESULTS:\n{new}")
        assert once.endswith(f"\n{mine}")

    @pytest.mark.parametrize("gap", ["", "\n"])
    @pytest.mark.parametrize(
        ("old", "new", "mine"),
        [
            ("- a\n", ": R\n", ": mine\n"),
            ("- a\n", "| R |\n", "| my | table |\n"),
            ("- a\n", "| R |\n", "#+TBLFM: $1=2\n"),
            (": a\n", "R\n", "mine\n"),
            (": a\n", "- R\n", "- mine\n"),
            ("a\n", ": R\n", ": mine\n"),
        ],
    )
    def test_the_users_text_does_not_become_part_of_a_result_of_another_kind(
        self, old: str, new: str, mine: str, gap: str
    ) -> None:
        for before in ("", "  "):
            text = f"{BLOCK}\n{before}#+RESULTS:\n{before}{old}{gap}{before}{mine}"
            once = placed(text, new, prose=True)
            assert placed(once, new, prose=True) == once
            twice = placed(once, old, prose=True)
            assert twice.rstrip("\n").endswith(f"\n{before}{mine}".rstrip("\n"))

    def test_lines_that_stayed_the_same_are_known_again(self) -> None:
        text = f"{BLOCK}\n#+RESULTS:\nhead 1\n- a\n- b\n| my | table |\n"
        new = "#+begin_example\nhead 2\n- a\n- b\n#+end_example\n"
        assert placed(text, new, prose=True) == f"{BLOCK}\n#+RESULTS:\n{new}| my | table |\n"

    @pytest.mark.parametrize("mine", [BLOCK, "- mine\n  #+begin_src http\n  GET x\n  #+end_src\n"])
    def test_a_request_below_the_keyword_is_not_deleted(self, mine: str) -> None:
        text = f"{BLOCK}\n#+RESULTS:\n{mine}"
        keyword = "" if mine.startswith("-") else "#+RESULTS:\n"
        assert placed(text, "R\n", prose=True) == f"{BLOCK}\n#+RESULTS:\nR\n{keyword}{mine}"


class TestInlineResult:
    def test_it_follows_after_a_blank_and_is_replaced(self) -> None:
        text = "see src_http{GET x}, and\n"
        for result in ("=a=", "=b="):
            document = OrgDocument(text)
            text = apply(text, [place_inline(document, document.blocks[0], result)])
            assert text == f"see src_http{{GET x}} {{{{{{results({result})}}}}}}, and\n"


class TestNamedElements:
    @pytest.mark.parametrize(
        ("element", "kind"),
        [
            ("| a |\n| b |\n", "table"),
            ("- a\n- b\n", "list"),
            (": a\n", "fixed"),
            ("#+begin_example\na\n#+end_example\n", "example"),
            (":d:\na\n:end:\n", "drawer"),
            ("text\nmore\n", "text"),
            ("\\begin{a}\n\\end{a}\n", "latex"),
        ],
    )
    def test_data_is_found_by_its_name_or_that_of_a_result(self, element: str, kind: str) -> None:
        for keyword in ("#+NAME: n", "#+RESULTS: n"):
            found = element_named(OrgDocument(f"x\n\n{keyword}\n{element}\nafter\n"), "N")
            assert found == (kind, element.splitlines())

    def test_a_source_block_stands_for_its_result(self) -> None:
        source = "#+NAME: n\n#+begin_src sh\nx\n#+end_src\n"
        assert element_named(OrgDocument(source), "n") is None
        assert element_named(OrgDocument(f"{source}\n#+RESULTS: n\n: a\n"), "n") == (
            "fixed",
            [": a"],
        )

    def test_an_unknown_name_is_none(self) -> None:
        assert element_named(OrgDocument("text\n"), "n") is None

    def test_a_keyword_with_nothing_below_names_nothing(self) -> None:
        assert element_named(OrgDocument("#+RESULTS: n\n\ntext\n"), "n") == ("", [])


class TestEscapes:
    @given(st.text(alphabet=",*#+ \tab\n"))
    def test_unescaping_gives_back_what_was_escaped(self, text: str) -> None:
        assert unescape(escape(text)) == text

    def test_only_what_org_would_read_gets_a_comma(self) -> None:
        text = "* a\n *b\n,*c\n#+d\n# e\n-f"
        assert escape(text) == ",* a\n ,*b\n,,*c\n,#+d\n# e\n-f"


@pytest.mark.parametrize(
    ("opening", "result"),
    [
        ("#+begin_example\n", "#+begin_example\nR\n#+end_example\n"),
        ("#+begin_SRC js\n", "#+BEGIN_SRC js\n#+END_SRC\n"),
        (":d:\n", ":results:\nR\n:end:\n"),
        ("#+begin: d\n", "#+end:\n"),
    ],
)
def test_a_result_that_would_close_what_stands_open_above_is_reported(
    opening: str, result: str
) -> None:
    text = f"* H\n{opening}* I\ntext\n{opening}\n#+RESULTS: n\n* J\n#+NAME: n\n{BLOCK}"
    document = OrgDocument(text)
    edit = place(document, document.blocks[-1], result)
    block = document.blocks[-1]
    assert closes(document, edit, block) == 5
    assert closes(document, Edit(edit.start, edit.end, ": R\n"), block) is None


@pytest.mark.parametrize(
    ("opening", "end"), [("#+begin_quote\n", "#+end_quote\n"), (":d:\n", ":end:\n")]
)
def test_a_result_that_would_close_what_its_block_is_in_is_reported(opening: str, end: str) -> None:
    document = OrgDocument(f"* H\n{opening}{BLOCK}{end}")
    (block,) = document.blocks
    assert closes(document, place(document, block, f"R\n{end}"), block) == 2
    assert closes(document, place(document, block, ": R\n"), block) is None


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap at offset 1"):
        apply("abc", [Edit(0, 2, ""), Edit(1, 3, "")])


PIECES = [
    BLOCK,
    "#+NAME: n\n" + BLOCK,
    BLOCK + "\n#+RESULTS:\n: old\n",
    "#+RESULTS:\n",
    "#+RESULTS: n\n",
    ": fixed\n",
    "#+begin_example\n",
    "#+end_example\n",
    ":results:\n",
    ":end:\n",
    "- item\n",
    "  ",
    "\t",
    "* H\n",
    "\n",
    "text\n",
    "| t |\n",
    "#+end_src\n",
    "#+begin_src restclient\n",
    "\\begin{a}\n",
    "#+begin_quote\n",
    "#+end_quote\n",
    "src_http{x}\n",
    "#+CALL: n()\n",
]
documents = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
results = st.text(string.ascii_letters + " \n", max_size=20).map(
    lambda text: f"#+begin_example\n{text}\n#+end_example\n"
)


class TestProperties:
    @given(documents, results)
    def test_text_outside_a_result_never_changes(self, text: str, result: str) -> None:
        document = OrgDocument(text)
        for block in document.blocks:
            if block.kind in ("block", "call"):
                edit = place(document, block, result)
                new = apply(text, [edit])
                assert new.startswith(text[: edit.start])
                assert new.endswith(text[edit.end :])
                old = result_of(document, block)
                removed = text[edit.start : edit.end]
                assert not removed or (old and removed == text[old.start : old.end])

    @given(documents, results)
    def test_the_same_result_again_changes_nothing(self, text: str, result: str) -> None:
        document = OrgDocument(text)
        for block in document.blocks:
            if block.kind in ("block", "call"):
                edit = place(document, block, result)
                if closes(document, edit, block):
                    continue
                once = apply(text, [edit])
                again = OrgDocument(once)
                moved = len(once) - len(text) if edit.end <= block.start else 0
                (same,) = (b for b in again.blocks if b.start == block.start + moved)
                assert apply(once, [place(again, same, result)]) == once

    @given(documents)
    def test_every_line_belongs_to_the_text_once(self, text: str) -> None:
        document = OrgDocument(text)
        assert "\n".join(document.lines) == text
        for block in document.blocks:
            assert document.line_of(block.start) == block.line
            assert 0 <= block.start <= block.end <= len(text)


BLOCK = "#+begin_src restclient\nGET http://x/\n#+end_src\n"


def rerun(text: str, result: str, **options: object) -> str:
    """Insert a result below each request block in turn."""
    for number in range(text.count("#+begin_src restclient")):
        document = OrgDocument(text)
        blocks = [block for block in document.blocks if block.language == "restclient"]
        text = apply(text, [place(document, blocks[number], f"{result}{number}\n", **options)])  # type: ignore[arg-type]  # options of several types
    return text


class TestNamesakes:
    """Blocks with the same name, such as copies of a block."""

    def test_each_has_a_result_of_its_own(self) -> None:
        once = rerun(f"#+NAME: n\n{BLOCK}\n" * 3, ": r")
        assert [line for line in once.split("\n") if line[:2] == ": "] == [": r0", ": r1", ": r2"]
        assert rerun(once, ": r") == once

    def test_prose_does_not_pile_up_below_one_of_them(self) -> None:
        once = rerun(f"#+NAME: n\n{BLOCK}\n" * 2, "one\n\ntwo", prose=True)
        assert rerun(once, "one\n\ntwo", prose=True) == once

    def test_a_result_above_the_first_is_the_first_ones(self) -> None:
        text = rerun(f"#+RESULTS: n\n: old\n\n#+NAME: n\n{BLOCK}\n#+NAME: N\n{BLOCK}", ": r")
        assert text.startswith("#+RESULTS: n\n: r0\n\n#+NAME")
        assert text.endswith("#+end_src\n\n#+RESULTS: N\n: r1\n")


def test_results_do_not_pile_up_below_a_block_that_ends_outside_of_its_item() -> None:
    text = "- item\n  #+begin_src restclient\n  GET http://x/\n#+end_src\n\ntext\n"
    once = rerun(text, ": r")
    assert once.count("#+RESULTS") == 1
    assert rerun(once, ": r") == once


class TestCached:
    def test_paragraphs_do_not_pile_up_when_the_hash_changes(self) -> None:
        once = rerun(f"{BLOCK}\nmine\n", "one\n\ntwo", digest="abc1", prose=True)
        twice = rerun(once, "three\n\ntwo", digest="abc2", prose=True)
        assert twice == once.replace("abc1", "abc2").replace("one", "three")

    def test_a_paragraph_below_a_keyword_without_a_hash_is_kept(self) -> None:
        text = f"{BLOCK}\n#+RESULTS:\nMine.\nToo.\n"
        once = rerun(text, ": r", digest="abc1")
        assert once == f"{BLOCK}\n#+RESULTS[abc1]:\n: r0\n\nMine.\nToo.\n"
        assert rerun(once, ": r", digest="abc2") == once.replace("abc1", "abc2")

    def test_an_old_result_without_a_hash_is_replaced(self) -> None:
        text = f"{BLOCK}\n#+RESULTS:\n#+CAPTION: c\n: old\n"
        new = f"{BLOCK}\n#+CAPTION: c\n#+RESULTS[abc1]:\n: r0\n"
        assert rerun(text, ": r", digest="abc1") == new

    def test_keywords_that_stand_above_nothing_are_no_error(self) -> None:
        text = f"{BLOCK}\n#+RESULTS[abc0]:\n#+CAPTION: c\n\ntext\n"
        new = f"{BLOCK}\n#+RESULTS[abc1]:\n: r0\n\ntext\n"
        assert rerun(text, ": r", digest="abc1") == new
