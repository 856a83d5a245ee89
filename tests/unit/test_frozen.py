"""`frozen` beside the standard library's dataclass, of which it is the quick twin."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.frozen import frozen


class Shape:
    first: int
    second: str = "two"
    many: list[int] = field(default_factory=list, hash=False)
    unseen: int = field(default=0, repr=False, compare=False)
    made: tuple[int, ...] = field(init=False, default=(1,))
    named: int = field(default=5, kw_only=True)


class Checked:
    value: int

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError("negative")


class Nothing:
    pass


def both(shape: type[Any]) -> tuple[type[Any], type[Any]]:
    ours, theirs = (type(shape.__name__, (), dict(vars(shape))) for _ in range(2))
    return frozen(ours), dataclass(frozen=True)(theirs)


@frozen
class Point:
    x: int
    y: int = 0


@frozen
class Named(Point):
    name: str = ""


def outcome(call: Any, *arguments: Any, **named: Any) -> tuple[Any, ...]:
    try:
        made = call(*arguments, **named)
    except (TypeError, ValueError) as error:
        return (type(error), str(error))
    return repr(made), [getattr(made, f.name) for f in fields(made)]


VALUES = st.one_of(st.integers(-3, 3), st.text(max_size=2))
GIVEN = st.dictionaries(
    st.sampled_from(["second", "many", "unseen", "named", "made", "other"]), VALUES, max_size=3
)


@given(arguments=st.lists(VALUES, max_size=5), named=GIVEN)
def test_a_constructor_takes_and_refuses_what_a_dataclass_does(
    arguments: list[Any], named: dict[str, Any]
) -> None:
    ours, theirs = both(Shape)
    assert outcome(ours, *arguments, **named) == outcome(theirs, *arguments, **named)
    assert outcome(ours, *arguments, **named) == outcome(theirs, *arguments, **named), "the second time too"


@given(a=st.tuples(VALUES, VALUES, VALUES), b=st.tuples(VALUES, VALUES, VALUES))
def test_equality_and_hash_are_those_of_a_dataclass(a: tuple[Any, ...], b: tuple[Any, ...]) -> None:
    ours, theirs = both(Shape)
    one, other = ours(a[0], a[1], unseen=a[2]), ours(b[0], b[1], unseen=b[2])
    assert (one == other) == (theirs(a[0], a[1], unseen=a[2]) == theirs(b[0], b[1], unseen=b[2]))
    if one == other:
        assert hash(one) == hash(other)
    assert one != theirs(a[0], a[1], unseen=a[2])


def test_one_field_alone_is_compared_as_several_are() -> None:
    unlike = float("nan")
    for kind in both(type("Only", (), {"__annotations__": {"value": float}})):
        assert kind(unlike) == kind(unlike), "the same object is equal in a tuple, even what equals nothing"


@pytest.mark.parametrize("shape", [Shape, Checked, Nothing])
def test_it_is_called_and_told_like_a_dataclass(shape: type[Any]) -> None:
    ours, theirs = both(shape)
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    assert [f.name for f in fields(ours)] == [f.name for f in fields(theirs)]
    assert ours.__match_args__ == theirs.__match_args__
    for arguments in ((), (1,), (-1,)):
        assert outcome(ours, *arguments) == outcome(theirs, *arguments)


def test_nothing_of_an_instance_changes() -> None:
    point = Named(1, 2, "p")
    for change in (
        lambda: setattr(point, "x", 3),
        lambda: setattr(point, "new", 3),
        lambda: delattr(point, "y"),
    ):
        with pytest.raises(FrozenInstanceError):
            change()
    assert point == Named(1, 2, "p")


def test_instances_are_copied_and_sent_elsewhere() -> None:
    point = Named(1, name="p")
    for twin in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point)), replace(point)):
        assert twin == point
        assert hash(twin) == hash(point)
    assert replace(point, y=7) == Named(1, 7, "p")
    assert Point(1) != point
    assert repr(point) == "Named(x=1, y=0, name='p')"


def test_two_that_are_built_at_once_do_not_replace_a_constructor_of_somebody_else() -> None:
    ours, _ = both(Checked)
    first = ours.__init__
    calls = []

    def watched(self: Any, *arguments: Any) -> None:
        calls.append(arguments)
        first(self, *arguments)

    ours.__init__ = watched
    ours(1)
    ours(2)
    assert calls == [(1,), (2,)]
