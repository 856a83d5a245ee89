"""Small profiles of inference engines and traces of model servers, for tests and for fuzzing.

Those of ONNX Runtime and OpenVINO have the shape of files that 1.32 and 2026.4 wrote for one small network; kernels are
as in https://github.com/microsoft/onnxruntime/pull/8406, TVM's report as its src/runtime/profiling.cc writes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def event(cat: str, name: str, ts: int, dur: int, thread: int = 7, **args: Any) -> dict[str, Any]:
    return {
        "cat": cat,
        "pid": thread,
        "tid": thread,
        "dur": dur,
        "ts": ts,
        "ph": "X",
        "name": name,
        "args": args,
    }


CONV_SHAPES = [{"float": [4, 3, 32, 32]}, {"float": [16, 3, 3, 3]}]
ORT = [
    event("Session", "model_loading_uri", 4, 361),
    event("Session", "session_initialization", 402, 8767),
    event(
        "Node",
        "conv0_kernel_time",
        9419,
        991,
        op_name="Conv",
        provider="CPUExecutionProvider",
        input_type_shape=CONV_SHAPES,
        thread_scheduling_stats={"main_thread": {"block_size": [1], "core": 1}},
    ),
    event("Kernel", "implicit_convolve_sgemm", 9700, 40, -1, op_name="Conv", stream="13", grid_x="8", block_x="256"),
    event("Node", "sm_kernel_time", 10_601, 11, op_name="Softmax", provider="CPUExecutionProvider"),
    event("Session", "SequentialExecutor::Execute", 9417, 1200),
    event("Session", "model_run", 9407, 1216),
]  # fmt: skip


def onnx_text(events: list[dict[str, Any]]) -> str:
    """As its profiler writes it: an event on each line, blanks before colons."""
    lines = ",\n".join(json.dumps(each, separators=(",", " :")) for each in events)
    return f"[\n{lines}\n]\n"


OPENVINO = """\
layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)
x;Status.NOT_RUN;Parameter;unknown_I8;0.000;0.000
conv0;Status.EXECUTED;Convolution;brgconv_avx512_bf16;0.069;0.069
relu0;Status.NOT_RUN;Relu;undef;0.000;0.000
fc;Status.EXECUTED;FullyConnected;brgemm_avx512_bf16;97.428;97.428
odd;Status.EXECUTED;Softmax;jit;?;?
Total;;;;97.497;97.497

"""


def call(name: str, device: str, microseconds: float | str) -> dict[str, Any]:
    return {
        "Duration (us)": {"microseconds": microseconds},
        "Count": {"count": 1},
        "Name": {"string": name},
        "Device": {"string": device},
        "Argument Shapes": {"string": "float32[4, 64]"},
    }


def tvm_report() -> str:
    """Calls on the CPU and on a GPU, and one without a time."""
    calls = [
        call("fused_dense", "cpu0", 12.3),
        call("fused_conv2d_kernel", "cuda0", 40),
        call("odd", "cpu0", "?"),
    ]
    totals = {"cpu0": {"Duration (us)": {"microseconds": 60.5}}}
    return json.dumps({"calls": calls, "device_metrics": totals})


def trtexec_profile() -> str:
    """The number of runs, and two layers."""
    layers = [
        {"name": name, "timeMs": 12.5, "averageMs": 0.01, "percentage": 50}
        for name in ("conv1 + relu1", "fc")
    ]
    return json.dumps([{"count": 1250}, *layers])


def triton_trace() -> str:
    """Two requests, one without its end."""
    names = (
        "REQUEST_START",
        "QUEUE_START",
        "COMPUTE_START",
        "COMPUTE_INPUT_END",
        "COMPUTE_OUTPUT_START",
        "COMPUTE_END",
    )
    moments = [{"name": name, "ns": 1_000_000 + 500 * place} for place, name in enumerate(names)]
    first = {"id": 1, "model_name": "resnet", "model_version": 1, "request_id": "a", "timestamps": moments}
    return json.dumps([first, {"id": 2, "timestamps": moments[:2]}])


def request_spans() -> str:
    """A request of vLLM, as OTLP JSON."""
    values: dict[str, Any] = {
        "gen_ai.request.id": {"stringValue": "cmpl-1"},
        "gen_ai.request.model": {"stringValue": "llama"},
        "gen_ai.latency.time_in_queue": {"doubleValue": 0.002},
        "gen_ai.latency.time_to_first_token": {"doubleValue": 0.02},
        "gen_ai.usage.prompt_tokens": {"intValue": "5"},
        "gen_ai.usage.completion_tokens": {"intValue": "20"},
    }
    span = {
        "traceId": "5b8aa5a2d2c872e8321cf37308d69df2",
        "spanId": "051581bf3cb55c13",
        "name": "llm_request",
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000000200000000",
        "attributes": [{"key": key, "value": value} for key, value in values.items()],
    }
    scope = {"scope": {"name": "vllm.llm_engine"}, "spans": [span]}
    return json.dumps({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]})


SEEDS: dict[str, Callable[[], str]] = {
    "onnxruntime": lambda: onnx_text(ORT),
    "openvino": lambda: OPENVINO,
    "tvm": tvm_report,
    "trtexec": trtexec_profile,
    "triton": triton_trace,
    "requests": request_spans,
}
"""Content by a name."""
