"""Any untrusted JSON or YAML is read as a value, or is an error."""

from __future__ import annotations

import pytest

from orgrest import structured


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000, "- " * 100_000 + "x"],
)
@pytest.mark.parametrize("name", ["a.json", "a.har", "a.yaml"])
def test_100_000_levels_are_an_error_and_no_crash(text: str, name: str) -> None:
    with pytest.raises(structured.StructureError, match=r"nested|YAML"):
        structured.load(text, name)


def test_values_up_to_the_limit_are_read() -> None:
    text = "[" * (structured.DEEPEST - 1) + "]" * (structured.DEEPEST - 1)
    assert structured.load(text, "a.yaml") == structured.yaml_value(text, "a.yaml")


@pytest.mark.parametrize(
    ("shape", "fits", "others"),
    [
        (int, [0, -1], [True, 1.0, "1", None]),
        ((str, None), ["", None], [0, [], {}]),
        ([int, ...], [[], [1, 2]], [[1, "2"], {}, None]),
        ([str, int], [["a", 1]], [["a"], ["a", 1, 1], [1, "a"], "a1"]),
        ({"a": int, "b?": str}, [{"a": 1}, {"a": 1, "b": ""}, {"a": 1, "c": 0}], [{}, {"b": ""}]),
        ({"a": ("x", "y")}, [{"a": "x"}], [{"a": "z"}, {"a": ["x"]}, [], None]),
    ],
)
def test_a_value_has_a_shape_or_has_not(shape: object, fits: list, others: list) -> None:
    assert all(structured.matches(value, shape) for value in fits)
    assert not any(structured.matches(value, shape) for value in others)


def test_a_value_that_is_nested_too_deeply_has_no_shape() -> None:
    shape: dict[str, object] = {}
    shape["a?"] = shape
    value: dict[str, object] = {}
    for _ in range(100_000):
        value = {"a": value}
    assert not structured.matches(value, shape)
