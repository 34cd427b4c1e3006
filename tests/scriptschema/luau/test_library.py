"""Signatures cover the table of names, and claim only what is known."""

from __future__ import annotations

from scriptschema.luau.library import KINDS, ROLES, SIGNATURES, Parameter
from scriptschema.luau.members import NEWER_MEMBERS, span_of
from scriptschema.luau.names import DEFAULT
from scriptschema.versions import Span, Version


def test_every_member_and_global_of_the_table_of_names_has_a_signature() -> None:
    known = {(signature.library, signature.name) for signature in SIGNATURES}
    members = {(library, name) for library, names in DEFAULT.libraries.items() for name in names}
    functions = {("", name) for name in DEFAULT.globals if name not in DEFAULT.libraries}
    newer = {(library, name) for library, name in NEWER_MEMBERS if library}
    assert known == members | functions | newer
    assert not newer & members


def test_a_member_is_as_old_as_the_release_that_brought_it() -> None:
    since = {
        str(signature): str(signature.span.since) for signature in SIGNATURES if signature.span
    }
    assert since["vector.lerp"] == "0.688"
    assert since["math.isnan"] == "0.701"
    assert since["math.tau"] == "0.711"
    assert since["buffer.writeinteger"] == since["integer.extract"] == "0.715"
    assert "math.lerp" not in since
    assert len({name for name in since if name.startswith("integer.")}) == 41
    assert span_of("f() -> number ! varies 0.701..0.711") == Span(Version(701), Version(711))


def kinds(parameter: Parameter) -> list[str]:
    if parameter.function is not None:
        inner = [kind for part in parameter.function.parameters or () for kind in kinds(part)]
        return [*inner, *parameter.function.results]
    kind = parameter.kind
    return [] if parameter.bounds or kind == "true" or kind[0] == '"' or "." in kind else [kind]


def test_every_kind_is_one_that_is_explained() -> None:
    for signature in SIGNATURES:
        assert set(signature.results) <= {*KINDS, "any"}, str(signature)
        assert signature.marks <= {"varies", "fails", "yields", "untyped"}
        for parameter in signature.parameters or ():
            assert set(kinds(parameter)) <= {*KINDS}, str(signature)


def test_a_line_of_the_table_is_read_in_all_its_parts() -> None:
    [clamp] = [signature for signature in SIGNATURES if str(signature) == "math.clamp"]
    assert [p.bounds for p in clamp.parameters or ()] == [None, (-8, 0), (1, 20)]
    assert clamp.results == ("number",)
    [close] = [signature for signature in SIGNATURES if str(signature) == "coroutine.yield"]
    assert close.marks == {"yields"}
    [_, sort] = [signature for signature in SIGNATURES if str(signature) == "table.sort"]
    _, order = sort.parameters or ()
    assert order.function is not None
    assert order.function.results == ("order",)
    [pi] = [signature for signature in SIGNATURES if str(signature) == "math.pi"]
    assert pi.parameters is None


def parameters(member: str) -> tuple[Parameter, ...]:
    return next(signature.parameters or () for signature in SIGNATURES if str(signature) == member)


def test_what_a_number_is_stands_in_the_table_of_roles_and_each_role_is_some_number_s() -> None:
    roles = {each.role for signature in SIGNATURES for each in signature.parameters or ()}
    assert roles - {""} == {*ROLES}
    assert all(
        each.is_number
        for signature in SIGNATURES
        for each in signature.parameters or ()
        if each.role
    )


def test_the_ends_of_a_range_the_empty_and_the_reversed_one_follow_from_what_a_number_is() -> None:
    _, first, last = parameters("string.sub")
    assert first.limits(9, 0) == (0, 9, -9)
    assert last.limits(9, 3) == (3, 9, -1)
    _, field, width = parameters("bit32.extract")
    assert field.limits(0, 0) == (0, 31)
    assert width.limits(0, 20) == (1, 12)
    _, low, high = parameters("math.clamp")
    assert low.limits(0, 0) == (-8, 0)
    assert high.limits(0, -3) == (-3, 0, -1)
    _, place = parameters("buffer.readi32")
    assert place.limits(16, 0) == (0, 12)
    assert all(
        each.limits(5, 2)
        for signature in SIGNATURES
        for each in signature.parameters or ()
        if each.is_number
    )
