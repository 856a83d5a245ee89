"""OpenTelemetry traces: spans are asynchronous ranges of their program, and arrows lead between programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.interchange.import_tools import attributes, imported, links, rows, skipped, text_file

from warpline.interchange import detect
from warpline.model import ImportFormatError


def span(name: str, number: str, start: int, stop: int, parent: str = "", **more: Any) -> dict[str, Any]:
    return {
        "traceId": "t", "spanId": number, "parentSpanId": parent, "name": name,
        "startTimeUnixNano": str(start), "endTimeUnixNano": str(stop), **more,
    }  # fmt: skip


def program(name: str, pid: int, *spans: dict[str, Any]) -> dict[str, Any]:
    resource = [
        {"key": "service.name", "value": {"stringValue": name}},
        {"key": "process.pid", "value": {"intValue": str(pid)}},
    ]
    return {
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "http"}, "spans": list(spans)}],
    }


FRONT = program(
    "front", 7,
    span("GET", "1", 100, 400, kind=3, attributes=[{"key": "url", "value": {"stringValue": "/a"}}]),
    span("parse", "2", 120, 180, "1", events=[{"timeUnixNano": "130", "name": "retry"}]),
)  # fmt: skip
BACK = program(
    "back",
    8,
    span("query", "3", 200, 350, "1"),
    span("late", "4", 360, 370, links=[{"traceId": "t", "spanId": "2"}]),
)


def written(tmp_path: Path, *documents: Any) -> Path:
    return text_file(tmp_path, "\n".join(json.dumps(document) for document in documents), "spans.jsonl")


@pytest.mark.parametrize("split", [False, True])
def test_spans_are_ranges_and_arrows_lead_between_programs(tmp_path: Path, split: bool) -> None:
    documents = (
        [{"resourceSpans": [FRONT]}, {"resourceSpans": [BACK]}]
        if split
        else [{"resourceSpans": [FRONT, BACK]}]
    )
    path = written(tmp_path, *documents)
    assert detect(path).name == "otlp"
    capture = imported(tmp_path, path)
    assert [row[:3] for row in rows(capture, "range")] == [
        ("GET", 100, 300), ("parse", 120, 60), ("retry", 130, 0), ("query", 200, 150), ("late", 360, 10),
    ]  # fmt: skip
    assert links(capture, "flow") == {("GET", "query"), ("parse", "late")}
    assert json.loads(attributes(capture, "GET")["payload"]) == {"url": "/a", "span.kind": "client"}
    assert [(process.pid, process.name) for process in capture.processes] == [(7, "front"), (8, "back")]


def test_a_document_of_any_size_is_read_in_parts(tmp_path: Path) -> None:
    # Not on one line, and what names the spans comes behind them.
    late = {**BACK, "scopeSpans": [{**BACK["scopeSpans"][0], "scope": {"name": "http"}}]}
    late = {"scopeSpans": late["scopeSpans"], "resource": late["resource"]}
    path = text_file(tmp_path, json.dumps({"resourceSpans": [FRONT, late]}, indent=1), "spans.json")
    capture, whole = (
        imported(tmp_path, path),
        imported(tmp_path, written(tmp_path, {"resourceSpans": [FRONT, BACK]})),
    )
    assert rows(capture, "range") == rows(whole, "range")
    assert links(capture, "flow") == links(whole, "flow") != set()
    assert [track.uri for track in capture.tracks] == [track.uri for track in whole.tracks]
    assert skipped(capture) == {}


def test_damaged_lines_and_missing_spans_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path, {"resourceSpans": [BACK]})
    path.write_text(path.read_text() + "\n{damaged\n")
    assert skipped(imported(tmp_path, path)) == {"documents": 1, "references to spans": 2}
    with pytest.raises(ImportFormatError, match="damaged"):
        imported(tmp_path, text_file(tmp_path, '{"resourceSpans": [', "cut.json"))
