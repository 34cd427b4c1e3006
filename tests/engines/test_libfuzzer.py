"""libFuzzer on sources, as docs/engines.md describes.

It gets a dictionary and generated seeds, and its corpus is imported.
"""

import subprocess
from pathlib import Path
from typing import Any

from command import run_here


def test_a_dictionary_and_a_corpus_go_in_and_a_corpus_of_trees_comes_out(
    build: Any, tmp_path: Path
) -> None:
    fuzzer = build("libfuzzer", "clang", "-fsanitize=fuzzer", "-DLIBFUZZER")
    seeds, corpus, trees = tmp_path / "seeds", tmp_path / "corpus", tmp_path / "trees"
    dictionary = tmp_path / "luau.dict"
    corpus.mkdir()
    run_here("generate", "--programs", "-n", 20, "--size", 30, "--format", "luau", "-o", seeds)
    run_here("dictionary", "-o", dictionary)
    done = subprocess.run(
        [fuzzer, f"-dict={dictionary}", "-runs=20000", "-seed=1", corpus, seeds],
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    words = dictionary.read_text().count('"\n')
    assert f"Dictionary: {words} entries" in done.stderr
    assert len([*corpus.iterdir()]) > 50
    run_here("corpus", "import", corpus, "-o", trees)  # what is not Luau is reported
    assert len([*trees.glob("*.pb")]) > 20
