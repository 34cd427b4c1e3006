"""Fuzzes tree-sitter's grammar for Luau with Atheris and scriptschema's mutator.

    pip install './scriptschema[atheris]' tree-sitter tree-sitter-luau
    python examples/fuzz_tree_sitter.py -len_control=0 -max_len=20000 corpus/

Atheris cannot measure the coverage of tree-sitter, which is written in C. Instead, it is guided by
the coverage of scriptschema's parser, which is written in Python and reads the same source. The run
ends if tree-sitter crashes or hangs, or if its tree is invalid: the children of a node must lie
within the node, in order.
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
    """Parse a source with both parsers, and check tree-sitter's tree."""
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
