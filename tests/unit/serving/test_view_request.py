"""What pages may ask to see."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

import pytest

from warpline_app.serving.view_request import MAX_FOLDS, ViewRequest


def test_a_query_becomes_a_view_and_survives_json() -> None:
    view = ViewRequest.of_query(
        parse_qs(
            "start=10&stop=20&top=3&width=800&height=600&ratio=1.5&theme=light&opened=cpu%2F3&closed=gpu%2F0%23kernel%3D1"
            "&selected=7&generation=2&from=11&to=12&names=a%26b&finding=1&follow=1"
        )
    )
    assert view == ViewRequest(
        start_ns=10,
        stop_ns=20,
        top_px=3,
        width_px=800,
        height_px=600,
        ratio=1.5,
        theme="light",
        folds=(("cpu/3", True), ("gpu/0#kernel=1", False)),
        selection=7,
        generation=2,
        range_ns=(11, 12),
        names="a&b",
        finding=1,
        follows=True,
    )
    assert ViewRequest.of_values(json.loads(json.dumps(view.as_values()))) == view
    assert ViewRequest.of_query({}) == ViewRequest()


@pytest.mark.parametrize(
    "query",
    [
        "width=100000",
        "width=10",
        "height=0",
        "width=-800",
        "width=8000&height=8000",
        "ratio=100",
        "ratio=nan",
        "ratio=inf",
        "ratio=x",
        "start=-1",
        "start=1e3",
        "stop=99999999999999999999",
        "top=-1",
        "theme=../../etc/passwd",
        "names=" + "x" * 301,
        "&".join(f"opened={number}" for number in range(MAX_FOLDS + 1)),
        "from=1&to=x",
    ],
)
def test_what_is_out_of_bounds_is_refused(query: str) -> None:
    with pytest.raises(ValueError):
        ViewRequest.of_query(parse_qs(query))
