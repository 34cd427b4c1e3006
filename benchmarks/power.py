"""Power: how much generated programs do in the real Luau, for an old and a new kind of program.

The old kind are repaired random trees (`generate --repaired`). The new kind are programs that
respect kinds and scope (`generate --programs`). Executed statements are counted by a call before
each statement; library members and metamethods are counted by functions that replace them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from benchmarks.generation import drawn, per_node
from benchmarks.processes import lacks_luau
from benchmarks.programs import texts
from benchmarks.timing import Case, clock, count, growth, in_turns, noise, table, verdict
from scriptschema import strategies
from scriptschema.base import Message, walk
from scriptschema.generation.programs import nodes, program
from scriptschema.generation.trees import generate
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.render import render_module_set
from scriptschema.luau.repair import repair
from scriptschema.messages import ModuleSet, Stat, StatBlock

MEMBERS = [f"{library}.{name}" for library, names in DEFAULT.libraries.items() for name in names]

KINDS: dict[str, Callable[[int], ModuleSet]] = {
    "old": lambda seed: repair(generate(seed=seed, size=200)),
    "new": lambda seed: program(seed=seed),
    "new, wrong=0": lambda seed: program(seed=seed, wrong=0),
}
"""For each kind, a function that makes a program from a seed."""


@attrs.define
class Figures:
    """The results of the programs of one kind."""

    compiled: int = 0
    ended: int = 0
    late: int = 0
    statements: int = 0
    executed: int = 0
    errors: Counter[str] = attrs.field(factory=Counter)
    returned: set[str] = attrs.field(factory=set)
    metamethods: set[str] = attrs.field(factory=set)
    outputs: set[str] = attrs.field(factory=set)


def main(smoke: bool) -> None:
    """Print all figures."""
    speed(5 if smoke else 200, rounds=2 if smoke else 7)
    sizes = (100, 1000) if smoke else (100, 1000, 10_000, 100_000)
    growth("growth", ("",), map(case, sizes), 1 if smoke else 5)
    hypothesis_speed(5 if smoke else 300)
    real(5 if smoke else 1000)


def speed(programs: int, rounds: int) -> None:
    """Print the time per node to generate programs from seeds."""
    tasks = {
        name: lambda make=make: [make(seed) for seed in range(programs)]
        for name, make in KINDS.items()
    }
    program(seed=0)  # which compiles the templates
    times = in_turns(tasks, rounds, per_node)
    rows = [(name, f"{took.best * 1e6:.2f}") for name, took in times.items()]
    table(("", "us a node"), rows, f"{programs} programs of 200 nodes from seeds")
    verdict("new beside old, a node", times["new"].best / times["old"].best, 1.0, least=False)
    noise(times)


def case(size: int) -> Case:
    """Return the task for a program of a size."""
    made = count(program(seed=size, size=size))
    return (f"{made:,} nodes",), made, {"program": lambda: program(seed=size, size=size)}


def hypothesis_speed(examples: int) -> None:
    """Print how many programs per second Hypothesis draws."""
    made: list[Message] = []
    seconds = clock(lambda: made.extend(drawn(strategies.programs(), examples)))
    table(
        ("from Hypothesis", "examples a second", "mean size"),
        [("programs()", f"{len(made) / seconds:.0f}", f"{count(*made) / len(made):.0f}")],
    )


def real(programs: int) -> None:
    """Print what the real Luau reports about programs."""
    if lacks_luau("what the real Luau says of programs"):
        return
    from real_luau import RealLuau

    seen = {}
    with RealLuau() as luau:
        for name, make in KINDS.items():
            seen[name] = figures(luau, [make(seed) for seed in range(programs)])
    rows = [(name, *row(figure, programs)) for name, figure in seen.items()]
    table(
        (
            f"{programs:,} programs of 200 nodes", "compile", "end", "too late", "executed",
            "members", "metamethods", "outputs",
        ),
        rows,
    )  # fmt: skip
    for name, figure in seen.items():
        failures = [(text, str(number)) for text, number in figure.errors.most_common(8)]
        table((f"first errors, {name}", "programs"), failures)
    new, right = seen["new"], seen["new, wrong=0"]
    verdict("compile", new.compiled / programs, 1.0, least=True)
    verdict("run to the end", new.ended / programs, 0.9, least=True)
    verdict("run to the end with wrong=0", right.ended / programs, 0.99, least=True)
    verdict("too late", new.late / programs, 0.003, least=False)
    verdict("statements executed", new.executed / new.statements, 0.6, least=True)
    verdict("members that return", len(new.returned), 145, least=True)
    print("members that none returns from:", *sorted({*MEMBERS} - new.returned), "\n")


def row(figure: Figures, programs: int) -> Iterator[str]:
    """Return the line of the table for a kind of program."""
    for part in (figure.compiled, figure.ended, figure.late):
        yield f"{part / programs:.1%}"
    yield f"{figure.executed / max(1, figure.statements):.0%}"
    yield f"{len(figure.returned)} of {len(MEMBERS)}"
    yield f"{len(figure.metamethods)}"
    yield f"{len(figure.outputs)}"


def figures(luau: Any, trees: list[ModuleSet]) -> Figures:
    """Return the results of running programs, with and without counters."""
    result = Figures()
    for tree in trees:
        sources = render_module_set(tree)
        result.compiled += all(luau.compile(text) is None for text in texts(tree))
        answer = luau.run(sources.program, sources.module)
        result.ended += answer.error is None
        result.late += answer.timeout
        result.outputs.add(answer.output)
        if answer.error is not None:
            result.errors[re.sub(r"\d+", "N", answer.error)] += 1
        count_in(luau, tree, result)
    return result


COUNTING = """
local write, kind, put, next_of, set_meta = print, type, rawset, next, setmetatable
local executed, returned, called, total = {}, {}, {}, 0
local function counted(seen, name, f)
  local function back(...)
    seen[name] = true
    return ...
  end
  return function(...)
    return back(f(...))
  end
