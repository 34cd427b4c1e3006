"""The custom mutator and crossover for Atheris, for inputs that are Luau sources.

    atheris.Setup(sys.argv, test, custom_mutator=custom_mutator, custom_crossover=custom_crossover)

Mutants are sources that Luau compiles, unless no program fits into the maximum size: then the input
is returned. libFuzzer, which Atheris runs, starts with inputs of only a few bytes, so pass
`-len_control=0 -max_len=20000`. For an example, see `examples/fuzz_tree_sitter.py`.

`SCRIPTSCHEMA_LUAU` is the target's version of Luau, such as `0.711`, or `today`. If it is not set,
generated code uses no extensions, but extensions in sources are preserved. `SCRIPTSCHEMA_WITHOUT`
lists features that mutants must not use, such as `buffer,math.floor` (see `source_mutation`).
"""

from __future__ import annotations

from typing import Final

from scriptschema.choices import RandomChoices
from scriptschema.fuzzing.source_mutation import SourceMutator, features_left_out, version_asked

__all__ = ["custom_crossover", "custom_mutator"]

_EMPTY: Final = b"\n"
"""The smallest program that libFuzzer accepts. It refuses empty inputs."""

_mutator = SourceMutator(luau=version_asked(), without=features_left_out())
_crossover = SourceMutator(luau=version_asked(), without=features_left_out())
for _operator in _crossover.mutator.weights:
    _crossover.mutator.weights[_operator] = _operator == "cross"


def custom_mutator(data: bytes, max_size: int, seed: int) -> bytes:
    """Return a mutant of a source. The same seed gives the same mutant."""
    mutant = _mutator.mutate(bytes(data), RandomChoices(seed), max_size=max_size)
    return (mutant or _EMPTY)[:max_size]


def custom_crossover(data1: bytes, data2: bytes, max_out_size: int, seed: int) -> bytes:
    """Return the first source with one or more parts replaced by parts of the second.

    The same seed gives the same result.
    """
    mutant = _crossover.mutate(
        bytes(data1), RandomChoices(seed), donor=bytes(data2), max_size=max_out_size
    )
    return (mutant or _EMPTY)[:max_out_size]
