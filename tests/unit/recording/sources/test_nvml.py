"""GPU counters through a library that answers as NVML would."""

from __future__ import annotations

import os
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from warpline.recording.doctor import check_source
from warpline.recording.finalise import finalise
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.collector import Watched
from warpline.recording.sources.nvml import collect as nvml
from warpline.recording.sources.nvml import records
from warpline.recording.sources.nvml.source import source as nvml_source
from warpline.recording.sources.registry import default_trace
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.unavailable import Unavailable
from warpline.storage import open_capture


class FakeNvml(types.ModuleType):
    """Two GPUs; the second has no power sensor. ``sampled`` is set once everything has been asked often enough."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
    NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES = 0, 1

    class NVMLError(Exception):
        pass

    class NVMLError_LibraryNotFound(NVMLError):  # noqa: N801  # NVML's own name
        pass

    class NVMLError_NotSupported(NVMLError):  # noqa: N801
        pass

    class NVMLError_GpuIsLost(NVMLError):  # noqa: N801
        pass

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.sampled = threading.Event()
        self.asked = 0
        self.running = 0

    def nvmlInit(self) -> None:
        self.running += 1

    def nvmlShutdown(self) -> None:
        self.running -= 1

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetName(self, device: int) -> str | bytes:
        return b"NVIDIA H100" if device else "NVIDIA H200"

    def nvmlDeviceGetUUID(self, device: int) -> str:
        return f"GPU-{device}"

    def nvmlDeviceGetMemoryInfo(self, device: int) -> Any:
        return types.SimpleNamespace(total=80 << 30, used=(1 + device) << 30)

    def nvmlDeviceGetUtilizationRates(self, device: int) -> Any:
        return types.SimpleNamespace(gpu=75, memory=40)

    def nvmlDeviceGetPowerUsage(self, device: int) -> int:
        if device == 1:
            raise self.NVMLError_NotSupported("Not Supported")
        return 350_500

    def nvmlDeviceGetClockInfo(self, device: int, which: int) -> int:
        return {1: 1980, 2: 2619}[which]

    def nvmlDeviceGetTemperature(self, device: int, sensor: int) -> int:
        self.asked += 1
        if self.asked >= 6:
            self.sampled.set()
        if self.asked == 2:
            raise self.NVMLError("a bad moment")
        return 61

    def nvmlDeviceGetPcieThroughput(self, device: int, direction: int) -> int:
        return 1000 + direction


def with_gpm(fake: FakeNvml, *, lacking: frozenset[str] = frozenset()) -> list[object]:
    """Give GPU 0 GPM, without the metrics ``lacking``; returns the samples that are allocated now.

    The value of a metric is its number in NVML.
    """
    names = {
        "SM_UTIL": 2, "SM_OCCUPANCY": 3, "ANY_TENSOR_UTIL": 5, "DFMA_TENSOR_UTIL": 6, "HMMA_TENSOR_UTIL": 7,
        "DMMA_TENSOR_UTIL": 8, "IMMA_TENSOR_UTIL": 9, "DRAM_BW_UTIL": 10, "FP64_UTIL": 11, "FP32_UTIL": 12,
        "FP16_UTIL": 13, "INTEGER_UTIL": 4, "PCIE_TX_PER_SEC": 20, "PCIE_RX_PER_SEC": 21,
        "NVLINK_TOTAL_RX_PER_SEC": 60, "NVLINK_TOTAL_TX_PER_SEC": 61,
    }  # fmt: skip
    for name, number in names.items():
        setattr(fake, f"NVML_GPM_METRIC_{name}", number)
    without = {names[name] for name in lacking}
    samples: list[object] = []
    taken: dict[int, int] = {}

    def allocate() -> object:
        samples.append(object())
        return samples[-1]

    def sample(device: int, into: object) -> None:
        assert device == 0
        taken[id(into)] = len(taken) and max(taken.values()) + 1

    def calculate(request: Any) -> None:
        assert (request.version, taken[id(request.sample1)]) == (1, taken[id(request.sample2)] - 1)
        for metric in request.metrics[: request.numMetrics]:
            metric.nvmlReturn = 3 if metric.metricId in without else 0
            metric.value = float(metric.metricId)

    def request() -> Any:
        return types.SimpleNamespace(metrics=[types.SimpleNamespace() for _ in range(333)])

    def support(device: int) -> Any:
        return types.SimpleNamespace(isSupportedDevice=int(device == 0))

    vars(fake).update(
        NVML_GPM_METRICS_GET_VERSION=1,
        NVML_SUCCESS=0,
        NVML_ERROR_NOT_SUPPORTED=3,
        nvmlGpmQueryDeviceSupport=support,
        nvmlGpmSampleAlloc=allocate,
        nvmlGpmSampleFree=samples.remove,
        nvmlGpmSampleGet=sample,
        nvmlGpmMetricsGet=calculate,
        c_nvmlGpmMetricsGet_t=request,
    )
    return samples


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNvml]:
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.setattr(nvml, "PERIOD_S", 0.01)
    yield fake
    assert fake.running == 0


def test_samples_become_counters_of_each_gpu(tmp_path: Path, library: FakeNvml) -> None:
    collector = nvml.NvmlCollector(Watched(directory=tmp_path, root_pid=os.getpid()))
    collector.begin(paused=False)
    assert library.sampled.wait(30)
    collector.close()
    assert collector.report().enabled
    assert collector.report().reason == (
        "not offered by the GPU: Power; SM, tensor-core and bandwidth metrics of GPU 0, 1 not recorded: "
        "this nvidia-ml-py is too old"
    )
    samples = SpoolFile(tmp_path / "nvml.spool").records(records.NVML_SAMPLE, records.nvml_sample).values
    first, last = int(samples["time_ns"].min()), int(samples["time_ns"].max())
    session = Session(
        directory=tmp_path,
        output=tmp_path / "x.h5",
        command=("x",),
        working_directory="/",
        start_monotonic_ns=first,
        start_realtime_ns=0,
        recorder_pid=1,
        target_pid=2,
        options=RecordingOptions(trace=default_trace()),
        stop_monotonic_ns=last,
    )
    session.save()
    finalise(tmp_path, tmp_path / "x.h5")
    with open_capture(tmp_path / "x.h5") as capture:
        assert [device.name for device in capture.devices] == ["NVIDIA H200", "NVIDIA H100"]
        assert capture.track("gpu/0").title == "GPU 0 · NVIDIA H200"
        values = {capture.tracks[c.track].uri: (c.unit, c.values[:]) for c in capture.counters}
    unit, power = values["gpu/0/counters/power"]
    assert unit == "W"
    assert set(power.tolist()) == {350.5}
    assert "gpu/1/counters/power" not in values
    expected = {
        "utilization": ("ratio", 0.75), "memory_utilization": ("ratio", 0.4), "sm_clock": ("MHz", 1980),
        "memory_clock": ("MHz", 2619), "temperature": ("°C", 61), "pcie_sent": ("bytes/s", 1_024_000),
        "pcie_received": ("bytes/s", 1_025_024),
    }  # fmt: skip
    for gpu in (0, 1):
        assert set(values[f"gpu/{gpu}/counters/memory_used"][1].tolist()) == {float((1 + gpu) << 30)}
        for key, (unit, value) in expected.items():
            found_unit, found = values[f"gpu/{gpu}/counters/{key}"]
            assert found_unit == unit
            assert set(found.tolist()) == {value}
    # One answer failed once; it is missing, not 0, and the sensor was asked again.
    temperatures = [len(values[f"gpu/{gpu}/counters/temperature"][1]) for gpu in (0, 1)]
    clocks = [len(values[f"gpu/{gpu}/counters/sm_clock"][1]) for gpu in (0, 1)]
    assert sum(clocks) - sum(temperatures) == 1


def sampled(folder: Path, library: FakeNvml) -> tuple[nvml.NvmlCollector, dict[tuple[int, int], set[float]]]:
    """The closed collector, and the values of each metric by GPU and number."""
    collector = nvml.NvmlCollector(Watched(directory=folder, root_pid=os.getpid()))
    collector.begin(paused=False)
    assert library.sampled.wait(30)
    collector.close()
    rows = SpoolFile(folder / "nvml.spool").records(records.NVML_SAMPLE, records.nvml_sample).values
    values: dict[tuple[int, int], set[float]] = {}
    for _time, gpu, number, value in rows.tolist():
        values.setdefault((gpu, number), set()).add(value)
    return collector, values


def test_hopper_and_later_have_counters_of_their_units(tmp_path: Path, library: FakeNvml) -> None:
    samples = with_gpm(library)
    collector, values = sampled(tmp_path, library)
    assert samples == [], "every sample was freed"
    expected = {
        20: 0.02, 21: 0.03, 22: 0.05, 23: 0.07, 24: 0.09, 25: 0.08, 26: 0.06, 27: 0.11, 28: 0.12, 29: 0.13,
        30: 0.04, 31: 0.1, 32: 20 << 20, 33: 21 << 20, 34: 61 << 20, 35: 60 << 20,
    }  # fmt: skip
    for number, value in expected.items():
        assert list(values[0, number]) == [pytest.approx(value)], number
        assert (1, number) not in values
    assert collector.report().reason.endswith("of GPU 1 not recorded: a Hopper or newer GPU is needed")


def test_a_metric_that_a_card_lacks_leaves_the_others(tmp_path: Path, library: FakeNvml) -> None:
    with_gpm(library, lacking=frozenset({"NVLINK_TOTAL_TX_PER_SEC", "NVLINK_TOTAL_RX_PER_SEC"}))
    collector, values = sampled(tmp_path, library)
    assert {number for gpu, number in values if gpu == 0 and number >= 20} == {*range(20, 34)}
    assert "not offered by the GPU: NVLink received, NVLink sent, Power" in collector.report().reason


def test_a_gpu_that_refuses_samples_leaves_the_others(
    tmp_path: Path, library: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = with_gpm(library)

    def refuses(device: int, sample: object) -> None:
        raise library.NVMLError_NotSupported("Not Supported")

    monkeypatch.setattr(library, "nvmlGpmSampleGet", refuses, raising=False)
    collector, values = sampled(tmp_path, library)
    assert (0, 1) in values
    assert not any(number >= 20 for _gpu, number in values)
    assert "GPU 0 not recorded: NVML refuses: Not Supported" in collector.report().reason
    assert samples == []


@pytest.mark.parametrize("question", ["nvmlDeviceGetMemoryInfo", "nvmlDeviceGetName", "nvmlDeviceGetUUID"])
def test_an_unanswered_question_about_a_gpu_leaves_its_counters(
    tmp_path: Path, library: FakeNvml, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    def refuses(device: int) -> None:
        raise library.NVMLError_NotSupported("Not Supported")

    monkeypatch.setattr(library, question, refuses)
    _collector, values = sampled(tmp_path, library)
    assert {gpu for gpu, _number in values} == {0, 1}


def test_a_lost_gpu_leaves_the_others(
    tmp_path: Path, library: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handle(index: int) -> int:
        if index == 0:
            raise library.NVMLError_GpuIsLost("GPU is lost")
        return index

    monkeypatch.setattr(library, "nvmlDeviceGetHandleByIndex", handle)
    collector, values = sampled(tmp_path, library)
    assert {gpu for gpu, _number in values} == {1}
    assert "GPU 0 not recorded: GPU is lost" in collector.report().reason


def test_nothing_is_sampled_while_paused(tmp_path: Path, library: FakeNvml) -> None:
    collector = nvml.NvmlCollector(Watched(directory=tmp_path, root_pid=os.getpid()))
    collector.begin(paused=True)
    assert not library.sampled.wait(0.1)
    assert library.asked == 0
    collector.resume()
    assert library.sampled.wait(30)
    collector.close()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FakeNvml.NVMLError_LibraryNotFound("not found"), "no NVIDIA driver"),
        (FakeNvml.NVMLError("Unknown"), "Unknown"),
    ],
)
def test_without_a_driver_the_reason_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    fake = FakeNvml()

    def fails() -> None:
        raise error

    monkeypatch.setattr(fake, "nvmlInit", fails)
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    with pytest.raises(Unavailable, match=reason) as caught:
        nvml_source.open(Watched(directory=tmp_path, root_pid=os.getpid()))
    assert caught.value.remedy
    assert not (tmp_path / "nvml.spool").exists()
    check = check_source(nvml_source)
    assert (check.available, check.trace) == (False, "nvml")
    assert reason in check.reason
