"""Tensor cores are told where a kernel's name or its hardware tells, and never guessed to be idle."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from warpline.analysis.framework.registry import compute_report
from warpline.analysis.structure.kernel_name_facts import library_of, number_format_of
from warpline.analysis.structure.kernels import tensor_cores_of
from warpline.cli import main
from warpline.storage import CaptureBuilder, open_capture

YES, NO, UNKNOWN = (
    "ampere_fp16_s16816gemm_fp16_128x64",
    "volta_sgemm_128x32_nt",
    "cutlass::Kernel<my_product>",
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (YES, True),
        ("Cijk_Alik_Bljk_HB_MT64x32x64_MI16x16x16x1_SN_1LDSB0", True),
        ("void cutlass::Kernel<cutlass_80_tensorop_f16_s16816gemm>(Params)", True),
        (NO, False),
        ("volta_scudnn_128x64_relu_small_nn_v1", False),
        ("void at::native::vectorized_elementwise_kernel<4, AddFunctor<float>>(int)", False),
        ("triton_poi_fused_add_0", False),
        (UNKNOWN, None),
        ("triton_tem_fused_mm_3", None),
        ("Cijk_Ailk_Bljk_SB_MT128x128x16_SE_1LDSB0", None),
        ("my_kernel", None),
    ],
)
def test_kernel_names_decide_tensor_core_use(name: str, expected: bool | None) -> None:
    assert tensor_cores_of(name) is expected


@pytest.mark.parametrize(
    ("name", "number_format", "library"),
    [
        (YES, "fp16", "cuBLAS"),
        (NO, "fp32", "cuBLAS"),
        (UNKNOWN, None, "CUTLASS"),
        ("trt_volta_h884cudnn_256x64_ldg8_relu_exp_small_nhwc_tn_v1", "fp16", "TensorRT"),
        ("trt_volta_int8x4_icudnn_int8x4_128x64_relu_small_nn_v1", "int8", "TensorRT"),
        ("sm80_xmma_fprop_implicit_gemm_interleaved_i8i8_i8i32_f32_nchw_vect_c_32kcrs", "int8", "TensorRT"),
        ("void cutlass::Kernel<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128>(Params)", "bf16", "CUTLASS"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_tf32_256x128>(Params)", "tf32", "CUTLASS"),
        ("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x64", "fp8", "TensorRT"),
        (
            "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64__5x_cudnn",
            "fp16",
            "cuDNN",
        ),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x16_stage3__5x_cublas", "tf32", "cuBLAS"),
        ("cutlass_80_tensorop_s1688gemm_128x128_16x4_nt_align4", "tf32", "CUTLASS"),
        ("cutlass_75_tensorop_f16_s1688gemm_f16_128x128_32x2_nn_align8", "fp16", "CUTLASS"),
        ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", "fp16", "cuBLAS"),
        ("cutlass_80_tensorop_bf16_s1688gemm_bf16_128x128", "bf16", "CUTLASS"),
        ("cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1", "fp64", "CUTLASS"),
        ("void at::native::vectorized_elementwise_kernel<4, AddFunctor<c10::Half>>(int)", "fp16", "PyTorch"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "fp32", "NCCL"),
        ("volta_dgemm_64x64_nn", "fp64", "cuBLAS"),
        ("triton_poi_fused_add_0", None, "Triton"),
        ("my_kernel", None, None),
    ],
)
def test_kernel_names_say_number_format_and_library(
    name: str, number_format: str | None, library: str | None
) -> None:
    assert (number_format_of(name), library_of(name)) == (number_format, library)


def write_kernels(path: Path, names: list[str], *, has_grid: bool) -> Path:
    """A kernel of each name; without a grid of blocks, as on accelerators that have none."""
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 1000 * len(names))
        gpu = builder.track("gpu/0", title="GPU 0", role="gpu", device=0)
        stream = builder.track("gpu/0/stream/7", title="Stream 7", role="stream", parent=gpu, stream=7)
        starts = 1000 * np.arange(len(names))
        grid = {"grid_x": np.full(len(names), 8)} if has_grid else {}
        builder.add_events(stream, "kernel", starts, 500, builder.strings(names), attributes=grid)
        builder.finish()
    return path


@pytest.mark.parametrize(("has_grid", "expected"), [(True, [True, False, None]), (False, [None] * 3)])
def test_unknown_tensor_core_use_is_masked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], has_grid: bool, expected: list[bool | None]
) -> None:
    path = write_kernels(tmp_path / "kernels.h5", [YES, NO, UNKNOWN], has_grid=has_grid)
    with open_capture(path) as capture:
        table = compute_report(capture, "kernel").table
    assert table is not None
    found = {table.value(row, "name"): table.value(row, "tensor_cores") for row in range(len(table))}
    assert [found[name] for name in (YES, NO, UNKNOWN)] == expected
    assert main(["stats", str(path), "--report", "kernel", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["name"]: row["tensor_cores"] for row in rows} == dict(
        zip((YES, NO, UNKNOWN), expected, strict=True)
    )
