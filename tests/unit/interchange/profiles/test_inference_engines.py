"""Profiles of ONNX Runtime, OpenVINO and TVM.

`engine_seeds` says where the contents come from.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.interchange.import_tools import attributes, imported, named, rows, skipped, text_file
from tests.unit.interchange.profiles.engine_seeds import OPENVINO, ORT, onnx_text, tvm_report

from warpline.interchange import detect, import_files
from warpline.model import Flag, ImportFormatError


def test_nodes_of_onnx_runtime_are_operators_and_its_kernels_are_kernels(tmp_path: Path) -> None:
    path = text_file(tmp_path, onnx_text(ORT), "onnxruntime_profile.json")
    assert detect(path).name == "onnxruntime"
    capture = imported(tmp_path, path)
    first = capture.span[0]
    assert [(name, start - first, length) for name, start, length, _ in rows(capture, "operator")] == [
        ("Conv", 9_415_000, 991_000),
        ("Softmax", 10_597_000, 11_000),
    ]
    (kernel,) = rows(capture, "kernel")
    assert kernel[0] == "implicit_convolve_sgemm"
    assert kernel[3].endswith("/stream/13")
    sizes = attributes(capture, "implicit_convolve_sgemm")
    assert (sizes["grid_x"], sizes["block_x"], sizes["grid_y"]) == (8, 256, None)
    assert attributes(capture, "Softmax")["input_shapes"] is None
    conv = attributes(capture, "Conv")
    assert conv["input_shapes"] == "[[4, 3, 32, 32], [16, 3, 3, 3]]"
    assert conv["arguments"] == "node=conv0; provider=CPUExecutionProvider"
    # The session's calls lie around its nodes.
    assert capture.events.start[named(capture, "model_run")] < capture.events.start[named(capture, "Softmax")]


def test_a_profile_of_onnx_runtime_that_ends_early_opens_as_far_as_it_goes(tmp_path: Path) -> None:
    path = text_file(tmp_path, onnx_text(ORT)[:-80], "cut.json")
    assert {row[0] for row in rows(imported(tmp_path, path), "range")} >= {"session_initialization"}
    with pytest.raises(ImportFormatError, match="damaged"):
        import_files(
            [text_file(tmp_path, onnx_text(ORT).partition('"args"')[0], "short.json")], tmp_path / "out.h5"
        )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ts", (1 << 64) - 1),
        ("ts", (1 << 63) - 1),
        ("dur", (1 << 63) - 1),
        ("dur", -1),
        ("pid", 10**20 - 1),
        ("tid", 10**20 - 1),
    ],
)
def test_events_of_onnx_runtime_with_impossible_numbers_are_damaged(
    tmp_path: Path, field: str, value: int
) -> None:
    path = text_file(tmp_path, onnx_text([*ORT[:-1], {**ORT[-1], field: value}]), "onnxruntime_profile.json")
    capture = imported(tmp_path, path)
    assert skipped(capture) == {"events": 1}
    assert "model_run" not in {row[0] for row in rows(capture, "range")}


def test_the_greatest_numbers_of_onnx_runtime_open(tmp_path: Path) -> None:
    most = {"pid": (1 << 63) - 1, "tid": (1 << 63) - 1, "ts": 1 << 50, "dur": 1 << 50}
    path = text_file(tmp_path, onnx_text([*ORT[:-1], {**ORT[-1], **most}]), "onnxruntime_profile.json")
    (run,) = [row for row in rows(imported(tmp_path, path), "range") if row[0] == "model_run"]
    assert run[2] == 1000 << 50


def test_executed_layers_of_openvino_follow_each_other(tmp_path: Path) -> None:
    path = text_file(tmp_path, OPENVINO, "benchmark_detailed_counters_report.csv")
    assert detect(path).name == "openvino"
    capture = imported(tmp_path, path)
    found = [(name, start - capture.span[0], length) for name, start, length, _ in rows(capture, "operator")]
    assert found == [("Convolution", 0, 69_000), ("FullyConnected", 69_000, 97_428_000)]
    assert attributes(capture, "Convolution")["arguments"] == "layer=conv0; kernel=brgconv_avx512_bf16"
    assert (np.asarray(capture.events.flags) & int(Flag.ESTIMATED)).all()
    assert skipped(capture) == {"layers": 1}


def test_calls_of_tvm_are_operators_of_the_cpu_and_kernels_of_a_gpu(tmp_path: Path) -> None:
    path = text_file(tmp_path, tvm_report(), "tvm.json")
    assert detect(path).name == "tvm"
    capture = imported(tmp_path, path)
    assert [row[::2] for row in rows(capture, "operator")] == [("fused_dense", 12_300)]
    assert [row[::2] for row in rows(capture, "kernel")] == [("fused_conv2d_kernel", 40_000)]
    assert skipped(capture) == {"calls": 1}
    too_long = tvm_report().replace('"microseconds": 12.3', '"microseconds": 2e9')
    assert skipped(imported(tmp_path, text_file(tmp_path, too_long, "long.json"))) == {"calls": 2}
    with pytest.raises(ImportFormatError, match="damaged"):
        import_files([text_file(tmp_path, tvm_report()[:-30], "cut.json")], tmp_path / "out.h5")
