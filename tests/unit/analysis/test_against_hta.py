"""Reports against the tables of HolisticTraceAnalysis, its rules applied.

It looks only at what was launched inside complete ProfilerSteps, the last one left out, and cuts durations down to
whole microseconds where it adds up kinds of kernels (not in its tables of single kernels).
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tests.unit.analysis.analysis_tools import Open

from warpline.analysis.cuda.memory_operations import memory_operation_names, throughput
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import group_statistics
from warpline.analysis.gpu.queue_length import queue_lengths
from warpline.analysis.structure.gpu_gaps import CAUSES, gpu_gaps
from warpline.analysis.structure.gpus import COMMUNICATION, COMPUTATION, MEMORY, gpus
from warpline.analysis.structure.kernels import communication_ids
from warpline.analysis.structure.launches import Launches, launches_from
from warpline.analysis.structure.overlap import combination_times, time_of, time_of_all
from warpline.analysis.structure.steps import find_steps
from warpline.model.intervals import launch_delay_ns
from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
SAMPLED_0 = "torch/**/sampled_rank-0.json.gz"
SAMPLED_1 = "torch/**/sampled_rank-1.json.gz"
ALEXNET = "torch/**/alexnet/*.json.gz"
EVENT_SYNC = "torch/**/event_sync_trace.json.gz"
NCCL = "torch/**/nccl_data.json.gz"
HTA = {
    "torch/pytorch+kineto/tb_plugin/samples/**/*.json.gz": "kineto__resnet50*",
    NCCL: "HolisticTraceAnalysis__nccl_parser*",
    "torch/**/df_index_resolver.json.gz": "HolisticTraceAnalysis__df_index*",
    "torch/**/h100/gaunernst*.json.gz": "TraceLens__h100__gaunernst*",
    "torch/**/h100/google_owlv2*.json.gz": "TraceLens__h100__google*",
    "torch/**/mi300/Falconsai*.json.gz": "TraceLens__mi300__Falconsai*",
    "torch/**/gpu_only_trace.json.gz": "TraceLens__gpu_only*",
    "torch/**/graph_execution.json.gz": "TraceLens__vllm*",
    "torch/**/trace_compare/base/base.json.gz": "HolisticTraceAnalysis__base*",
    "torch/**/trace_compare/test/test.json.gz": "HolisticTraceAnalysis__test*",
    SAMPLED_0: "HTA_sampled_2ranks",
    SAMPLED_1: "HTA_sampled_2ranks",
    ALEXNET: "HolisticTraceAnalysis__alexnet*",
    EVENT_SYNC: "HolisticTraceAnalysis__cuda_event_sync*",
}
WITHOUT_WAITS = [trace for trace in HTA if trace not in {ALEXNET, EVENT_SYNC}]
"""It counts waits (cuda_sync events that lie on streams) as GPU work; in the others there are none."""
ONE_STREAM = [
    trace for trace in HTA if any(part in trace for part in ("tb_plugin", "h100", "mi300", "gpu_only"))
]


def table(data_dir: Path, trace: str, name: str) -> list[list[str]]:
    path = next((data_dir / "expected_hta").glob(HTA[trace])) / name
    if not path.exists():
        pytest.skip(f"{name} was not printed for this trace")
    with path.open(newline="") as lines:
        return list(csv.reader(lines))


def rows(data_dir: Path, trace: str, name: str) -> list[dict[str, str]]:
    """The rows of a table with one head line; of the two ranks of one job only those of this trace's."""
    head, *body = table(data_dir, trace, name)
    rank = "1" if trace == SAMPLED_1 else "0"
    found = [dict(zip(head, row, strict=True)) for row in body]
    return [row for row in found if row.get("rank", rank) == rank]


