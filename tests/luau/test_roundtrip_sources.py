"""Sources and their round trips give the same results in the real Luau.

`parse` also rejects exactly the sources that are not in the grammar of the real Luau.
SCRIPTSCHEMA_MUTANTS is the number of damaged sources to try (2,000 by default).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_luau import RealLuau

from scriptschema.luau.lexer import tokenize
from scriptschema.luau.parse import ParseError, parse
from scriptschema.luau.render import render_module_set

EXAMPLES = Path(__file__).parents[2] / "examples" / "luau"
SOURCES = {
    path.stem: path.read_bytes().decode()
    for path in sorted(EXAMPLES.glob("*.luau"))
    if path.stem != "module0"
}
MODULE = (EXAMPLES / "module0.luau").read_text()


def without_shebang(source: str) -> str:
    """Return the source that the `luau` program passes to Luau."""
    return "--" + source if source.startswith("#!") else source


@pytest.mark.parametrize("types", [True, False])
@pytest.mark.parametrize("name", SOURCES)
def test_roundtrip_of_an_example_prints_the_same(luau: RealLuau, name: str, types: bool) -> None:
    before = luau.run(without_shebang(SOURCES[name]), module=MODULE, milliseconds=10_000)
    assert before.error is None
    assert before.output
    result = parse(SOURCES[name], module=MODULE)
    sources = render_module_set(result.tree, names=result.names, types=types)
    after = luau.run(sources.program, module=sources.module, milliseconds=10_000)
    assert (after.error, after.output) == (None, before.output)


# Each damaged source is valid or not; what the real Luau refuses for other reasons than its grammar
# is left to `repair.check`.
NOT_GRAMMAR = (
    "inside a loop",
    "outside of a vararg function",
    "Invalid attribute",
    "Duplicate attribute",
    "attribute @",
    "@deprecated",
    "Only literals can be passed as arguments for attributes",
    "Missing initializer in const declaration",  # also said of one value too many
    "Assigned expression must be a variable or a field",  # also said of constants
    "Duplicate type",
    "Duplicate table",
    "Out of",
    "Exceeded",
)

MORE = """
local a: | A | (B, ...C) -> ...D | nil = b :: typeof(c)
local a: A<(B), (C, D), ...E, F...> = nil
local a: { read b: C, write [D]: E, ["f"]: G }? & {}
type A<T = U, V... = (W, ...X)> = <Y, Z...>(Y, Z...) -> (T, V...)
function a.b:c<T, U...>(d: T, ...: U...): (T, U...) return ... end
@[native, deprecated { use = "a" }] local function f() end
a.b[c]:d"e"{ f }(g).h, i //= j, 1
x = `a{b}c{`{d}`}` .. if e then f elseif g then h else -i ^ -2
f<<A, B...>>(1) t:m<<C>>()
const a: B, c = 1, 2
export type continue = type
continue += type(export)
repeat local continue = 1 continue until const
for a: B, c in d, e do if f then continue end break end
"""


def fragments() -> list[str]:
    """Return runs of lines from the examples, and single lines with rarer syntax."""
    found = [line for line in MORE.splitlines() if line]
    for source in SOURCES.values():
        lines = without_shebang(source).split("\n")
        for start in range(len(lines)):
            found += ["\n".join(lines[start : start + count]) for count in (1, 2, 4)]
    return found


def mutants(seed: int) -> Iterator[str]:
    """Yield sources with some tokens removed, duplicated, swapped or taken from elsewhere."""
    rng = random.Random(seed)
    pieces = [list(filter(None, tokenize(source).texts)) for source in fragments()]
    pieces = [tokens for tokens in pieces if len(tokens) > 1]
    vocabulary = sorted({token for tokens in pieces for token in tokens})
    while True:
        tokens = list(rng.choice(pieces))
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            one, two = rng.randrange(len(tokens)), rng.randrange(len(tokens))
            match rng.randrange(5):
                case 0:
                    tokens[one : one + 1] = []
                case 1:
                    tokens.insert(one, rng.choice(vocabulary))
                case 2:
                    tokens[one] = rng.choice(vocabulary)
                case 3:
                    tokens[one], tokens[two] = tokens[two], tokens[one]
                case 4:
                    tokens.insert(one, tokens[two])
            tokens = tokens or ["x"]
        source = "".join(token + rng.choice(("", " ", " ", " ", " ", "\n")) for token in tokens)
        if source.strip():
            yield source


def test_roundtrip_reads_just_what_luau_reads(luau: RealLuau) -> None:
    count = int(os.environ.get("SCRIPTSCHEMA_MUTANTS", "2000"))
    sources = [source for source, _ in zip(mutants(count), range(count), strict=False)]
    accepted = 0
    different = []
    for source, error in zip(sources, luau.compile_all(sources), strict=True):
        try:
            parse(source)
            ours = None
        except ParseError as problem:
            ours = str(problem)
        accepted += ours is None
        if (ours is None) != (error is None) and not (
            ours is None and any(reason in error for reason in NOT_GRAMMAR)
        ):
            different.append((source, error, ours))
    assert different == []
    assert 0.1 < accepted / count < 0.9
