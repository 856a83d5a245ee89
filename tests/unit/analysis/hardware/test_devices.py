"""Which data sheet applies to a device, by the name that its driver gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpline.analysis.hardware.devices import DEVICES, find_device

GIB = 1 << 30


@pytest.mark.parametrize(
    ("name", "memory_gib", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", 79, "H100 SXM"),
        ("NVIDIA H100 PCIe", 79, "H100 PCIe"),
        ("NVIDIA H100 NVL", 93, "H100 NVL"),
        ("NVIDIA H200", 140, "H200 SXM"),
        ("NVIDIA H200 NVL", 140, "H200 NVL"),
        ("NVIDIA GH200 480GB", 95, "GH200 96 GB"),
        ("NVIDIA B200", 178, "B200"),
        ("NVIDIA A100-SXM4-40GB", 39, "A100 40 GB"),
        ("NVIDIA A100-SXM4-80GB", 79, "A100 SXM 80 GB"),
        ("NVIDIA A100 80GB PCIe", 79, "A100 PCIe 80 GB"),
        ("NVIDIA A100-PG509-200", 39, "A100 40 GB"),
        ("Tesla V100-SXM2-32GB", 31, "V100 SXM2"),
        ("Tesla T4", 15, "T4"),
        ("NVIDIA A10", 22, "A10"),
        ("NVIDIA L4", 22, "L4"),
        ("NVIDIA L40S", 45, "L40S"),
        ("NVIDIA GeForce RTX 4090", 23, "RTX 4090"),
        ("AMD Instinct MI300X VF", 191, "MI300X"),
        ("AMD Instinct MI250X", 63, "MI250X (one die)"),
        ("AMD Instinct MI250", 63, "MI250 (one die)"),
        # Models that merely have a similar name.
        ("NVIDIA A10G", 22, None),
        ("NVIDIA GB200", 184, None),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 15, None),
        ("GPU 0", 0, None),
    ],
)
def test_a_model_is_found_by_name_and_memory(name: str, memory_gib: int, expected: str | None) -> None:
    device = find_device(name, memory_gib * GIB)
    assert (device and device.name) == expected


def test_every_model_has_plausible_peaks_and_a_source() -> None:
    assert len({device.name for device in DEVICES}) == len(DEVICES)
    for device in DEVICES:
        for page in filter(None, (device.source, device.compared)):
            assert re.match(r"https://\S+$", page)
        peaks = device.peaks
        order = [peaks[key] for key in ("fp64", "fp32", "bf16", "fp8") if key in peaks]
        assert order == sorted(order), device.name
        assert peaks.get("int8", peaks["fp16"]) >= peaks["fp16"]
        ridge = device.ridge("fp16")
        # FLOPs per byte that a model needs to be limited by computation: 29 of a P100, 390 of an L40S.
        assert ridge, device.name
        assert 20 < ridge < 450, device.name


def test_the_documentation_names_the_rows_that_nothing_confirms() -> None:
    text = " ".join((Path(__file__).parents[4] / "docs" / "findings.md").read_text("utf-8").split())
    names = re.search(r"are unconfirmed: (.*?)\.", text)
    assert names is not None
    assert names[1].split(", ") == [device.name for device in DEVICES if not device.compared]