def launched(capture: Capture) -> Launches:
    view = View(capture)
    launches = launches_from(view)
    steps = find_steps(view, Options())
    if len(steps) < 2:
        return launches
    begins = np.zeros(len(launches), bool)
    for start, stop in zip(steps.start[:-1].tolist(), steps.stop[:-1].tolist(), strict=True):
        begins |= (launches.call_start >= start) & (launches.call_start < stop)
    return launches.take(begins)


def is_of(capture: Capture, launches: Launches, *kinds: str) -> npt.NDArray[np.bool_]:
    codes = [capture.kinds[kind].code for kind in kinds if kind in capture.kinds]
    return np.isin(capture.events.kind[launches.work], codes)


def combinations(capture: Capture, *, truncated: bool) -> Int64Array:
    launches = launched(capture)
    is_memory = is_of(capture, launches, "memcpy", "memset")
    is_comm = communication_ids(View(capture))[capture.events.name[launches.work]] & ~is_memory
    start, stop = launches.work_start, launches.work_stop
    if truncated:
        start = start // 1000 * 1000
        stop = start + launches.work_ns // 1000 * 1000
    sets = [(start[c], stop[c]) for c in (~is_memory & ~is_comm, is_comm, is_memory)]
    return combination_times(sets, int(start.min()), int(stop.max()))


def streams(capture: Capture, launches: Launches) -> Int64Array:
    of_track = np.array([-1 if t.stream is None else t.stream for t in capture.tracks])
    return of_track[View(capture).track_of(launches.work)]


@pytest.mark.parametrize("trace", WITHOUT_WAITS)
def test_temporal_breakdown(opened: Open, data_dir: Path, trace: str) -> None:
    (expected,) = rows(data_dir, trace, "temporal_breakdown.csv")
    times = combinations(opened(trace), truncated=False)
    assert times[0] / 1000 == pytest.approx(float(expected["idle_time(us)"]), abs=0.1)
    assert time_of(times, COMPUTATION) / 1000 == pytest.approx(float(expected["compute_time(us)"]), abs=0.1)
    rest = time_of(times, COMMUNICATION | MEMORY, COMPUTATION) / 1000
    assert rest == pytest.approx(float(expected["non_compute_time(us)"]), abs=0.1)


@pytest.mark.parametrize("trace", [trace for trace in WITHOUT_WAITS if "sampled" not in trace])
def test_breakdown_by_type_of_kernel(opened: Open, data_dir: Path, trace: str) -> None:
    bits = {"COMPUTATION": COMPUTATION, "COMMUNICATION": COMMUNICATION, "MEMORY": MEMORY}
    times = combinations(opened(trace), truncated=True)
    found = rows(data_dir, trace, "gpu_kernel_breakdown0.csv")
    assert found
    for row in found:
        which = sum(bits[part] for part in row["kernel_type"].split(" overlapping "))
        if trace == NCCL and which == COMMUNICATION:
            # It loses 140 us here: its own table of kernels adds up to what is found.
            assert times[which] == (int(row["sum"]) + 140) * 1000
            continue
        # Ends of kernels that were cut down may move by one.
        assert times[which] / 1000 == pytest.approx(int(row["sum"]), abs=1), row


def test_breakdown_by_type_of_kernel_over_two_ranks(opened: Open, data_dir: Path) -> None:
    bits = {"COMPUTATION": COMPUTATION, "COMMUNICATION": COMMUNICATION, "MEMORY": MEMORY}
    times = sum(combinations(opened(trace), truncated=True) for trace in (SAMPLED_0, SAMPLED_1))
    assert isinstance(times, np.ndarray)
    head, *body = table(data_dir, SAMPLED_0, "gpu_kernel_breakdown0.csv")
    assert len(body) == 7
    for _, name, total, _ in body:
        assert times[sum(bits[part] for part in name.split(" overlapping "))] == int(total) * 1000, head


