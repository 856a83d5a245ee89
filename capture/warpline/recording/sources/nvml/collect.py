"""Samples GPUs through NVIDIA's management library: load, memory, power, clocks, temperature, PCIe traffic, GPM.

An error concerns one quantity of one GPU; everything else is still sampled. Sampling has its own thread: some queries
take 20 ms and must not delay the draining of perf's rings.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warpline.i18n import english
from warpline.memory_room import require_memory
from warpline.model.tracks import Source
from warpline.recording.sources.collector import Collector, Watched
from warpline.recording.sources.nvml import records
from warpline.recording.sources.nvml.gpm import GPM_METRICS, GpmSampler, GpmUnavailable
from warpline.recording.sources.nvml.quantity import Quantity
from warpline.recording.unavailable import Unavailable

PERIOD_S = 0.1
SLOW_PERIOD_S = 1.0

NO_DRIVER = english("no NVIDIA driver")


@dataclass(frozen=True, kw_only=True)
class Metric(Quantity):
    """A quantity that NVML answers with at once, and how to read it.

    ``read(library, device)`` returns the value in ``unit``. ``slow`` metrics are read once a second.
    """

    read: Callable[[Any, Any], float]
    slow: bool = False


METRICS: tuple[Metric, ...] = (
    Metric(
        number=1,
        key="utilization",
        title=english("GPU utilization"),
        unit="ratio",
        read=lambda n, d: n.nvmlDeviceGetUtilizationRates(d).gpu / 100,
    ),
    Metric(
        number=2,
        key="memory_utilization",
        title=english("Memory controller utilization"),
        unit="ratio",
        read=lambda n, d: n.nvmlDeviceGetUtilizationRates(d).memory / 100,
    ),
    Metric(
        number=3,
        key="memory_used",
        title=english("Memory used"),
        unit="bytes",
        read=lambda n, d: n.nvmlDeviceGetMemoryInfo(d).used,
    ),
    Metric(
        number=4,
        key="power",
        title=english("Power"),
        unit="W",
        read=lambda n, d: n.nvmlDeviceGetPowerUsage(d) / 1000,
    ),
    Metric(
        number=5,
        key="sm_clock",
        title=english("SM clock"),
        unit="MHz",
        read=lambda n, d: n.nvmlDeviceGetClockInfo(d, n.NVML_CLOCK_SM),
    ),
    Metric(
        number=6,
        key="memory_clock",
        title=english("Memory clock"),
        unit="MHz",
        read=lambda n, d: n.nvmlDeviceGetClockInfo(d, n.NVML_CLOCK_MEM),
    ),
    Metric(
        number=7,
        key="temperature",
        title=english("Temperature"),
        unit="°C",
        read=lambda n, d: n.nvmlDeviceGetTemperature(d, n.NVML_TEMPERATURE_GPU),
    ),
    Metric(
        number=8,
        key="pcie_sent",
        title=english("PCIe sent"),
        unit="bytes/s",
        read=lambda n, d: n.nvmlDeviceGetPcieThroughput(d, n.NVML_PCIE_UTIL_TX_BYTES) * 1024,
        slow=True,
    ),
    Metric(
        number=9,
        key="pcie_received",
        title=english("PCIe received"),
        unit="bytes/s",
        read=lambda n, d: n.nvmlDeviceGetPcieThroughput(d, n.NVML_PCIE_UTIL_RX_BYTES) * 1024,
        slow=True,
    ),
)
"""The metrics, in display order."""
QUANTITIES: tuple[Quantity, ...] = (*METRICS, *GPM_METRICS)
"""Everything that is sampled, in display order."""


@dataclass(frozen=True)
class NvmlGpu:
    """A device: its number, name and constant properties. What NVML does not tell is "" or 0."""

    index: int
    name: str
    uuid: str
    memory_bytes: int
    handle: Any


@dataclass(frozen=True)
class LostGpu:
    """A device that NVML counts but gives no handle for, and NVML's reason."""

    index: int
    reason: str


def open_library() -> tuple[Any, list[NvmlGpu], list[LostGpu]]:
    """The initialised library, the devices, and those that cannot be read.

    Raises Unavailable.
    """
    try:
        library: Any = importlib.import_module("pynvml")
    except ImportError as error:
        raise Unavailable(english("pynvml is not installed"), "pip install nvidia-ml-py") from error
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        if isinstance(error, library.NVMLError_LibraryNotFound):
            raise Unavailable(
                NO_DRIVER, english("install the NVIDIA driver, or give the container access to the GPU")
            ) from error
        raise Unavailable(
            english("NVML does not start: {why}", why=error), english("check nvidia-smi")
        ) from error
    gpus: list[NvmlGpu] = []
    lost: list[LostGpu] = []
    try:
        for index in range(library.nvmlDeviceGetCount()):
            try:
                gpus.append(_describe(library, index))
            except library.NVMLError as error:
                lost.append(LostGpu(index, str(error)))
    except library.NVMLError as error:
        library.nvmlShutdown()
        raise Unavailable(english("NVML refuses: {why}", why=error), english("check nvidia-smi")) from error
    if not gpus:
        library.nvmlShutdown()
        if lost:
            raise Unavailable(english("NVML refuses: {why}", why=lost[0].reason), english("check nvidia-smi"))
        raise Unavailable(english("no NVIDIA GPU"), "")
    return library, gpus, lost


