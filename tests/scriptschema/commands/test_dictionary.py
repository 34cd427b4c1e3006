"""The command `dictionary`."""

import re
from pathlib import Path

from command import ok_here

from scriptschema.luau.lexer import tokenize
from scriptschema.luau.names import DEFAULT, KEYWORDS


def words(*options: str) -> list[str]:
    text = ok_here("dictionary", *options).decode()
    assert all(re.fullmatch(r'"[ -~]+"|# .*', line) for line in text.splitlines())
    return re.findall(r'^"(.*)"$', text, re.MULTILINE)


def test_every_word_is_luau_and_none_is_there_twice() -> None:
    found = words()
    assert len(found) == len({*found})
    for word in found:
        assert tokenize(word).problem is None
    assert {*KEYWORDS, *DEFAULT.globals, "//", "..=", "math.abs", "__index", "vector"} <= {*found}


def test_newer_words_are_there_for_who_asks_for_them() -> None:
    found, older, default = words("--luau", "today"), words("--luau", "0.711"), words()
    assert len(found) == len({*found})
    assert all(tokenize(word).problem is None for word in found)
    assert {"const", "@native", "//=", "integer.add", "math.tau", "<<"} <= {*found}
    assert {"const", "math.tau"} <= {*older}
    assert not {"integer.add", "integer", "1i"} & {*older}
    assert not {"const", "@native", "math.tau"} & {*default}


def test_own_names_take_the_place_of_luaus(tmp_path: Path) -> None:
    (tmp_path / "names.toml").write_text('globals = ["spawn"]\n')
    target = tmp_path / "own.dict"
    ok_here("dictionary", "--names", tmp_path / "names.toml", "-o", target)
    assert '"spawn"' in target.read_text()
    assert '"print"' not in target.read_text()