@pytest.mark.parametrize("trace", WITHOUT_WAITS)
def test_share_of_communication_hidden_by_computation(opened: Open, data_dir: Path, trace: str) -> None:
    (expected,) = rows(data_dir, trace, "comm_comp_overlap.csv")
    times = combinations(opened(trace), truncated=False)
    communication = time_of(times, COMMUNICATION)
    assert bool(communication) == bool(expected["comp_comm_overlap_pctg"])
    if communication:
        share = time_of_all(times, COMMUNICATION | COMPUTATION) / communication
        # In nccl_data it divides what was cut down to whole microseconds.
        assert share * 100 == pytest.approx(float(expected["comp_comm_overlap_pctg"]), abs=0.05)


@pytest.mark.parametrize("trace", HTA)
def test_statistics_of_each_kernel(opened: Open, data_dir: Path, trace: str) -> None:
    capture = opened(trace)
    launches = launched(capture)
    stats = group_statistics(capture.events.name[launches.work], launches.work_ns)
    place = {capture.strings[int(key)]: i for i, key in enumerate(stats.key.tolist())}
    expected = rows(data_dir, trace, "gpu_kernel_breakdown1.csv")
    waits = {"Stream Wait Event", "Context Sync", "Stream Sync", "Event Sync"}
    assert {row["name"] for row in expected} - waits == set(place)
    for row in expected:
        if row["name"] in waits:
            continue
        i = place[row["name"]]
        for title, values in (
            ("sum (us)", stats.total),
            ("max (us)", stats.max),
            ("min (us)", stats.min),
            ("mean (us)", stats.avg),
            ("stddev", stats.stddev),
        ):
            assert values[i] / 1000 == pytest.approx(float(row[title]), abs=1e-3), (row["name"], title)


@pytest.mark.parametrize("trace", HTA)
def test_idle_time_of_streams(opened: Open, data_dir: Path, trace: str) -> None:
    """Gaps of a stream: the host's when the next call began inside, the GPU's when short, else other."""
    launches = launched(opened(trace))
    of_stream = streams(opened(trace), launches)
    expected = rows(data_dir, trace, "idle_time0.csv")
    assert expected
    for row in expected:
        here = launches.take(of_stream == int(row["stream"]))
        here = here.take(np.argsort(here.work_start, kind="stable"))
        gap = here.work_start[1:] - here.work_stop[:-1]
        of_host = here.call_start[1:] > here.work_stop[:-1]
        of_gpu = ~of_host & (gap < 30_000)
        chosen = {"host_wait": of_host, "kernel_wait": of_gpu, "other": ~of_host & ~of_gpu}
        time = gap[chosen[row["idle_category"]]].sum() / 1000
        assert time == pytest.approx(float(row["idle_time"]), abs=0.05), row


@pytest.mark.parametrize("trace", ONE_STREAM)
def test_idle_causes_of_one_stream_agree_with_hta(opened: Open, data_dir: Path, trace: str) -> None:
    capture = opened(trace)
    launches = launched(capture)
    view = View(capture).restrict(int(launches.work_start.min()), int(launches.work_stop.max()))
    (gpu,) = gpus(view)
    found = gpu_gaps(view, gpu)
    # Its host_wait is the whole gap, Warpline gives the part after the call began to the launch latency.
    host = found.causes[:, [CAUSES.index(c) for c in ("data_loading", "synchronization", "host")]].sum(1) > 0
    expected = {
        row["idle_category"]: float(row["idle_time"]) for row in rows(data_dir, trace, "idle_time0.csv")
    }
    length = found.stop - found.start
    assert length[host].sum() / 1000 == pytest.approx(expected["host_wait"], abs=0.05)
    rest = expected.get("kernel_wait", 0) + expected["other"]
    assert length[~host].sum() / 1000 == pytest.approx(rest, abs=0.05)


