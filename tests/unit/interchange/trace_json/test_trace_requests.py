"""Requests to a model server in Chrome traces: stages as SGLang's converter writes them, and asynchronous events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.analysis_tools import rows_of
from tests.unit.interchange.import_tools import imported, text_file, trace_file

from warpline.analysis.framework.registry import compute_report
from warpline.storage import Capture


def stage(name: str, start: float, stop: float, rid: str, thread: int = 1, **more: Any) -> dict[str, Any]:
    """A slice as SGLang's converter writes it; times in us."""
    return {
        "ph": "X", "name": name, "cat": "sglang", "ts": start, "dur": stop - start, "pid": 500, "tid": thread,
        "args": {"rid": rid, **more},
    }  # fmt: skip


def of_request(rid: str, at: float, thread: int) -> list[dict[str, Any]]:
    return [
        stage("tokenize", at, at + 10, rid, thread),
        stage("request_process", at + 10, at + 30, rid, thread),
        stage("prefill_waiting", at + 30, at + 80, rid, thread),
        stage("prefill_forward", at + 80, at + 180, rid, thread),
        stage("decode_loop", at + 180, at + 230, rid, thread),
        stage("decode_loop", at + 230, at + 280, rid, thread, completion_tokens=3),
    ]


NAMES = [
    {"ph": "M", "name": "process_name", "pid": 500, "args": {"name": "1a2b:Scheduler-TP0"}},
    {"ph": "M", "name": "thread_name", "pid": 500, "tid": 1, "args": {"name": "slot"}},
]
MOMENT = {
    "ph": "i",
    "cat": "sglang",
    "ts": 5.0,
    "pid": 500,
    "tid": 1,
    "name": "schedule",
    "args": {"batch_size": 2},
}


def requests(capture: Capture) -> list[dict[str, Any]]:
    return rows_of(capture, "requests")


def test_stages_of_sglang_become_requests(tmp_path: Path) -> None:
    events = [*NAMES, *of_request("a", 0, 1), MOMENT, *of_request("b", 40, 2)]
    capture = imported(tmp_path, text_file(tmp_path, json.dumps(events)))
    first, second = requests(capture)
    assert (first["name"], second["name"]) == ("a", "b")
    assert (first["duration_ns"], first["start_ns"], second["start_ns"]) == (280_000, 0, 40_000)
    assert (first["queue_ns"], first["prefill_ns"], first["decode_ns"]) == (50_000, 100_000, 100_000)
    # The first token comes with the end of the prefill.
    assert first["first_token_ns"] == 180_000
    assert first["token_gap_ns"] == pytest.approx(50_000)
    assert {track.uri.rpartition("/")[2] for track in capture.tracks if "/requests/" in track.uri} == {
        "1",
        "2",
    }


def test_stages_in_a_trace_of_pytorch_lead_to_its_engine_steps(tmp_path: Path) -> None:
    def annotation(name: str, start: float, stop: float) -> dict[str, Any]:
        return {
            "ph": "X", "cat": "user_annotation", "name": name, "pid": 71, "tid": 71, "ts": start,
            "dur": stop - start, "args": {},
        }  # fmt: skip

    launch: dict[str, Any] = {
        "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 71, "tid": 71, "ts": 90.0,
        "dur": 2.0, "args": {"correlation": 1},
    }  # fmt: skip
    kernel: dict[str, Any] = {
        "ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 100.0, "dur": 30.0,
        "args": {"correlation": 1, "stream": 7, "device": 0, "context": 1},
    }  # fmt: skip
    steps = [
        annotation("step[EXTEND bs=1 toks=8]", 82, 170),
        annotation("step[DECODE bs=1]", 190, 220),
        annotation("step[DECODE bs=1]", 300, 320),
    ]
    events = [*steps, launch, kernel, *of_request("a", 0, 1)]
    capture = imported(tmp_path, trace_file(tmp_path, events, deviceProperties=[{"id": 0, "name": "GPU"}]))
    (request,) = requests(capture)
    assert (request["engine_steps"], request["gpu_ns"]) == (2, 30_000)
    assert [step["requests"] for step in rows_of(capture, "engine_steps")] == [1, 1, 0]


def test_asynchronous_events_become_requests(tmp_path: Path) -> None:
    def border(phase: str, name: str, at: float, **arguments: Any) -> dict[str, Any]:
        return {
            "ph": phase, "cat": "serve", "id": "r9", "name": name, "pid": 1, "tid": 1, "ts": at,
            "args": arguments,
        }  # fmt: skip

    events = [
        border("b", "request", 0, prompt_tokens=4, model="llama"),
        border("b", "queue", 0),
        border("e", "queue", 10),
        border("b", "prefill", 10),
        border("e", "prefill", 30),
        border("b", "decode", 30),
        border("e", "decode", 90),
        border("e", "request", 100, completion_tokens=8),
        border("e", "decode", 120),
    ]
    (request,) = requests(imported(tmp_path, trace_file(tmp_path, events)))
    assert (request["name"], request["model"], request["prompt_tokens"]) == ("r9", "llama", 4)
    assert (request["duration_ns"], request["first_token_ns"]) == (100_000, 30_000)
    assert request["token_gap_ns"] == pytest.approx(10_000)


@pytest.mark.parametrize(
    "event",
    [
        # A picture that is decoded for a request of the web; a stage without its request; text in place of arguments.
        {"ph": "X", "cat": "web", "name": "decode", "ts": 1, "dur": 2, "pid": 1, "tid": 1, "args": {"request_id": "7"}},
        {"ph": "X", "cat": "", "name": "prefill", "ts": 1, "dur": 2, "pid": 1, "tid": 1, "args": {"batch": 3}},
        {"ph": "X", "cat": "sglang", "name": "prefill", "ts": 1, "dur": 2, "pid": 1, "tid": 1, "args": "rid"},
        {"ph": "X", "cat": "sglang", "name": "prefill", "ts": 1, "dur": 2, "pid": 1, "tid": 1},
    ],
)  # fmt: skip
def test_what_only_looks_like_a_request_is_none(tmp_path: Path, event: dict[str, Any]) -> None:
    capture = imported(tmp_path, trace_file(tmp_path, [event]))
    assert compute_report(capture, "requests").table is None


def test_steps_of_a_trace_of_the_gpu_alone(tmp_path: Path) -> None:
    step = {
        "ph": "X", "cat": "gpu_user_annotation", "name": "step[DECODE bs=2]", "pid": 0, "tid": 7, "ts": 5.0,
        "dur": 20.0, "args": {},
    }  # fmt: skip
    kernel = {**step, "cat": "kernel", "name": "gemm", "args": {"stream": 7, "device": 0, "context": 1}}
    capture = imported(
        tmp_path, trace_file(tmp_path, [step, kernel], deviceProperties=[{"id": 0, "name": "GPU"}])
    )
    (found,) = rows_of(capture, "engine_steps")
    assert (found["decode_requests"], found["tokens"]) == (2, 2)
    assert "gpu_ns" not in found
