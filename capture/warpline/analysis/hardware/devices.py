"""Peak rates of devices, from their vendors' data sheets.

Rates are dense (without structured sparsity) and at the boost clock. A device that is not listed is not judged.
Each row names the vendor's sheet and, where one was found, a page that repeats numbers of it, with which the row was
compared. A row without such a page is unconfirmed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpline.i18n import english

if TYPE_CHECKING:
    from warpline.model import Device
    from warpline.storage import Capture

_NV = "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center"
_NV_RESOURCES = "https://resources.nvidia.com/en-us-tensor-core"
_AMD = "https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs"
_V100 = (
    "https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf"
)
_A100 = f"{_NV}/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf"
_A100_40 = f"{_NV}/a100/pdf/nvidia-a100-datasheet.pdf"
_L40 = "https://www.nvidia.com/en-us/data-center/l40/"
_GA102 = "https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf"
_ADA = "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf"
_RTX_BLACKWELL = (
    "https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf"
)
# Pages that repeat numbers from the data sheets.
_ML_ENGINEERING = "https://github.com/stas00/ml-engineering/blob/master/compute/accelerator/README.md"
_KLOCKWOOD = "https://glennklockwood.com/garden/processors"
_PASCAL = (
    "https://hothardware.com/news/nvidia-unveils-beastly-tesla-p100-15-billion-transistor-16nm-finfet-gpu"
)
_PASCAL_PCIE = (
    "https://tech4gamers.com/nvidia-tesla-p100-will-be-available-in-two-variants-of-16gb-12gb-hbm2/"
)
_VOLTA = "https://sysrqmts.com/es/gpus/compare/nvidia-tesla-t4-vs-nvidia-tesla-v100-sxm3-32-gb"
_A40_PAGE = (
    "https://www.ecer.com/corp/details-uuuedqa-p1bsay9-multi-display-setups-supported-by-48gb-gddr6-ecc-memory-"
    "nvidia-a40-gpu-and-vga-outputs.html"
)
_L4_PAGE = "https://store.sourcecode.com/en-us/bg-bucket-compare/125/9820"
_L40_PAGE = "https://www.mullet.se/product.html?product_id=355414"
_H100_PAGE = "https://archive-lib.hpctech.co.jp/gpuproduct/nvidia-h100.html"
_B200_PAGE = "https://zdszero.github.io/Computer/Artificial_Intelligence/Hardware.html"
_RTX_4090_PAGE = "https://waredb.com/processor/nvidia-geforce-rtx-4090"
_MI200_PAGE = "https://zexron.com/amd-mi250-x-aldebaran-as-mcm-with-up-to-479-teraflop-s-and-560-watt-tdp"
_GIB = 1 << 30


@dataclass(frozen=True, kw_only=True)
class DeviceModel:
    """Peaks of one model: TFLOP/s (int8: TOP/s) by precision, and GB/s of its memory and of its links.

    ``peaks`` has vector rates (fp64, fp32), matrix rates (fp64_matrix, fp32_matrix) and rates of tensor or matrix cores
    (tf32, bf16, fp16, fp8, int8). ``link`` is NVLink or Infinity Fabric in both directions, else PCIe. ``least_gib``
    tells models of one name apart by their memory. ``source`` is the vendor's sheet, ``compared`` a page with which
    the rates and the memory bandwidth agree, as far as it has them; empty: the row is unconfirmed.
    """

    name: str
    pattern: str
    peaks: Mapping[str, float]
    memory: float
    link: float
    source: str
    compared: str = ""
    least_gib: int = 0

    def flops_per_second(self, precision: str) -> float | None:
        """The peak rate of a precision; None where the data sheet gives none."""
        value = self.peaks.get(precision)
        return None if value is None else value * 1e12

    @property
    def bytes_per_second(self) -> float:
        """Peak bandwidth of the memory."""
        return self.memory * 1e9

    def ridge(self, precision: str) -> float | None:
        """FLOPs per byte from which computation, not memory, limits an operator."""
        peak = self.flops_per_second(precision)
        return None if peak is None else peak / self.bytes_per_second


def _halves(rate: float) -> dict[str, float]:
    return {"bf16": rate, "fp16": rate}


_A100_PEAKS = {"fp64": 9.7, "fp64_matrix": 19.5, "fp32": 19.5, "tf32": 156, **_halves(312), "int8": 624}
_HOPPER = {
    "fp64": 34,
    "fp64_matrix": 67,
    "fp32": 67,
    "tf32": 494.7,
    **_halves(989.4),
    "fp8": 1978.9,
    "int8": 1978.9,
}
_HOPPER_NVL = {
    "fp64": 30, "fp64_matrix": 60, "fp32": 60, "tf32": 417.5, **_halves(835.5), "fp8": 1670.5, "int8": 1670.5
}  # fmt: skip
_CDNA3 = {
    "fp64": 81.7, "fp64_matrix": 163.4, "fp32": 163.4, "fp32_matrix": 163.4, "tf32": 653.7, **_halves(1307.4),
    "fp8": 2614.9, "int8": 2614.9,
}  # fmt: skip

DEVICES: tuple[DeviceModel, ...] = (
    # Pages from the launch of the P100 give 720 GB/s, later ones 732.
    DeviceModel(
        name="P100 SXM2", pattern=r"\bP100-SXM2", peaks={"fp64": 5.3, "fp32": 10.6, "fp16": 21.2}, memory=732, link=160,
        source="https://images.nvidia.com/content/pdf/tesla/whitepaper/pascal-architecture-whitepaper.pdf",
        compared=_PASCAL,
    ),
    DeviceModel(
        name="P100 PCIe", pattern=r"\bP100-PCIE-16GB", peaks={"fp64": 4.7, "fp32": 9.3, "fp16": 18.7}, memory=732,
        link=32, source="https://images.nvidia.com/content/tesla/pdf/nvidia-tesla-p100-PCIe-datasheet.pdf",
        compared=_PASCAL_PCIE,
    ),
    DeviceModel(
        name="V100 SXM2", pattern=r"\bV100-(SXM2|SXM3|DGXS)", peaks={"fp64": 7.8, "fp32": 15.7, "fp16": 125},
        memory=900, link=300, source=_V100,
        compared=_VOLTA,
    ),
    DeviceModel(
        name="V100 PCIe", pattern=r"\bV100-PCIE", peaks={"fp64": 7.0, "fp32": 14.0, "fp16": 112}, memory=900, link=32,
        source=_V100,
    ),
    DeviceModel(
        name="T4", pattern=r"\bT4$", peaks={"fp32": 8.1, "fp16": 65, "int8": 130}, memory=320, link=32,
        source=f"{_NV}/tesla-t4/t4-tensor-core-datasheet-951643.pdf",
    ),
    DeviceModel(
        name="A10", pattern=r"\bA10$", peaks={"fp32": 31.2, "tf32": 62.5, **_halves(125), "int8": 250},
        memory=600, link=64, source=f"{_NV}/a10/pdf/a10-datasheet.pdf",
    ),
    DeviceModel(
        name="A30", pattern=r"\bA30$",
        peaks={"fp64": 5.2, "fp64_matrix": 10.3, "fp32": 10.3, "tf32": 82, **_halves(165), "int8": 330},
        memory=933, link=200, source=f"{_NV}/a30/pdf/a30-datasheet.pdf",
    ),
    DeviceModel(
        name="A40", pattern=r"\bA40$", peaks={"fp32": 37.4, "tf32": 74.8, **_halves(149.7), "int8": 299.3}, memory=696,
        link=112.5, source="https://images.nvidia.com/content/Solutions/data-center/a40/nvidia-a40-datasheet.pdf",
        compared=_A40_PAGE,
    ),
    DeviceModel(
        name="A100 SXM 80 GB", pattern=r"\bA100-(SXM\d?-80GB|PG\d+-\d+)", peaks=_A100_PEAKS, memory=2039, link=600,
        source=_A100,
        compared=f"{_KLOCKWOOD}/A100", least_gib=60,
    ),
    DeviceModel(
        name="A100 PCIe 80 GB", pattern=r"\bA100 80GB PCIe", peaks=_A100_PEAKS, memory=1935, link=600, source=_A100,
        compared=_ML_ENGINEERING
    ),
    DeviceModel(
        name="A100 40 GB", pattern=r"\bA100-(SXM\d?-40GB|PCIE-40GB|PG\d+-\d+)", peaks=_A100_PEAKS, memory=1555,
        link=600, source=_A100_40,
        compared=f"{_KLOCKWOOD}/A100",
    ),
    DeviceModel(
        name="L4", pattern=r"\bL4$",
        peaks={"fp32": 30.3, "tf32": 60, **_halves(121), "fp8": 242.5, "int8": 242.5}, memory=300, link=64,
        source="https://www.nvidia.com/en-us/data-center/l4/",
        compared=_L4_PAGE,
    ),
    DeviceModel(
        name="L40", pattern=r"\bL40$", peaks={"fp32": 90.5, "tf32": 90.5, **_halves(181), "fp8": 362, "int8": 362},
        memory=864, link=64, source=_L40,
        compared=_L40_PAGE,
    ),
    DeviceModel(
        name="L40S", pattern=r"\bL40S$", peaks={"fp32": 91.6, "tf32": 183, **_halves(362), "fp8": 733, "int8": 733},
        memory=864, link=64, source="https://www.nvidia.com/en-us/data-center/l40s/",
        compared=_L40_PAGE,
    ),
    DeviceModel(
        name="H100 SXM", pattern=r"\bH100 (80GB HBM3|SXM)", peaks=_HOPPER, memory=3350, link=900,
        source=f"{_NV_RESOURCES}/nvidia-tensor-core-gpu-datasheet",
        compared=_H100_PAGE,
    ),
    DeviceModel(
        name="H100 PCIe", pattern=r"\bH100 PCIe",
        peaks={
            "fp64": 26, "fp64_matrix": 51, "fp32": 51, "tf32": 378, **_halves(756), "fp8": 1513, "int8": 1513
        },
        memory=2000, link=600, source=f"{_NV_RESOURCES}/nvidia-tensor-core-gpu-datasheet",
        compared=_H100_PAGE,
    ),
    DeviceModel(
        name="H100 NVL", pattern=r"\bH100 NVL", peaks=_HOPPER_NVL, memory=3900, link=600,
        source="https://www.nvidia.com/en-us/data-center/h100/",
    ),
    DeviceModel(
        name="H200 NVL", pattern=r"\bH200 NVL", peaks=_HOPPER_NVL, memory=4800, link=900,
        source="https://www.nvidia.com/en-us/data-center/h200/",
    ),
    DeviceModel(
        name="H200 SXM", pattern=r"\bH200\b", peaks=_HOPPER, memory=4800, link=900,
        source="https://www.nvidia.com/en-us/data-center/h200/",
        compared=_ML_ENGINEERING,
    ),
    DeviceModel(
        name="GH200 144 GB", pattern=r"\bGH200\b", peaks=_HOPPER, memory=4900, link=900, least_gib=120,
        source="https://resources.nvidia.com/en-us-grace-cpu/grace-hopper-superchip",
    ),
    DeviceModel(
        name="GH200 96 GB", pattern=r"\bGH200\b", peaks=_HOPPER, memory=4000, link=900,
        source="https://resources.nvidia.com/en-us-grace-cpu/grace-hopper-superchip",
    ),
    DeviceModel(
        name="B200", pattern=r"(?<!G)\bB200\b",
        peaks={
            "fp64": 37, "fp64_matrix": 37, "fp32": 75, "tf32": 1125, **_halves(2250), "fp8": 4500, "int8": 4500
        },
        memory=7700, link=1800, source="https://www.nvidia.com/en-us/data-center/hgx/",
        compared=_B200_PAGE,
    ),
    DeviceModel(
        name="RTX 3090", pattern=r"\bRTX 3090$", peaks={"fp32": 35.6, "tf32": 35.6, **_halves(71), "int8": 284},
        memory=936, link=112.5, source=_GA102,
    ),
    DeviceModel(
        name="RTX 4090", pattern=r"\bRTX 4090$",
        peaks={"fp32": 82.6, "tf32": 82.6, **_halves(165.2), "fp8": 330.3, "int8": 660.6}, memory=1008, link=64,
        source=_ADA,
        compared=_RTX_4090_PAGE,
    ),
    DeviceModel(
        name="RTX 5090", pattern=r"\bRTX 5090$",
        peaks={"fp32": 104.8, "tf32": 104.8, **_halves(209.5), "fp8": 419, "int8": 838}, memory=1792, link=128,
        source=_RTX_BLACKWELL,
    ),
    DeviceModel(
        name="MI210", pattern=r"\bMI210\b",
        peaks={
            "fp64": 22.6, "fp64_matrix": 45.3, "fp32": 22.6, "fp32_matrix": 45.3, **_halves(181), "int8": 181
        },
        memory=1638, link=300, source="https://www.amd.com/en/products/accelerators/instinct/mi200/mi210.html",
    ),
    # A card has two dies, and each is a device of its own: half of the data sheet's rates and 3,277 GB/s.
    DeviceModel(
        name="MI250X (one die)", pattern=r"\bMI250X\b",
        peaks={
            "fp64": 23.9, "fp64_matrix": 47.9, "fp32": 23.9, "fp32_matrix": 47.9, **_halves(191.5), "int8": 191.5
        },
        memory=1638, link=400, source="https://www.amd.com/en/products/accelerators/instinct/mi200/mi250x.html",
        compared=_MI200_PAGE,
    ),
    DeviceModel(
        name="MI250 (one die)", pattern=r"\bMI250\b",
        peaks={
            "fp64": 22.6, "fp64_matrix": 45.3, "fp32": 22.6, "fp32_matrix": 45.3, **_halves(181), "int8": 181
        },
        memory=1638, link=300, source="https://www.amd.com/en/products/accelerators/instinct/mi200/mi250.html",
        compared=_MI200_PAGE,
    ),
    DeviceModel(
        name="MI300X", pattern=r"\bMI300X\b", peaks=_CDNA3, memory=5300, link=896,
        source=f"{_AMD}/data-sheets/amd-instinct-mi300x-data-sheet.pdf",
        compared=_ML_ENGINEERING,
    ),
    DeviceModel(
        name="MI325X", pattern=r"\bMI325X\b", peaks=_CDNA3, memory=6000, link=896,
        source=f"{_AMD}/product-briefs/instinct-mi325x-datasheet.pdf",
        compared=_ML_ENGINEERING,
    ),
    DeviceModel(
        name="MI355X", pattern=r"\bMI355X\b",
        peaks={
            "fp64": 78.6, "fp64_matrix": 78.6, "fp32": 157.3, "fp32_matrix": 157.3, **_halves(2516.6), "fp8": 5033.2,
            "int8": 5033.2,
        },
        memory=8000, link=1075,
        source=f"{_AMD}/product-briefs/amd-instinct-mi355x-gpu-brochure.pdf",
        compared=_ML_ENGINEERING,
    ),
)  # fmt: skip
"""The known models; the first match wins. Public data sheets give no rates of single Ascend 910B variants."""


def find_device(name: str, memory_bytes: int = 0) -> DeviceModel | None:
    """The model of a device's name (as the driver gives it) and its memory, if known; None for an unknown one."""
    for device in DEVICES:
        enough = not device.least_gib or memory_bytes >= device.least_gib * _GIB
        if enough and re.search(device.pattern, name, re.IGNORECASE):
            return device
    return None


def device_of(capture: Capture, index: int, rank: int | None) -> tuple[DeviceModel | None, str]:
    """The model of a capture's device, or None and the reason why its work cannot be judged."""
    for device in capture.devices:
        if device.index != index or device.rank not in (None, rank):
            continue
        model = find_device(device.name, _memory(device))
        if model is not None:
            return model, ""
        if device.name and not _NO_NAME.match(device.name):
            return None, english("the peak rates of {device} are not known", device=device.name)
    return None, english("the capture does not name the device's model")


def memory_of(capture: Capture, index: int, rank: int | None) -> int:
    """The memory of a capture's device, bytes; 0 when it was not recorded."""
    return next(
        (
            _memory(device)
            for device in capture.devices
            if device.index == index and device.rank in (None, rank)
        ),
        0,
    )


def _memory(device: Device) -> int:
    properties = dict(device.properties)
    return next((int(properties[key]) for key in _MEMORY_KEYS if str(properties.get(key, "")).isdigit()), 0)


_MEMORY_KEYS = ("totalGlobalMem", "total_memory", "totalMemory", "memory_bytes")
_NO_NAME = re.compile(r"(GPU|NPU)( \d+)?$")
