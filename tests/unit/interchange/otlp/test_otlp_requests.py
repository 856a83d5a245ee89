"""Requests of vLLM, SGLang and Triton: rows with their phases, latencies, throughput, and the work they lead to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import Open, Program, rows_of
from tests.unit.interchange.import_tools import attributes, imported, text_file

from warpline.analysis.framework.registry import compute_report
from warpline.analysis.serving.step_names import parse_step_name
from warpline.interchange import detect, import_files
from warpline.interchange.framework.requests import REQUEST, REQUEST_PHASE
from warpline.model import ImportFormatError
from warpline.storage import Capture, open_capture
from warpline_app.panels.facts.event_facts import event_facts
from warpline_app.timeline.model import links
from warpline_app.timeline.model.links import related_rows

MS = 1_000_000
START = 1_790_341_371_953_418_752


def plain(values: dict[str, Any]) -> list[dict[str, Any]]:
    types = {str: "stringValue", float: "doubleValue", int: "intValue"}
    return [
        {"key": key, "value": {types[type(value)]: str(value) if isinstance(value, int) else value}}
        for key, value in values.items()
    ]


def span(name: str, number: int, start: int, stop: int, trace: str = "", **more: Any) -> dict[str, Any]:
    values = more.pop("values", {})
    return {
        "traceId": trace or f"t{number}", "spanId": f"s{number}", "name": name,
        "startTimeUnixNano": str(START + start), "endTimeUnixNano": str(START + stop),
        "attributes": plain(values), **more,
    }  # fmt: skip


def otlp(tmp_path: Path, *spans: dict[str, Any]) -> Capture:
    resource = {"attributes": plain({"service.name": "server"})}
    document = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}
    return imported(tmp_path, text_file(tmp_path, json.dumps(document), "spans.json"))


def generated(
    number: int, start: int, stop: int, first: int, tokens: int, **latencies: int
) -> dict[str, Any]:
    """A request as vLLM writes it; times in ms."""
    values: dict[str, Any] = {f"gen_ai.latency.{name}": length / 1000 for name, length in latencies.items()}
    values |= {"gen_ai.latency.time_to_first_token": first / 1000, "gen_ai.usage.completion_tokens": tokens}
    values |= {"gen_ai.request.id": f"r{number}", "gen_ai.usage.prompt_tokens": 14}
    return span("llm_request", number, start * MS, stop * MS, kind=2, values=values)


def phases_of(capture: Capture) -> list[tuple[str, int, int]]:
    """Name, start and stop of all phases, in ns of the file since its first event."""
    table = capture.kinds["request_phase"]
    found = []
    for row in np.asarray(table.rows).tolist():
        start, stop = capture.event_span(row)
        name = capture.strings[int(capture.events.name[row])]
        found.append((name, start - capture.span[0], stop - capture.span[0]))
    return sorted(found, key=lambda phase: phase[1:])


def test_a_request_of_vllm_has_its_phases_and_latencies(tmp_path: Path) -> None:
    # The numbers that vLLM 0.29 wrote for a request of 14 and 8 tokens.
    values = {
        "gen_ai.latency.time_to_first_token": 0.11554598808288574,
        "gen_ai.latency.e2e": 0.25359678268432617,
        "gen_ai.latency.time_in_queue": 5.4589007049798965e-05,
        "gen_ai.latency.time_in_model_prefill": 0.057814636995317414,
        "gen_ai.latency.time_in_model_decode": 0.13830458300071768,
        "gen_ai.usage.prompt_tokens": 14,
        "gen_ai.usage.completion_tokens": 8,
        "gen_ai.request.id": "req-1",
    }
    capture = otlp(tmp_path, span("llm_request", 1, 0, 254_922_392, values=values))
    (row,) = rows_of(capture, "requests")
    assert row["name"] == "req-1"
    assert (row["queue_ns"], row["prefill_ns"], row["decode_ns"]) == (54_589, 57_814_637, 138_304_583)
    assert (row["prompt_tokens"], row["completion_tokens"]) == (14, 8)
    assert row["first_token_ns"] == 115_545_988
    assert row["token_gap_ns"] == pytest.approx((254_922_392 - 115_545_988) / 7)
    assert "gpu_ns" not in row
    queue, prefill, decode = phases_of(capture)
    assert [queue[0], prefill[0], decode[0]] == ["queue", "prefill", "decode"]
    assert queue[2] == prefill[1]
    # The prefill ends with the first token.
    assert prefill[2] == decode[1] == 115_545_988


def test_latencies_and_throughput_of_many_requests(tmp_path: Path) -> None:
    capture = otlp(
        tmp_path,
        generated(1, 0, 900, 100, 9, time_in_queue=20, time_in_model_prefill=80),
        generated(2, 500, 1_500, 300, 8, time_in_queue=200, time_in_model_prefill=100),
        generated(3, 1_000, 2_000, 100, 1, time_in_queue=0, time_in_model_prefill=100),
    )
    latency = {row["name"]: row for row in rows_of(capture, "request_latency")}
    first = latency["Time to first token"]
    assert (first["count"], first["p50_ns"], first["max_ns"]) == (3, 100 * MS, 300 * MS)
    assert first["p90_ns"] == pytest.approx(np.percentile([100, 100, 300], 90) * MS)
    # One generated token has no other one to wait for.
    gaps = latency["Inter-token latency"]
    assert (gaps["count"], gaps["max_ns"]) == (2, 100 * MS)
    one, two = rows_of(capture, "request_throughput")
    assert (one["requests_per_second"], two["requests_per_second"]) == (1, 2)
    assert (one["generated_tokens_per_second"], two["generated_tokens_per_second"]) == (9, 9)
    assert (one["running"], two["running"]) == (pytest.approx(0.9 + 0.5), pytest.approx(0.5 + 1))
    assert one["queued"] == pytest.approx(0.02 + 0.2)
    # Requests that overlap stand in rows of their own; the third follows the first.
    uris = {track.uri.rpartition("/")[2] for track in capture.tracks if "/requests/" in track.uri}
    assert uris == {"1", "2"}


def test_stages_of_sglang_are_the_phases(tmp_path: Path) -> None:
    values = {"gen_ai.latency.e2e": 0.1, "gen_ai.usage.completion_tokens": 5}
    capture = otlp(
        tmp_path,
        span("Req 1a2b", 1, 0, 100 * MS, "t", values=values),
        span("tokenize", 2, 0, 5 * MS, "t"),
        span("prefill_waiting", 3, 5 * MS, 20 * MS, "t"),
        span("prefill_forward", 4, 20 * MS, 50 * MS, "t"),
        span("decode_loop", 5, 50 * MS, 98 * MS, "t"),
    )
    assert phases_of(capture) == [
        ("queue", 5 * MS, 20 * MS),
        ("prefill", 20 * MS, 50 * MS),
        ("decode", 50 * MS, 98 * MS),
    ]
    (row,) = rows_of(capture, "requests")
    assert row["first_token_ns"] == 50 * MS
    assert row["token_gap_ns"] == pytest.approx(50 / 4 * MS)


def test_spans_of_triton_wait_in_the_queue_until_they_compute(tmp_path: Path) -> None:
    queued = [{"name": "QUEUE_START", "timeUnixNano": str(START + 2 * MS)}]
    values = {"triton.model_name": "resnet", "triton.request_id": "r7"}
    capture = otlp(
        tmp_path,
        span("InferRequest", 1, 0, 12 * MS, "t"),
        span("resnet", 2, MS, 10 * MS, "t", values=values, events=queued),
        span("compute", 3, 6 * MS, 9 * MS, "t"),
    )
    assert phases_of(capture) == [("queue", 2 * MS, 6 * MS), ("compute", 6 * MS, 9 * MS)]
    (row,) = rows_of(capture, "requests")
    assert (row["name"], row["model"], row["queue_ns"]) == ("r7", "resnet", 4 * MS)
    assert row["first_token_ns"] is None


TRITON = [
    {"id": 1, "model_name": "simple", "model_version": 1, "request_id": "abc"},
    *(
        {"id": 1, "timestamps": [{"name": name, "ns": at}]}
        for name, at in (
            ("REQUEST_START", 5_000), ("QUEUE_START", 5_100), ("COMPUTE_START", 6_000),
            ("COMPUTE_INPUT_END", 6_500), ("COMPUTE_OUTPUT_START", 8_500),
            ("COMPUTE_END", 8_700), ("REQUEST_END", 9_000),
        )
    ),
    {"id": 2, "model_name": "simple", "model_version": 1},
    {"id": 2, "timestamps": [{"name": "REQUEST_START", "ns": 7_000}, {"name": "REQUEST_END", "ns": 9_500}]},
]  # fmt: skip


def test_the_trace_of_triton(tmp_path: Path) -> None:
    path = text_file(tmp_path, json.dumps(TRITON), "trace.json")
    assert detect(path).name == "triton"
    capture = imported(tmp_path, path)
    assert phases_of(capture) == [
        ("queue", 100, 1_000),
        ("input", 1_000, 1_500),
        ("compute", 1_500, 3_500),
        ("output", 3_500, 3_700),
    ]
    first, second = rows_of(capture, "requests")
    assert (first["duration_ns"], first["queue_ns"], first["model"]) == (4_000, 900, "simple")
    assert (second["duration_ns"], second["queue_ns"]) == (2_500, None)
    assert attributes(capture, "compute")["request"] == "abc"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"id": 1, "timestamps": [{"name": "REQUEST_START", "ns": "x"}]}', "damaged"),
        ('[{"id": 1, "model_name": "a"', "damaged"),
    ],
)
def test_a_damaged_trace_of_triton_is_one_line(tmp_path: Path, text: str, reason: str) -> None:
    path = text_file(tmp_path, text, "trace.json")
    with pytest.raises(ImportFormatError, match=reason):
        import_files([path], tmp_path / "out.h5")


@pytest.mark.parametrize(
    "values",
    [
        {"gen_ai.latency.e2e": "soon", "gen_ai.usage.completion_tokens": "many"},
        {"gen_ai.latency.time_in_queue": -4.0, "gen_ai.latency.time_to_first_token": 1e300},
        {"gen_ai.latency.time_in_model_decode": "inf", "gen_ai.usage.completion_tokens": -3},
    ],
)
def test_values_that_make_no_sense_are_not_recorded(tmp_path: Path, values: dict[str, Any]) -> None:
    (row,) = rows_of(otlp(tmp_path, span("llm_request", 1, 0, MS, values=values)), "requests")
    names = ("queue_ns", "decode_ns", "first_token_ns", "completion_tokens", "token_gap_ns")
    assert [row[name] for name in names] == [None] * len(names)


def test_a_request_leads_to_the_work_that_was_launched_while_it_ran(tmp_path: Path) -> None:
    program = Program(tmp_path / "serving.h5")
    work = {}
    for name, at in (("before", 5), ("queued", 15), ("prefill", 25), ("decode", 35), ("after", 55)):
        work[name] = program.gpu("kernel", 7, at + 2, at + 4, name, program.launch(at, at + 1))
    builder = program.builder
    builder.add_kind(REQUEST)
    builder.add_kind(REQUEST_PHASE)
    program.host("ranges", "request", 10, 50, "r1")
    for name, start, stop in (("queue", 10, 20), ("prefill", 20, 30), ("decode", 30, 50)):
        program.host("ranges", "request_phase", start, stop, name)
    with program.finish() as capture:

        def lit(name: str) -> list[str]:
            place = [row for row in range(len(capture.events)) if _name(capture, row) == name]
            (row,) = [
                row for row in place if capture.kind_of_code[int(capture.events.kind[row])][:7] == "request"
            ]
            return [_name(capture, other) for other in related_rows(capture, row)[1].tolist()]

        assert lit("r1") == ["prefill", "decode"]
        assert lit("decode") == ["decode"]
        (served,) = rows_of(capture, "requests")
    assert served["gpu_ns"] == 6


def _name(capture: Capture, row: int) -> str:
    return capture.strings[int(capture.events.name[row])]


def test_the_capture_of_requests_is_read_again(tmp_path: Path) -> None:
    capture = otlp(tmp_path, generated(1, 0, 900, 100, 9, time_in_queue=20))
    path = capture.path
    capture.close()
    with open_capture(path) as again:
        assert len(rows_of(again, "requests")) == 1


STEPS = {
    "execute_context_2(700)_generation_3(3)": (2, 3, 703, "mixed"),
    "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)": (0, 32, 32, "decode"),
    "step[EXTEND bs=2 toks=4096]": (2, 0, 4096, "prefill"),
    "step[DECODE bs=16]": (0, 16, 16, "decode"),
    "step[MIXED bs=3 c=1 g=2 c_sq=5 c_sk=8]": (1, 2, -1, "mixed"),
    "step[TARGET_VERIFY bs=4]": (0, 4, -1, "decode"),
    "prefill[bs=2 tok=16384]": (2, 0, 16384, "prefill"),
    "[Executor] _forward_step 12: 1 ctx reqs, 40 ctx tokens, 31 gen reqs": (1, 31, -1, "mixed"),
    "[Executor] _forward_step: 0 ctx reqs, 4 gen reqs": (0, 4, -1, "decode"),
    "step[IDLE bs=0]": (-1, -1, -1, ""),
    "execute_context_1": (-1, -1, -1, ""),
}


@pytest.mark.parametrize(("name", "said"), STEPS.items())
def test_names_of_engine_steps_say_requests_and_tokens(name: str, said: tuple[int, int, int, str]) -> None:
    step = parse_step_name(name)
    assert (step.prefill, step.decode, step.tokens, step.phase) == said


def serving(tmp_path: Path, payload: str = "") -> Capture:
    """Two requests in three steps, each of which launches a kernel, and a copy between steps; times in ns."""
    program = Program(tmp_path / "serving.h5")
    steps = (
        (20, 30, "execute_context_1(8)_generation_0(0)"),
        (32, 42, "execute_context_1(4)_generation_1(1)"),
        (44, 54, "execute_context_0(0)_generation_1(1)"),
    )
    for start, stop, name in steps:
        arguments = {"payload": payload} if payload and start == 32 else {}
        program.host("ranges", "range", start, stop, name, **arguments)
        program.gpu("kernel", 7, start + 2, start + 9, f"kernel {start}", program.launch(start, start + 1))
    program.gpu("memcpy", 7, 42, 43, "copy between", program.launch(42, 43))
    builder = program.builder
    builder.add_kind(REQUEST)
    builder.add_kind(REQUEST_PHASE)
    base = "process/71.1/requests"
    builder.track(base, role="group", parent="process/71.1", process=program.process)
    for number, phases in enumerate(((10, 20, 30, 42), (25, 31, 42, 54))):
        track = builder.track(f"{base}/{number}", role="ranges", parent=base, process=program.process)
        identity = builder.string(f"r{number}")
        where = {"request": [identity]}
        builder.add_events(
            track, "request", [phases[0]], [phases[3] - phases[0]], [identity], attributes=where
        )
        for name, start, stop in zip(("queue", "prefill", "decode"), phases, phases[1:], strict=False):
            builder.add_events(track, "request_phase", [start], [stop - start], [builder.string(name)])
    return program.finish()


def lit(capture: Capture, kind: str, name: str, place: int = 0) -> list[str]:
    """Names of what the event of a kind and name leads to."""
    rows = [row for row in np.asarray(capture.kinds[kind].rows).tolist() if _name(capture, row) == name]
    return [_name(capture, other) for other in related_rows(capture, rows[place])[1].tolist()]


def test_requests_steps_and_kernels_lead_to_each_other(tmp_path: Path) -> None:
    first, second, third = (
        "execute_context_1(8)_generation_0(0)",
        "execute_context_1(4)_generation_1(1)",
        "execute_context_0(0)_generation_1(1)",
    )
    with serving(tmp_path) as capture:
        assert set(lit(capture, "request", "r0")) == {first, second, "kernel 20", "kernel 32"}
        assert set(lit(capture, "request", "r1")) == {second, third, "kernel 32", "kernel 44"}
        assert set(lit(capture, "range", second)) == {"r0", "r1", "kernel 32"}
        assert set(lit(capture, "request_phase", "decode", 1)) == {third, "kernel 44"}
        assert lit(capture, "request_phase", "queue", 1) == []
        steps = rows_of(capture, "engine_steps")
        assert [row["requests"] for row in steps] == [1, 2, 1]
        assert [row["phase"] for row in steps] == ["prefill", "mixed", "decode"]
        assert [(row["gpu_operations"], row["gpu_ns"]) for row in steps] == [(1, 7)] * 3
        assert [row["engine_steps"] for row in rows_of(capture, "requests")] == [2, 2]
        facts = event_facts(capture, int(np.asarray(capture.kinds["request"].rows)[0]))
        (section,) = [section for section in facts.sections if section.title == "Ran in 2 engine steps"]
        assert [fact.value.split()[0] for fact in section.facts] == [first, second]


def test_no_more_steps_are_searched_than_can_be_lit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_in: list[str] = []
    launched_in = links._launched_in

    def counted(capture: Capture, row: int, nested: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        looked_in.append(_name(capture, row))
        return launched_in(capture, row, nested)

    monkeypatch.setattr(links, "_launched_in", counted)
    monkeypatch.setattr(links, "NESTED_LIMIT", 3)
    with serving(tmp_path) as capture:
        first = "execute_context_1(8)_generation_0(0)"
        second = "execute_context_1(4)_generation_1(1)"
        assert set(lit(capture, "request", "r0")) == {first, second, "kernel 20"}
    assert looked_in == [first]


def test_a_step_that_names_its_requests_has_only_those(tmp_path: Path) -> None:
    with serving(tmp_path, '{"request_ids": ["r1", 7]}') as capture:
        assert [row["requests"] for row in rows_of(capture, "engine_steps")] == [1, 1, 1]
        assert "kernel 32" not in lit(capture, "request", "r0")


def test_steps_of_a_real_trace_of_vllm(opened: Open) -> None:
    (step,) = rows_of(opened("**/vllm_decode_full/graph_execution.json.gz"), "engine_steps")
    assert (step["phase"], step["decode_requests"], step["tokens"]) == ("decode", 32, 32)
    # One launch of a graph leads to all kernels.
    assert step["gpu_operations"] == 434


def test_a_capture_without_engine_steps_says_so(tmp_path: Path) -> None:
    program = Program(tmp_path / "other.h5")
    program.host("ranges", "range", 0, 5, "forward")
    with program.finish() as capture:
        assert compute_report(capture, "engine_steps").table is None
