"""Findings that judge kernels against the peaks of their device, on captures whose truth is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import Program

from warpline.analysis.findings.catalogue.loading import _decodes
from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.framework.selection import View

MS = 1_000_000
H100 = "NVIDIA H100 80GB HBM3"
SGEMM = "ampere_sgemm_128x64_nn"
TENSOR = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"
SIMT = "cutlass_80_simt_hgemm_128x128"


class Call:
    """An operator that launches one kernel of ``length`` ns."""

    def __init__(self, operator: str, shapes: list[Any], kind: str, kernel: str, length: int) -> None:
        self.operator, self.shapes, self.kind, self.kernel, self.length = (
            operator,
            shapes,
            kind,
            kernel,
            length,
        )


def _findings(
    path: Path,
    calls: list[Call],
    device: str = H100,
    around: str = "",
    counters: dict[str, float] | None = None,
) -> dict[str, Finding]:
    """Of a program that launches everything at once and whose GPU then computes without a gap."""
    program = Program(path, device)
    builder = program.builder
    now, busy = 0, 0.01 * MS
    if around:
        program.host("ranges", "range", 0, 10_000 * len(calls) + 1, around)
    for call in calls:
        program.host(
            "operators", "operator", now, now + 9_000, call.operator,
            input_shapes=json.dumps(call.shapes), input_types=json.dumps([call.kind] * len(call.shapes)),
        )  # fmt: skip
        launch = program.launch(now + 1_000, now + 4_000)
        start = int(max(busy, now + 5_000))
        program.gpu("kernel", 7, start, start + call.length, call.kernel, launch)
        busy = start + call.length
        now += 10_000
    for name, value in (counters or {}).items():
        track = builder.track(f"gpu/0/{name}", role="counter", parent="gpu/0", device=0)
        times = np.linspace(0.02 * MS, busy, 20).astype(np.int64)
        builder.add_counter(track, name, "ratio", times, np.full(20, value))
    builder.set_span(0, int(busy))
    with program.finish() as capture:
        return {finding.id: finding for finding in diagnose(View(capture)).findings}


def _product(
    kernel: str, length: int, kind: str = "float", m: int = 4096, n: int = 4096, k: int = 4096
) -> Call:
    return Call("aten::mm", [[m, k], [k, n]], kind, kernel, length)


def test_single_precision_without_tf32_is_said_with_what_tf32_would_give(tmp_path: Path) -> None:
    # 137 GFLOP at 46 TFLOP/s of 67; with TF32 at least 0.28 ms.
    finding = _findings(tmp_path / "run.h5", [_product(SGEMM, 3 * MS)] * 4)["gpu_tensor_cores"]
    assert "aten::mm (M 4,096, N 4,096, K 4,096) computes in float32, and TF32 is off." in finding.text
    assert "TF32" in finding.remedy
    assert finding.severity == "warning"
    assert finding.gain_ns == pytest.approx(4 * (3 - 0.278) * MS, rel=0.02)


@pytest.mark.parametrize(("device", "is_found"), [("Tesla P100-SXM2-16GB", False), ("NVIDIA Weird", True)])
def test_only_devices_with_tensor_cores_lack_their_use(tmp_path: Path, device: str, is_found: bool) -> None:
    findings = _findings(tmp_path / "run.h5", [_product(SGEMM, 3 * MS)] * 4, device)
    assert ("gpu_tensor_cores" in findings) == is_found
    if is_found:
        finding = findings["gpu_tensor_cores"]
        assert (finding.severity, finding.gain_ns) == ("note", 0)


def test_the_size_that_keeps_a_product_off_tensor_cores_is_named(tmp_path: Path) -> None:
    calls = [_product(SIMT, 3 * MS, "c10::Half", k=4095)] * 4
    finding = _findings(tmp_path / "run.h5", calls)["gpu_tensor_cores"]
    assert "K = 4,095 is not a multiple of 8." in finding.text
    assert finding.remedy == "Pad to K = 4,096."


def test_a_slow_product_with_an_odd_size_is_found_and_a_fast_one_is_not(tmp_path: Path) -> None:
    slow = _findings(tmp_path / "slow.h5", [_product(TENSOR, 2 * MS, "c10::BFloat16", n=4095)] * 4)
    assert (
        "N = 4,095 is not a multiple of 8. It reaches 7 % of the peak of H100 SXM."
        in slow["gpu_unaligned"].text
    )
    fast = _findings(tmp_path / "fast.h5", [_product(TENSOR, 200_000, "c10::BFloat16", n=4095)] * 4)
    assert "gpu_unaligned" not in fast
    even = _findings(tmp_path / "even.h5", [_product(TENSOR, 2 * MS, "c10::BFloat16")] * 4)
    assert "gpu_unaligned" not in even


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (_product(TENSOR, 200_000, "c10::BFloat16"), "gpu_compute_bound"),
        (_product(TENSOR, 3 * MS, "c10::BFloat16"), "gpu_small_kernels"),
        # 1 GB in 0.4 ms: 2.7 of 3.35 TB/s.
        (
            Call("aten::native_layer_norm", [[65536, 4096]], "c10::BFloat16", "layer_norm", 400_000),
            "gpu_memory_bound",
        ),
    ],
)  # fmt: skip
def test_what_limits_a_busy_gpu_is_said(tmp_path: Path, call: Call, expected: str) -> None:
    findings = _findings(tmp_path / "run.h5", [call] * 4)
    bounds = {"gpu_compute_bound", "gpu_memory_bound", "gpu_small_kernels"}
    assert bounds & set(findings) == {expected}
    assert "of the peak of H100 SXM" in findings[expected].text
    assert findings[expected].severity == "note"


@pytest.mark.parametrize(
    ("dram", "tensor", "expected"),
    [(0.8, 0.1, "gpu_memory_bound"), (0.2, 0.7, "gpu_compute_bound"), (0.1, 0.1, "gpu_small_kernels")],
)
def test_counters_say_what_limits_a_gpu_without_shapes(
    tmp_path: Path, dram: float, tensor: float, expected: str
) -> None:
    counters = {"SM active": 0.9, "Tensor cores active": tensor, "DRAM bandwidth": dram}
    calls = [Call("mine", [], "float", "my_kernel", 10 * MS)] * 4
    finding = _findings(tmp_path / "run.h5", calls, counters=counters)[expected]
    assert f"SM active 90 %, tensor cores {100 * tensor:.0f} %, DRAM {100 * dram:.0f} %" in finding.text


@pytest.mark.parametrize(
    ("around", "helps"), [("Optimizer.step#AdamW.step", "fused=True"), ("forward", "torch.compile")]
)
def test_the_remedy_for_elementwise_chains_depends_on_what_launches_them(
    tmp_path: Path, around: str, helps: str
) -> None:
    kernel = "void at::native::vectorized_elementwise_kernel<4>"
    call = Call("aten::add", [[1 << 20], [1 << 20]], "float", kernel, MS)
    finding = _findings(tmp_path / "run.h5", [call] * 6, around=around)["gpu_elementwise"]
    assert "1 chain of up to 6 runs without another kernel between them." in finding.text
    assert helps in finding.remedy


def test_attention_in_pieces_includes_its_products(tmp_path: Path) -> None:
    half = "c10::BFloat16"
    calls = [
        Call("aten::bmm", [[16, 2048, 64], [16, 64, 2048]], half, TENSOR, MS),
        Call("aten::_softmax", [[16, 2048, 2048]], half, "softmax_warp_forward", MS),
        Call("aten::bmm", [[16, 2048, 2048], [16, 2048, 64]], half, TENSOR, MS),
        _product(TENSOR, MS, half),
    ]
    finding = _findings(tmp_path / "run.h5", calls)["gpu_attention"]
    assert finding.time_ns == 3 * MS
    assert "weights of aten::bmm (batch 16, M 2,048, N 2,048, K 64)" in finding.text
    assert finding.gain_ns == pytest.approx(3 * MS, rel=0.02)


@pytest.mark.parametrize(
    ("counts", "length", "helps"),
    [
        (2, 20 * MS, "divide it into buckets"),
        (12, 60_000, "bucket_cap_mb"),
        (12, 2 * MS, "as soon as it is ready"),
    ],
)
def test_the_remedy_for_exposed_communication_depends_on_its_calls(
    tmp_path: Path, counts: int, length: int, helps: str
) -> None:
    calls = [Call("mine", [], "float", "ncclDevKernel_AllReduce_Sum", length)] * counts
    finding = _findings(tmp_path / "run.h5", calls)["gpu_communication"]
    assert helps in finding.remedy


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (
            400e9,
            (
                "The GPU is limited by its links",
                "NVLink 800 GB/s, 89 % of the peak of H100 SXM",
                "fewer bytes",
            ),
        ),
        (20e9, ("Exposed communication", "NVLink 40 GB/s, 4 % of the peak", "as soon as it is ready")),
    ],
)
def test_counters_say_whether_the_links_limit_communication(
    tmp_path: Path, rate: float, expected: tuple[str, str, str]
) -> None:
    calls = [Call("mine", [], "float", "ncclDevKernel_AllReduce_Sum", 2 * MS)] * 12
    counters = {"NVLink sent": rate, "NVLink received": rate}
    finding = _findings(tmp_path / "run.h5", calls, counters=counters)["gpu_communication"]
    title, text, remedy = expected
    assert finding.title == title
    assert text in finding.text
    assert remedy in finding.remedy


def test_link_rates_beside_computation_say_nothing_about_communication(tmp_path: Path) -> None:
    nccl = Call("mine", [], "float", "ncclDevKernel_AllReduce_Sum", MS)
    calls = [nccl, _product(TENSOR, MS)] * 12
    counters = {"NVLink sent": 400e9, "NVLink received": 400e9}
    finding = _findings(tmp_path / "run.h5", calls, counters=counters)["gpu_communication"]
    assert "NVLink" not in finding.text


@pytest.mark.parametrize(
    ("around", "more", "helps"),
    [
        ("Optimizer.step#SGD.step", "", "fused=True"),
        ("forward", "cudaSetDevice", "Set the device once"),
        ("forward", "", "torch.compile"),
    ],
)
def test_the_remedy_for_short_kernels_depends_on_what_launches_them(
    tmp_path: Path, around: str, more: str, helps: str
) -> None:
    program = Program(tmp_path / "run.h5", H100)
    program.host("ranges", "range", 0, 4 * MS, around)
    for start in range(0, 4 * MS, 40_000):
        program.host("operators", "operator", start, start + 30_000, "aten::add_")
        for place in range(2 if more else 0):
            program.host("api", "cuda_api", start + 100 * place, start + 100 * place + 50, more)
        call = program.launch(start + 1_000, start + 25_000)
        program.gpu("kernel", 7, start + 26_000, start + 28_000, "add", call)
    program.builder.set_span(0, 4 * MS)
    with program.finish() as capture:
        findings = {finding.id: finding for finding in diagnose(View(capture)).findings}
    assert helps in findings["gpu_launch_bound"].remedy


@pytest.mark.parametrize(("used_gib", "is_said"), [(20, True), (70, False), (0, False)])
def test_larger_batches_are_said_to_fit_where_memory_is_left(
    tmp_path: Path, used_gib: int, is_said: bool
) -> None:
    program = Program(tmp_path / "run.h5", H100, {"memory_bytes": 80 << 30})
    program.host("operators", "operator", 0, 4 * MS, "aten::add_")
    for start in range(0, 4 * MS, 40_000):
        call = program.launch(start + 1_000, start + 25_000)
        program.gpu("kernel", 7, start + 26_000, start + 28_000, "add", call)
    if used_gib:
        gpu = program.builder.track("gpu/0", role="gpu", device=0)
        program.builder.add_counter(gpu, "Memory used", "bytes", [0, MS], [0, used_gib << 30])
    program.builder.set_span(0, 4 * MS)
    with program.finish() as capture:
        findings = {finding.id: finding for finding in diagnose(View(capture)).findings}
    remedy = findings["gpu_launch_bound"].remedy
    assert ("A larger batch fits: at most 25 % of the memory is used." in remedy) == is_said


@pytest.mark.parametrize(
    ("place", "decodes"),
    [
        (Where(file="/usr/lib/python3/dist-packages/PIL/Image.py", function="load"), True),
        (Where(function="decode_jpeg"), True),
        (Where(file="dataset.py", function="pillow_fight"), False),
        (Where(file="scipy/ndimage/_interpolation.py", function="zoom"), False),
    ],
)
def test_decoding_is_known_by_its_place(place: Where, decodes: bool) -> None:
    assert _decodes(place) == decodes
