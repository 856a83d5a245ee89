"""GPU performance monitoring (GPM) of NVML: what the units of a GPU did between two samples, from Hopper on.

The samples must be more than 100 ms apart (nvml.h, ``nvmlGpmMetricsGet``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warpline.i18n import english
from warpline.recording.sources.nvml.quantity import Quantity

_PERCENT, _MIB_PER_SECOND = 0.01, float(1 << 20)


@dataclass(frozen=True, kw_only=True)
class GpmMetric(Quantity):
    """A quantity of GPM: its name in NVML, and the factor from NVML's unit to ``unit``."""

    constant: str
    factor: float


def _ratio(number: int, key: str, title: str, name: str) -> GpmMetric:
    constant = f"NVML_GPM_METRIC_{name}_UTIL"
    return GpmMetric(number=number, key=key, title=title, unit="ratio", constant=constant, factor=_PERCENT)


def _rate(number: int, key: str, title: str, name: str) -> GpmMetric:
    constant = f"NVML_GPM_METRIC_{name}_PER_SEC"
    return GpmMetric(
        number=number, key=key, title=title, unit="bytes/s", constant=constant, factor=_MIB_PER_SECOND
    )


GPM_METRICS: tuple[GpmMetric, ...] = (
    _ratio(20, "sm_active", english("SM active"), "SM"),
    GpmMetric(
        number=21,
        key="sm_occupancy",
        title=english("SM occupancy"),
        unit="ratio",
        constant="NVML_GPM_METRIC_SM_OCCUPANCY",
        factor=_PERCENT,
    ),
    _ratio(22, "tensor_active", english("Tensor cores active"), "ANY_TENSOR"),
    _ratio(23, "tensor_hmma", english("Tensor cores: half precision (HMMA)"), "HMMA_TENSOR"),
    _ratio(24, "tensor_imma", english("Tensor cores: integer (IMMA)"), "IMMA_TENSOR"),
    _ratio(25, "tensor_dmma", english("Tensor cores: double precision (DMMA)"), "DMMA_TENSOR"),
    _ratio(26, "tensor_dfma", english("Tensor cores: double precision (DFMA)"), "DFMA_TENSOR"),
    _ratio(27, "fp64_active", english("FP64 units active"), "FP64"),
    _ratio(28, "fp32_active", english("FP32 units active"), "FP32"),
    _ratio(29, "fp16_active", english("FP16 units active"), "FP16"),
    _ratio(30, "integer_active", english("Integer units active"), "INTEGER"),
    _ratio(31, "dram_bandwidth", english("DRAM bandwidth"), "DRAM_BW"),
    _rate(32, "gpm_pcie_sent", english("PCIe sent (GPM)"), "PCIE_TX"),
    _rate(33, "gpm_pcie_received", english("PCIe received (GPM)"), "PCIE_RX"),
    _rate(34, "nvlink_sent", english("NVLink sent"), "NVLINK_TOTAL_TX"),
    _rate(35, "nvlink_received", english("NVLink received"), "NVLINK_TOTAL_RX"),
)
"""The metrics, in display order."""


class GpmUnavailable(Exception):
    """This GPU has no GPM; the message says why."""


class GpmSampler:
    """Reads the metrics of one GPU. Each metric fails alone: one that the GPU lacks is in ``missing``."""

    def __init__(self, library: Any, device: Any) -> None:
        """Raises GpmUnavailable."""
        if not hasattr(library, "nvmlGpmMetricsGet"):
            raise GpmUnavailable(english("this nvidia-ml-py is too old"))
        try:
            is_supported = library.nvmlGpmQueryDeviceSupport(device).isSupportedDevice
        except library.NVMLError as error:
            raise GpmUnavailable(english("NVML refuses: {why}", why=error)) from error
        if not is_supported:
            raise GpmUnavailable(english("a Hopper or newer GPU is needed"))
        self._library, self._device = library, device
        self._wanted = [metric for metric in GPM_METRICS if hasattr(library, metric.constant)]
        self.missing = {metric.number for metric in GPM_METRICS if metric not in self._wanted}
        self._samples: list[Any] = []
        try:
            self._samples = [library.nvmlGpmSampleAlloc() for _ in range(2)]
        except library.NVMLError as error:
            self.close()
            raise GpmUnavailable(english("NVML refuses: {why}", why=error)) from error
        self._has_previous = False

    def restart(self) -> None:
        """Begin a new interval: the next `read` returns nothing, the one after it covers the time since then."""
        self._has_previous = False

    def read(self) -> list[tuple[int, float]]:
        """Numbers and values of the metrics since the last call. Raises NVML's error if the GPU gives no sample."""
        self._samples.reverse()
        had_previous, self._has_previous = self._has_previous, False
        self._library.nvmlGpmSampleGet(self._device, self._samples[1])
        self._has_previous = True
        if not had_previous or not self._wanted:
            return []
        request = self._library.c_nvmlGpmMetricsGet_t()
        request.version = self._library.NVML_GPM_METRICS_GET_VERSION
        request.numMetrics = len(self._wanted)
        request.sample1, request.sample2 = self._samples
        for index, metric in enumerate(self._wanted):
            request.metrics[index].metricId = getattr(self._library, metric.constant)
        self._library.nvmlGpmMetricsGet(request)
        values: list[tuple[int, float]] = []
        lacking = []
        for index, metric in enumerate(self._wanted):
            result = request.metrics[index].nvmlReturn
            if result == self._library.NVML_SUCCESS:
                values.append((metric.number, request.metrics[index].value * metric.factor))
            elif result == self._library.NVML_ERROR_NOT_SUPPORTED:
                lacking.append(metric)
        for metric in lacking:
            self._wanted.remove(metric)
            self.missing.add(metric.number)
        return values

    def close(self) -> None:
        """Free the samples."""
        for sample in self._samples:
            self._library.nvmlGpmSampleFree(sample)
        self._samples = []
