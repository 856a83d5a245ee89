"""Parts of JSON documents equal what a whole reader finds, however the bytes arrive."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpline.interchange.framework import json_parts
from warpline.interchange.framework.json_parts import JsonParts, decode_elements

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(['"', '\\"', "}]", "\\", "a,[{"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"other": VALUES, "head": VALUES},
            optional={"rows": st.lists(VALUES), "groups": st.lists(st.fixed_dictionaries({"rows": st.lists(VALUES)}))},
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 40),
    st.sampled_from([None, 1]),
    st.booleans(),
)  # fmt: skip
def test_parts_equal_the_whole_document(
    documents: list[dict[str, Any]], chunk: int, indent: int | None, is_ascii: bool
) -> None:
    texts = [json.dumps(document, indent=indent, ensure_ascii=is_ascii) for document in documents]
    content = "\n".join(texts).encode("utf-8", "replace")
    parts = JsonParts(
        io.BytesIO(content),
        arrays=[("rows",), ("groups", "*", "rows")],
        values=[("head",)],
        chunk_bytes=chunk,
    )
    heads: list[Any] = []
    rows: dict[tuple[Any, ...], list[Any]] = {}
    for part in parts:
        value = json.loads(part.text)
        if part.path == ("head",):
            heads.append(value)
        else:
            rows.setdefault((part.document, *part.path), []).extend(value)
    whole = [json.loads(text.encode("utf-8", "replace")) for text in texts]
    assert (parts.damaged, parts.problem) == (0, "")
    assert heads == [document["head"] for document in whole]
    expected: dict[tuple[Any, ...], Any] = {
        (number, "rows"): document.get("rows") for number, document in enumerate(whole)
    }
    for number, document in enumerate(whole):
        for place, group in enumerate(document.get("groups", [])):
            expected[number, "groups", place, "rows"] = group["rows"]
    assert rows == {key: value for key, value in expected.items() if value}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"rows": [1, 2, {"a": 3', "ends early"),
        ('{"rows": [1, 2, 3}, "x": 1}', "bracket"),
        ('{"rows": [1, 2, 3] "x": 1}', "comma"),
        ('{"rows": [1, 2, 3], x: 1}', "key"),
        ('{"other": {"a": "b', "ends early"),
    ],
)
def test_damage_loses_one_document(text: str, problem: str) -> None:
    content = f'{text}\n{{"rows": [7]}}'.encode()
    parts = JsonParts(io.BytesIO(content), arrays=[("rows",)], chunk_bytes=5)
    found = [json.loads(part.text) for part in parts]
    assert parts.damaged == 1
    if "early" not in problem:  # an open string or array takes what follows
        assert problem in parts.problem
        assert found[-1] == [7]


def test_elements_that_do_not_fit_are_counted() -> None:
    decoder = msgspec.json.Decoder(list[int])
    assert decode_elements(b'[1,"a,]",[2,3],4]', decoder) == ([1, 4], 2)
    assert decode_elements(b"[1,NaN]", decoder) == ([1], 1)


@pytest.mark.parametrize("wanted", ["rows", "nothing"])
def test_many_short_arrays_take_work_in_proportion(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    structure = json_parts._structure
    looked_at = 0

    def counted(text: bytes, inside: int = 0) -> Any:
        nonlocal looked_at
        looked_at += len(text)
        return structure(text, inside)

    monkeypatch.setattr(json_parts, "_structure", counted)
    work = []
    for count in (250, 500):
        looked_at = 0
        groups = [{"rows": [{"number": number, "text": "x" * 600}]} for number in range(count)]
        content = json.dumps({"groups": groups, "end": [7]}).encode()
        patterns = [("groups", "*", wanted), ("end",)]
        assert len(list(JsonParts(io.BytesIO(content), arrays=patterns))) == 1 + count * (wanted == "rows")
        work.append(looked_at)
    assert work[1] < 2.2 * work[0]
