"""The command `dictionary`."""

import re
from pathlib import Path

from command import ok_here

from scriptschema.luau.lexer import tokenize
from scriptschema.luau.names import DEFAULT, KEYWORDS


def words() -> list[str]:
    text = ok_here("dictionary").decode()
    assert all(re.fullmatch(r'"[ -~]+"|# .*', line) for line in text.splitlines())
    return re.findall(r'^"(.*)"$', text, re.MULTILINE)


def test_every_word_is_luau_and_none_is_there_twice() -> None:
    found = words()
    assert len(found) == len({*found})
    for word in found:
        assert tokenize(word).problem is None
    assert {*KEYWORDS, *DEFAULT.globals, "//", "..=", "math.abs", "__index", "vector"} <= {*found}


def test_own_names_take_the_place_of_luaus(tmp_path: Path) -> None:
    (tmp_path / "names.toml").write_text('globals = ["spawn"]\n')
    target = tmp_path / "own.dict"
    ok_here("dictionary", "--names", tmp_path / "names.toml", "-o", target)
    assert '"spawn"' in target.read_text()
    assert '"print"' not in target.read_text()
