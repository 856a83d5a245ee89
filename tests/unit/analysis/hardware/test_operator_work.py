"""The work of single operators, counted by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from warpline.analysis.hardware.arguments import parse_arguments
from warpline.analysis.hardware.operator_work import OperatorWork, work_of


def _work(
    name: str, shapes: list[Any], kind: str = "c10::Half", values: list[str] | None = None
) -> OperatorWork | None:
    types = json.dumps([kind] * len(shapes))
    arguments = parse_arguments(json.dumps(shapes), types, json.dumps(values or []))
    return work_of(name, arguments) if arguments else None


@pytest.mark.parametrize(
    ("name", "shapes", "values", "flops", "moved"),
    [
        ("aten::mm", [[4, 8], [8, 16]], None, 2 * 4 * 8 * 16, 2 * (4 * 8 + 8 * 16 + 4 * 16)),
        ("aten::linear", [[2, 3, 8], [16, 8]], None, 2 * 6 * 8 * 16, 2 * (6 * 8 + 16 * 8 + 6 * 16)),
        ("aten::bmm", [[5, 4, 8], [5, 8, 16]], None, 5 * 2 * 4 * 8 * 16, 5 * 2 * (4 * 8 + 8 * 16 + 4 * 16)),
        (
            # Two groups of 4 channels; stride 2 halves an image of 6 x 6, padded by 1.
            "aten::convolution",
            [[1, 8, 6, 6], [8, 4, 3, 3], [], [], [], [], [], [], []],
            ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"],
            2 * 8 * 3 * 3 * (4 * 3 * 3),
            2 * (8 * 36 + 8 * 4 * 9 + 8 * 9),
        ),
        (
            "aten::_scaled_dot_product_flash_attention",
            [[1, 2, 4, 8], [1, 2, 4, 8], [1, 2, 4, 8], [], [], []],
            ["", "", "", "0.", "True", "False"],
            # Causal: 10 of 16 pairs.
            2 * 2 * 10 * 16,
            4 * 2 * (2 * 4 * 8),
        ),
        ("aten::add_", [[4, 8], [8]], None, 32, 2 * (32 + 8 + 32)),
        ("aten::copy_", [[4, 8], [4, 8]], None, 0, 2 * 64),
        ("triton_poi_fused_add_0", [[64], [64], []], None, 0, 2 * 128 + 2),
    ],
)  # fmt: skip
def test_flops_and_bytes(
    name: str, shapes: list[Any], values: list[str] | None, flops: int, moved: int
) -> None:
    work = _work(name, shapes, values=values)
    assert work is not None
    assert (work.flops, work.bytes, work.precision) == (flops, moved, "fp16")


def test_a_convolution_without_its_stride_needs_the_recorded_flops() -> None:
    shapes = "[1, 3, 8, 8], [16, 3, 3, 3], []"
    arguments = parse_arguments(shapes, "float, float, ")
    assert arguments is not None
    assert work_of("aten::conv2d", arguments) is None
    work = work_of("aten::conv2d", arguments, 2 * 16 * 36 * 27)
    assert work is not None
    assert work.flops == 2 * 16 * 36 * 27
    assert work.bytes == 4 * (3 * 64 + 16 * 27 + 16 * 36)


@pytest.mark.parametrize(
    ("shapes", "types"),
    [
        ("[[4, 8], [9, 16]]", '["float", "float"]'),
        ("[[4, -8], [-8, 16]]", '["float", "float"]'),
        ("[[4, 99999999999999999999], [8, 16]]", '["float", "float"]'),
        ("[[1099511627775, 1099511627775], [1099511627775, 1099511627775]]", '["float", "float"]'),
        ('["x", {}]', '["float", "float"]'),
        ("[[4, 8], [8, 16]]", '["weird", "float"]'),
        ("[[4, 8", '["float"]'),
        ("[]", "[]"),
        ("", ""),
    ],
)
def test_damaged_shapes_give_no_work(shapes: str, types: str) -> None:
    arguments = parse_arguments(shapes, types)
    assert arguments is None or work_of("aten::mm", arguments) is None
