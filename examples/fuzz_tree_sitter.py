"""Fuzzes tree-sitter's grammar of Luau by programs, with Atheris.

    pip install './scriptschema[atheris]' tree-sitter tree-sitter-luau
    python examples/fuzz_tree_sitter.py -len_control=0 -max_len=20000 corpus/

tree-sitter is C, which Atheris does not see; what guides it is the coverage of scriptschema's own
parser, that is written in Python, for the same source. A crash or a hang of tree-sitter ends the
run, and so does a tree that is not one: what a node holds has to lie in it, in order.
"""

import contextlib
import sys

import atheris
import tree_sitter
import tree_sitter_luau

with atheris.instrument_imports(include=["scriptschema.luau.parsing"]):
    from scriptschema.fuzzing.atheris import custom_crossover, custom_mutator
    from scriptschema.luau.parse import ParseError, parse

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_luau.language()))


def test_one_input(source: bytes) -> None:
    """Parse a source with both parsers, and look at tree-sitter's tree."""
    with contextlib.suppress(ParseError):
        parse(source)
    nodes = [PARSER.parse(source).root_node]
    while nodes:
        node = nodes.pop()
        position = node.start_byte
        for child in node.children:
            if not position <= child.start_byte <= child.end_byte <= node.end_byte:
                raise RuntimeError(f"{child} is not in its place in {node}")
            position = child.end_byte
            nodes.append(child)


if __name__ == "__main__":
    atheris.Setup(
        sys.argv, test_one_input, custom_mutator=custom_mutator, custom_crossover=custom_crossover
    )
    atheris.Fuzz()