class NvmlCollector(Collector):
    """Writes samples of every GPU into a spool file from `begin` to `close`."""

    def __init__(self, watched: Watched) -> None:
        """Raises Unavailable, and OSError when the spool file cannot be made."""
        self._ended = threading.Event()
        self._running = threading.Event()
        self._thread: threading.Thread | None = None
        self._unsupported: set[tuple[int, int]] = set()
        self._library, self._gpus, self._lost = open_library()
        self._gpm: dict[int, GpmSampler] = {}
        self._without_gpm: dict[str, list[int]] = {}
        try:
            self._writer = watched.writer("nvml")
        except OSError:
            self._library.nvmlShutdown()
            raise
        for gpu in self._gpus:
            row = (time.monotonic_ns(), gpu.index, self._writer.string(gpu.name), gpu.memory_bytes)
            packed = records.nvml_device.pack(*row, self._writer.string(gpu.uuid), 0)
            self._writer.append_packed(records.NVML_DEVICE, packed)
            self._open_gpm(gpu)

    def begin(self, *, paused: bool) -> None:
        """Sample from now on."""
        if not paused:
            self._running.set()
        require_memory()
        self._thread = threading.Thread(target=self._sample_until_stopped, name="warpline-nvml", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Stop sampling until ``resume``."""
        self._running.clear()

    def resume(self) -> None:
        """Sample again."""
        self._running.set()

    def close(self) -> None:
        """Stop sampling and close the spool file."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        for sampler in self._gpm.values():
            sampler.close()
        self._writer.close()
        self._library.nvmlShutdown()

    def report(self) -> Source:
        """The state of the source; after the end it names the metrics that no GPU here offers."""
        if not self._ended.is_set():
            return Source("nvml", True)
        return Source("nvml", True, "; ".join(self._reasons()), self._writer.lost)

    def _reasons(self) -> list[str]:
        """Why quantities are missing."""
        reasons = [
            english("GPU {number} not recorded: {why}", number=gpu.index, why=gpu.reason)
            for gpu in self._lost
        ]
        titles = {metric.number: metric.title for metric in QUANTITIES}
        lacking = {number for _index, number in self._unsupported}
        for sampler in self._gpm.values():
            lacking |= sampler.missing
        if lacking:
            names = ", ".join(sorted(titles[number] for number in lacking))
            reasons.append(english("not offered by the GPU: {names}", names=names))
        for why, indices in self._without_gpm.items():
            numbers = ", ".join(map(str, indices))
            reasons.append(
                english(
                    "SM, tensor-core and bandwidth metrics of GPU {numbers} not recorded: {why}",
                    numbers=numbers,
                    why=why,
                )
            )
        return reasons

    def _open_gpm(self, gpu: NvmlGpu) -> None:
        try:
            self._gpm[gpu.index] = GpmSampler(self._library, gpu.handle)
        except GpmUnavailable as reason:
            self._without_gpm.setdefault(str(reason), []).append(gpu.index)

    def _sample_until_stopped(self) -> None:
        slow_due = 0.0
        while not self._ended.wait(PERIOD_S):
            if not self._running.is_set():
                for sampler in self._gpm.values():
                    sampler.restart()
                continue
            now = time.monotonic()
            with_slow = now >= slow_due
            if with_slow:
                slow_due = now + SLOW_PERIOD_S
            for gpu in self._gpus:
                self._sample(gpu, with_slow)

    def _sample(self, gpu: NvmlGpu, with_slow: bool) -> None:
        rows = []
        for metric in METRICS:
            if (metric.slow and not with_slow) or (gpu.index, metric.number) in self._unsupported:
                continue
            try:
                value = float(metric.read(self._library, gpu.handle))
            except self._library.NVMLError as error:
                # A busy or lost GPU may answer later; one without the sensor never will.
                if isinstance(error, self._library.NVMLError_NotSupported):
                    self._unsupported.add((gpu.index, metric.number))
                continue
            rows.append((time.monotonic_ns(), gpu.index, metric.number, value))
        rows += self._gpm_rows(gpu)
        layout = records.nvml_sample
        packed = b"".join(layout.pack(*row) for row in rows)
        self._writer.append(records.NVML_SAMPLE, packed, size=layout.itemsize)

    def _gpm_rows(self, gpu: NvmlGpu) -> list[tuple[int, int, int, float]]:
        sampler = self._gpm.get(gpu.index)
        if sampler is None:
            return []
        try:
            values = sampler.read()
        except self._library.NVMLError as error:
            if isinstance(error, self._library.NVMLError_NotSupported):  # as with MIG
                self._without_gpm.setdefault(english("NVML refuses: {why}", why=error), []).append(gpu.index)
                self._gpm.pop(gpu.index).close()
            return []
        now = time.monotonic_ns()
        return [(now, gpu.index, number, value) for number, value in values]


def _describe(library: Any, index: int) -> NvmlGpu:
    """Raises NVML's error when the GPU itself cannot be reached."""
    handle = library.nvmlDeviceGetHandleByIndex(index)

    def ask(question: Callable[[Any], Any], otherwise: Any) -> Any:
        try:
            return question(handle)
        except library.NVMLError:
            return otherwise

    # GPUs that share the host's memory (GB10) have none of their own to report.
    memory = ask(lambda device: library.nvmlDeviceGetMemoryInfo(device).total, 0)
    name, uuid = (ask(question, "") for question in (library.nvmlDeviceGetName, library.nvmlDeviceGetUUID))
    return NvmlGpu(index, _text(name), _text(uuid), memory, handle)


def _text(value: str | bytes) -> str:
    # Old versions of pynvml return bytes.
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