@pytest.mark.parametrize("trace", HTA)
def test_queue_lengths(opened: Open, data_dir: Path, trace: str) -> None:
    capture = opened(trace)
    launches = launched(capture)
    # It does not count what these calls launch.
    calls = [capture.strings.id(name) for name in ("hipModuleLaunchKernel", "hipGraphLaunch")]
    left_out = [number for number in calls if number is not None]
    launches = launches.take(~np.isin(capture.events.name[launches.call], left_out))
    of_stream = streams(capture, launches)
    rank = "1" if trace == SAMPLED_1 else "0"
    expected = [row for row in table(data_dir, trace, "queue_length_summary.csv")[3:] if row[0] == rank]
    assert expected
    for _, number, count, mean, *_, longest in expected:
        here = launches.take(of_stream == int(number))
        _, length = queue_lengths(here.call_start, here.work_start)
        assert len(length) == float(count)
        # A run of equal moments may be summed in another order there.
        assert length.mean() == pytest.approx(float(mean), abs=0.02)
        assert length.max() == pytest.approx(float(longest), abs=1)


@pytest.mark.parametrize("trace", HTA)
def test_launches_one_by_one(opened: Open, data_dir: Path, trace: str) -> None:
    name = "kernel_launch_stats_rank1.csv" if trace == SAMPLED_1 else "kernel_launch_stats_rank0.csv"
    capture = opened(trace)
    launches = launched(capture)
    place: dict[int, int] = {}
    for kind in ("kernel", "memcpy", "memset"):
        here = np.flatnonzero(is_of(capture, launches, kind))
        if len(here):
            index = capture.kinds[kind].indices_of(launches.work[here])
            place.update(
                zip(View(capture).column(kind, "correlation", index).tolist(), here.tolist(), strict=True)
            )
    delay = launch_delay_ns(launches.call_stop, launches.work_start)
    for row in rows(data_dir, trace, name):
        i = place[int(float(row["correlation"]))]
        assert [
            (launches.call_stop[i] - launches.call_start[i]) / 1000,
            launches.work_ns[i] / 1000,
            delay[i] / 1000,
        ] == pytest.approx(
            [float(row[key]) for key in ("cpu_duration", "gpu_duration", "launch_delay")], abs=2e-3
        )


_OPERATIONS = {
    "Memcpy HtoD": "[CUDA memcpy Host-to-Device]",
    "Memcpy DtoH": "[CUDA memcpy Device-to-Host]",
    "Memcpy DtoD": "[CUDA memcpy Device-to-Device]",
    "Memset": "[CUDA memset]",
}


@pytest.mark.parametrize("trace", HTA)
def test_throughput_of_copies(opened: Open, data_dir: Path, trace: str) -> None:
    capture = opened(trace)
    view, launches = View(capture), launched(capture)
    rates: dict[str, list[tuple[float, float]]] = {}
    for kind in ("memcpy", "memset"):
        if kind not in capture.kinds:
            continue
        events = view.events(kind)
        events = events.take(np.isin(events.row, launches.work))
        size = view.column(kind, "bytes", events.index)
        # Its rates come from durations in ns; some traces hold them cut down to whole microseconds.
        is_cut = not (events.duration % 1000).any()
        fastest = throughput(size, events.duration) / 1e9
        slowest = throughput(size, events.duration + 1000 * is_cut) / 1e9
        names = memory_operation_names(view, kind, events)
        for name, *rate in zip(names, slowest.tolist(), fastest.tolist(), strict=True):
            rates.setdefault(name, []).append((rate[0], rate[1]))
    rank = "1" if trace == SAMPLED_1 else "0"
    expected = [row for row in table(data_dir, trace, "memory_bw_summary.csv")[3:] if row[0] == rank]
    assert expected
    for _, name, count, mean, _, least, *_, most in expected:
        values = np.array(rates[_OPERATIONS[name]])
        assert len(values) == float(count), name
        for bounds, printed in ((values.mean(0), mean), (values.min(0), least), (values.max(0), most)):
            assert bounds[0] * 0.999 <= float(printed) <= bounds[1] * 1.001, name
