"""The inputs of an operator, one line each: shape, type, strides, value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from warpline.i18n import tr
from warpline.untrusted import read_json
from warpline_app.panels.facts.fact import Fact

INPUT_ATTRIBUTES = frozenset(("input_shapes", "input_types", "arguments"))
_STRIDES = "Input Strides"
_PLAIN_TYPES = frozenset(("", "Scalar", "ScalarList", "GenericList"))


def input_facts(texts: Mapping[str, str], rest: Mapping[str, Any]) -> tuple[Fact, ...]:
    """A line for each input.

    ``texts`` are those of `INPUT_ATTRIBUTES`, ``rest`` the event's other arguments (Kineto: ``Input Dims``, ``Input
    type``, ``Concrete Inputs``, ``Input Strides``). Empty if a text is not a list or their lengths differ.
    """
    lists = {name: _list_of(text) for name, text in texts.items()}
    strides = rest.get(_STRIDES)
    known = [values for values in lists.values() if values is not None]
    if not known or None in lists.values() or len({len(values) for values in known}) > 1:
        return ()
    count = len(known[0])
    if not isinstance(strides, list) or len(strides) != count:
        strides = [None] * count
    none = [None] * count
    shapes, types, values = (lists.get(name) or none for name in ("input_shapes", "input_types", "arguments"))
    return tuple(
        _input_fact(index, *parts)
        for index, parts in enumerate(zip(shapes, types, values, strides, strict=True))
    )


def is_input_argument(name: str) -> bool:
    """Whether `input_facts` shows this argument."""
    return name == _STRIDES


def _input_fact(place: int, shape: Any, kind: Any, value: Any, strides: Any) -> Fact:
    dtype = str(kind or "").removeprefix("c10::")
    parts = [shape_text(shape) if shape else "", "" if dtype in _PLAIN_TYPES else dtype]
    if value is not None and value != "":
        parts.append(f"= {value}")
    text = "  ".join(part for part in parts if part)
    several = strides if isinstance(strides, list) else [strides]
    note = tr("strides {strides}", strides=", ".join(map(str, several))) if strides else ""
    return Fact(str(place), text or (dtype.lower() if dtype else tr("nothing")), note=note)


def shape_text(shape: Any) -> str:
    """``1 × 16 × 64``; the shapes of a list of tensors are joined."""
    if not isinstance(shape, list):
        return str(shape)
    if any(isinstance(part, list) for part in shape):
        return "; ".join(shape_text(part) if part else tr("scalar") for part in shape)
    return " × ".join(str(part) for part in shape)


def arguments_of(text: str) -> dict[str, Any] | None:
    """The JSON object in a text; None if it is not an object."""
    try:
        found = read_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def compact(value: Any) -> str:
    """An argument as text, non-strings as JSON on one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _list_of(text: str) -> list[Any] | None:
    try:
        found = read_json(text)
    except ValueError:
        return None
    return found if isinstance(found, list) else None
