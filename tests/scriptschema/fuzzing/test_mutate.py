"""Mutants are valid, differ in few places, keep their size, and depend only on the choices."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scriptschema import strategies, walk, wire
from scriptschema.choices import BytesChoices, RandomChoices
from scriptschema.fuzzing.editing import insert
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.mutate import Mutator, mutate
from scriptschema.fuzzing.operators import OPERATORS
from scriptschema.fuzzing.operators.mutation import Mutation
from scriptschema.generation.programs import program
from scriptschema.generation.trees import generate
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.parse import parse
from scriptschema.luau.repair import check, repair
from scriptschema.messages import ModuleSet, Stat, StatBlock

SEEDS = st.integers(0, 2**32)


def parts(tree: ModuleSet) -> set[int]:
    return {id(node) for node, _ in walk(tree)}


@settings(max_examples=40)
@given(strategies.programs(), strategies.programs(), SEEDS)
def test_a_mutant_of_a_program_is_a_program_and_its_parent_stays_as_it_was(
    tree: ModuleSet, donor: ModuleSet, seed: int
) -> None:
    before, donor_before = wire.encode(tree), wire.encode(donor)
    mutant = tree
    for number in range(5):
        mutant = mutate(mutant, RandomChoices(seed + number), donors=[donor])
        assert check(mutant) == []
    assert wire.encode(tree) == before
    assert wire.encode(donor) == donor_before
    assert not parts(mutant) & (parts(tree) | parts(donor))


@settings(max_examples=40)
@given(strategies.module_sets() | strategies.programs(), SEEDS, st.booleans())
def test_in_a_chain_each_parent_stays_as_it_was_and_the_mutants_index_is_that_of_its_tree(
    tree: ModuleSet, seed: int, programs: bool
) -> None:
    mutator, choices = Mutator(programs=programs), RandomChoices(seed)
    index = Index(repair(tree) if programs else tree)
    for _ in range(6):
        before = wire.encode(index.tree)
        mutant = mutator.mutate(index, choices)
        assert wire.encode(index.tree) == before
        index, fresh = mutant.index(), Index(mutant.tree)
        assert [id(node) for node in index.nodes] == [id(node) for node in fresh.nodes]
        assert index.parents == fresh.parents
        assert [*map(index.step, range(len(index)))] == [*map(fresh.step, range(len(fresh)))]
        assert index.by_class == fresh.by_class


class ComparingMutator(Mutator):
    """Compares each repaired mutant with the result of repairing the whole mutant."""

    def _repaired(self, mutation: Mutation) -> tuple[ModuleSet, int | None] | None:
        tree = mutation.index.tree
        before = wire.encode(tree, luau="today")
        whole = repair(mutation.result)
        found = super()._repaired(mutation)
        assert wire.encode(tree, luau="today") == before
        assert (tree if found is None else found[0]) == whole
        return found


@pytest.mark.slow
@pytest.mark.parametrize("luau", [None, "today"])
@pytest.mark.parametrize("programs", [True, False])
def test_a_mutant_repaired_along_its_changed_path_is_the_one_repaired_as_a_whole(
    long_mode: bool, programs: bool, luau: str | None
) -> None:
    def parent(seed: int) -> ModuleSet:
        size = 10 + seed % 300
        if programs:
            return program(seed=seed, size=size, luau=luau)
        return repair(generate(seed=seed, size=size, luau=luau))

    mutator = ComparingMutator(
        donors=[parent(seed) for seed in range(10)], size=200, programs=True, luau=luau
    )
    choices = RandomChoices(1)
    for seed in range(2500 if long_mode else 75):
        index = Index(parent(seed))
        for _ in range(10):
            index = mutator.mutate(index, choices).index()


@settings(max_examples=40)
@given(strategies.module_sets(), SEEDS)
def test_with_programs_a_mutant_of_any_tree_is_a_program(tree: ModuleSet, seed: int) -> None:
    assert check(mutate(tree, RandomChoices(seed), programs=True)) == []


@settings(max_examples=40)
@given(strategies.module_sets(), SEEDS)
def test_a_mutant_of_any_tree_is_valid_by_the_schema(tree: ModuleSet, seed: int) -> None:
    mutant = mutate(tree, RandomChoices(seed), programs=False)
    assert wire.decode(ModuleSet, wire.encode(mutant)) == mutant


@settings(max_examples=40)
@given(SEEDS, st.binary(max_size=200))
def test_the_same_choices_give_the_same_mutant(seed: int, data: bytes) -> None:
    tree = program(seed=seed, size=100)
    assert mutate(tree, RandomChoices(seed)) == mutate(tree, RandomChoices(seed))
    mutant = mutate(tree, BytesChoices(data))
    assert mutant == mutate(tree, BytesChoices(data))
    assert mutant != tree  # also if the choices run out
    assert check(mutant) == []


def test_a_seed_gives_the_same_mutants_in_every_process() -> None:
    found = set()
    for number in (0, 7, 60):
        # Other hashes of strings, and other addresses, which are the hashes of classes.
        code = f"shifted = [type('Shift', (), {{}}) for _ in range({number})]\n{_MUTANTS}"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(number)},
            capture_output=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


_MUTANTS = """
import hashlib
from scriptschema import wire
from scriptschema.fuzzing.mutate import Mutator
from scriptschema.choices import RandomChoices
from scriptschema.generation.trees import generate
donors = [generate(seed=seed, size=100) for seed in range(3)]
tree, choices, digest = donors[0], RandomChoices(1), hashlib.sha256()
for programs in (False, True):
    mutator = Mutator(donors=donors, size=100, programs=programs)
    for _ in range(30):
        tree = mutator.mutate(tree, choices).tree
        digest.update(wire.encode(tree))