end
local env = getfenv()
for library, members in next_of, {LIBRARIES} do
  members = table.clone(members)
  env[library] = members
  for name, member in next_of, members do
    if kind(member) == "function" then
      members[name] = counted(returned, library .. "." .. name, member)
    end
  end
end
local known = set_meta({}, {__mode = "k"})
function setmetatable(t, m)
  if kind(m) == "table" and not known[m] then
    for event, f in next_of, m do
      if kind(f) == "function" and not known[f] then
        local new = counted(called, event, f)
        known[new] = true
        m[event] = new
      end
    end
  end
  return set_meta(t, m)
end
function tick(n)
  if not executed[n] then
    executed[n] = true
    total += 1
  end
end
local loaded, value = false, nil
function require()
  if not loaded then
    loaded = true
    value = (function(...)
      MODULE
    end)()
  end
  return value
end
pcall(function(...)
  PROGRAM
end)
write("@executed", total)
for name in next_of, returned do write("@member", name) end
for name in next_of, called do write("@metamethod", name) end
"""
"""A program that contains another program and its module, and counts what they do."""

TICK = attrs.evolve(DEFAULT, customs=(*DEFAULT.customs, "tick"))


def count_in(luau: Any, tree: ModuleSet, figures: Figures) -> None:
    """Run a program with counters for statements, library members and metamethods."""
    source, statements = instrumented(tree)
    figures.statements += statements
    for line in luau.run(source, milliseconds=5000).output.split("\n"):
        word, _, rest = line.partition("\t")
        if word == "@executed":
            figures.executed += int(rest)
        elif word == "@member":
            figures.returned.add(rest)
            figures.returned |= {field for field in FIELDS if field in source}
        elif word == "@metamethod" and rest.startswith("__"):
            figures.metamethods.add(rest)


FIELDS = ("math.huge", "math.pi", "utf8.charpattern", "vector.one", "vector.zero")
"""Library members that are not functions: reading them counts as calling them."""


def instrumented(tree: ModuleSet) -> tuple[str, int]:
    """Return the source of a program with counters, and its number of statements."""
    counting = repair(tree)
    statements = 0
    for node, _ in [*walk(counting)]:
        if not isinstance(node, StatBlock):
            continue
        body = []
        for statement in node.body:
            if statement.which != "type_alias":
                body.append(tick(statements))
                statements += 1
            body.append(statement)
        node.body = body
    sources = render_module_set(counting, names=TICK, types=False)
    libraries = ", ".join(f"{name} = {name}" for name in DEFAULT.libraries)
    source = COUNTING.replace("{LIBRARIES}", f"{{{libraries}}}")
    source = source.replace("MODULE", sources.module or "return nil", 1)
    return source.replace("PROGRAM", sources.program, 1), statements


def tick(number: int) -> Stat:
    """Return the statement that counts: `tick(number)`."""
    function = nodes.prefix("global_", nodes.own_global(len(TICK.customs) - 1))
    return nodes.call_statement(nodes.call(function, [nodes.number(number)]))
