"""Inputs of operators as lines: what profilers write as lists, whole or damaged."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline_app.panels.facts.fact import Fact
from warpline_app.panels.facts.input_facts import INPUT_ATTRIBUTES, input_facts, shape_text

TEXTS = {
    "input_shapes": "[[5185, 1024], [], [[2, 3], []], []]",
    "input_types": '["c10::BFloat16", "Scalar", "TensorList", ""]',
    "arguments": '["", "1", "", ""]',
}
REST = {"Input Strides": [[1024, 1], [], [], []]}


def test_an_input_is_one_line() -> None:
    assert input_facts(TEXTS, REST) == (
        Fact("0", "5185 × 1024  BFloat16", note="strides 1024, 1"),
        Fact("1", "= 1"),
        Fact("2", "2 × 3; scalar  TensorList"),
        Fact("3", "nothing"),
    )


def test_an_unrecorded_input_is_empty() -> None:
    (line,) = input_facts({"input_shapes": "[[8, 3]]"}, {})
    assert (line.title, line.value, line.note) == ("0", "8 × 3", "")


@pytest.mark.parametrize(
    "texts",
    [
        {},
        {"input_shapes": "not JSON"},
        {"input_shapes": '{"X": [1]}'},
        {"input_shapes": "[[1]]", "input_types": '["a", "b"]'},
        {"input_shapes": "[" * 100_000},
    ],
)
def test_other_texts_are_not_parsed(texts: dict[str, str]) -> None:
    assert input_facts(texts, {}) == ()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(sorted(INPUT_ATTRIBUTES)), st.lists(json_values, max_size=4)),
    st.dictionaries(st.just("Input Strides"), json_values),
)
def test_any_value_is_accepted(texts: dict[str, list[object]], rest: dict[str, object]) -> None:
    facts = input_facts({name: json.dumps(values) for name, values in texts.items()}, rest)
    lengths = {len(values) for values in texts.values()}
    assert len(facts) == (lengths.pop() if len(lengths) == 1 else 0)
    assert all(fact.value for fact in facts)


def test_shapes_of_lists_of_tensors() -> None:
    assert shape_text([2, 3]) == "2 × 3"
    assert shape_text([[2, 3], [4]]) == "2 × 3; 4"