print(digest.hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize("programs", [True, False])
def test_every_operator_works_and_is_counted(programs: bool) -> None:
    trees = [program(seed=seed, size=150) for seed in range(20)]
    once = parse("for i = 1, 1 do print(2) end coroutine.wrap(function() print(1) end)()").tree
    for position in range(20):  # so that there is something to unwrap
        block = Stat(block=once.program)
        trees[position] = insert(trees[position], "program.body[0]", block)
    mutator = Mutator(donors=trees[:5], programs=programs)
    choices = RandomChoices(1)
    for number in range(4000):
        tree = trees[number % 20]
        mutant = mutator.mutate(tree, choices)
        assert mutant.operator
        assert mutant.tree != tree
        if mutant.operator == "wrap":
            mutator.useful(mutant)
    for operator in OPERATORS:
        row = mutator.statistics[operator.name]
        assert row.applied >= row.changed > 0, operator.name
        assert (row.useful == row.changed) == (operator.name == "wrap"), operator.name
    assert sum(row.changed for row in mutator.statistics.values()) == 4000
    lines = mutator.table().splitlines()
    assert lines[0].split() == ["operator", "weight", "applied", "changed", "useful"]
    assert [line.split()[0] for line in lines[1:]] == [operator.name for operator in OPERATORS]


def test_weights_may_be_changed_while_running() -> None:
    tree = program(seed=3, size=200)
    mutator = Mutator()
    mutator.mutate(tree, RandomChoices(1))
    mutator.weights = dict.fromkeys(mutator.weights, 0.0) | {"number": 1.0}
    choices = RandomChoices(2)
    assert {mutator.mutate(tree, choices).operator for _ in range(50)} <= {"number", ""}
    mutator.weights["number"] = 0
    with pytest.raises(ValueError, match="at least one operator must have a weight above 0"):
        mutator.mutate(tree, choices)
    mutator.weights["insert"] = -1
    with pytest.raises(ValueError, match="the weight of insert must be 0 or more, found -1"):
        mutator.mutate(tree, choices)


def test_a_misspelt_operator_is_an_error_and_not_ignored() -> None:
    mutator, tree = Mutator(), program(seed=3, size=50)
    mutator.weights["numbr"] = 0
    with pytest.raises(ValueError, match="numbr is not an operator; the operators are replace, "):
        mutator.mutate(tree, RandomChoices(1))
    del mutator.weights["numbr"], mutator.weights["number"]
    with pytest.raises(ValueError, match="number has no weight"):
        mutator.mutate(tree, RandomChoices(1))


@pytest.mark.parametrize("programs", [True, False])
@pytest.mark.parametrize("size", [30, 200])
def test_over_a_chain_the_size_stays_near_the_first_trees(
    size: int, programs: bool, long_mode: bool
) -> None:
    tree = program(seed=5, size=size) if programs else generate(seed=5, size=size)
    began = len(Index(tree))
    mutator = Mutator(donors=[program(seed=6, size=size)], programs=programs)
    choices = RandomChoices(1)
    sizes = []
    for _ in range(10_000 if long_mode else 1_000):
        tree = mutator.mutate(tree, choices).tree
        index = Index(tree)
        sizes.append(len(index))
        assert index.heights[0] < 100
    assert 0.7 * began <= sum(sizes) / len(sizes) <= 1.3 * began
    wire.encode(tree)


def test_an_index_of_the_parent_and_of_donors_gives_the_same_mutants_as_the_trees() -> None:
    trees = [program(seed=seed, size=100) for seed in range(4)]
    index = Index(trees[0])
    one = Mutator(donors=trees[1:])
    two = Mutator(donors=[Index(tree) for tree in trees[1:]])
    for seed in range(50):
        assert one.mutate(trees[0], RandomChoices(seed)) == two.mutate(index, RandomChoices(seed))


@given(SEEDS, st.booleans())
def test_no_mutant_is_deeper_than_its_parent_if_that_is_deeper_than_allowed(
    seed: int, programs: bool
) -> None:
    def depth(tree: ModuleSet) -> int:
        index = Index(tree)
        return max(map(index.depth, range(len(index))))

    tree = parse("local t = {1, {2, {3}}} print(t[1] * 2) if t then print(#t) end").tree
    assert depth(mutate(tree, RandomChoices(seed), max_depth=3, programs=programs)) <= depth(tree)


@settings(max_examples=40)
@given(SEEDS)
def test_a_mutant_of_the_deepest_tree_can_be_encoded(seed: int) -> None:
    blocks = 47
    source = "do " * blocks + 'local a: string = "x" a = "y"' + " end" * blocks
    tree = parse(source).tree
    index = Index(tree)
    assert max(map(index.depth, range(len(index)))) == 100
    wire.encode(mutate(tree, RandomChoices(seed)))


def test_a_part_of_a_donor_uses_no_variable_that_the_donor_declares_under_another_index() -> None:
    donor = parse("local v3 = 1 if v3 then print(1) end").tree
    declaration = donor.program.body[0].local
    assert declaration is not None
    [variable] = declaration.vars
    variable.name += 3 * len(DEFAULT.locals)  # another index of the same name
    tree = parse("print(2) print(3)").tree
    for seed in range(200):
        assert check(mutate(tree, RandomChoices(seed), donors=[donor])) == []


def test_the_smallest_trees_have_mutants() -> None:
    tree = ModuleSet(program=StatBlock())
    for seed in range(20):
        assert check(mutate(tree, RandomChoices(seed))) == []
    assert mutate(StatBlock(), BytesChoices(b"")) != StatBlock()


TREE = program(seed=2, size=60)


class Mutation(RuleBasedStateMachine):
    """A chain of mutants, as a fuzzer makes one."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = TREE
        self.mutator = Mutator(donors=[TREE])

    @rule(data=st.data())
    def by_hypothesis(self, data: st.DataObject) -> None:
        before = wire.encode(self.tree)
        mutant = data.draw(strategies.mutated(self.tree, donors=[TREE], size=60))
        assert wire.encode(self.tree) == before
        self.tree = mutant

    @rule(seed=SEEDS)
    def by_a_mutator(self, seed: int) -> None:
        self.tree = self.mutator.mutate(self.tree, RandomChoices(seed)).tree

    @invariant()
    def is_a_program(self) -> None:
        assert check(self.tree) == []
        assert wire.decode(ModuleSet, wire.encode(self.tree)) == self.tree


Mutation.TestCase.settings = settings(max_examples=20, stateful_step_count=15)
TestChainsOfMutants = Mutation.TestCase


def test_a_type_that_is_put_into_a_function_does_not_use_varargs_that_are_not_there() -> None:
    annotation = (
        "{a: {b: {c: number, d: (number, string) -> boolean}}, e: {[number]: nil | string}}"
    )
    source = f"local function v0()\n\tlocal v1: {annotation} = 1\n\treturn v1\nend\nreturn v0()"
    tree = parse(source).tree
    mutator = Mutator(size=200, programs=True)
    mutator.weights = {name: float(name == "type") for name in mutator.weights}
    choices = RandomChoices(1)
    for _ in range(2000):
        assert check(mutator.mutate(tree, choices).tree) == []


def test_mutants_of_programs_of_today_are_valid_and_any_mutant_keeps_to_the_schema() -> None:
    mutator = Mutator(programs=True, luau="today")
    for seed in range(40):
        tree = program(seed=seed, size=150, luau="today")
        for number in range(8):
            mutant = mutator.mutate(tree, RandomChoices(8 * seed + number)).tree
            assert check(mutant) == [], (seed, number)
            blind = mutate(tree, RandomChoices(8 * seed + number), programs=False, luau="today")
            data = wire.encode(blind, luau="today")
            assert wire.decode(ModuleSet, data, luau="today") == blind


@pytest.mark.parametrize(
    "source",
    [
        "return function<A...>(...: A...) end",
        "local v0 = function(v1, v2: number) return v1 end",
        "local v0, v1: number = 1, 2",
        "local v0 = 1 return function(v1: typeof(v0), v2: number) end",
        "print 'x'",
        "local v0 = {} function v0:f(v1: typeof(1)) return #self end",
    ],
)
def test_mutants_of_rarely_used_syntax_are_valid(source: str) -> None:
    tree = parse(source, luau="today").tree
    mutator = Mutator(donors=[tree], programs=True, luau="today")
    assert check(tree) == []
    for seed in range(1000):
        mutant = mutator.mutate(tree, RandomChoices(seed)).tree
        assert check(mutant) == [], seed
