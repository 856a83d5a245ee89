"""``warpline record`` of programs with NVTX and simulated CUDA: tracks, events, attributes, links in the capture."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.native.conftest import Record, Session

from warpline.recording import session as recorded
from warpline.recording.finalise import finalise
from warpline.recording.sources.registry import default_trace
from warpline.storage import Capture, open_capture

TRAINING = """
import ctypes, threading
import nvtx
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
u64 = ctypes.c_uint64
AXPY, GEMM = ctypes.c_char_p(b"_Z4axpyPfS_f"), ctypes.c_char_p(b"sgemm_128x64")
for step in range(10):
    with nvtx.annotate("step", color="green", payload=step):
        with nvtx.annotate("forward", domain="net"):
            cuda.simulatedCopy(1, u64(1 << 20), 7, u64(20000))
            cuda.simulatedLaunch(AXPY, 7, u64(30000))
            cuda.simulatedLaunch(GEMM, 8, u64(50000))
        cuda.simulatedGraph(3, 4, 9, u64(2000))
        cuda.simulatedSet(0, u64(4096), 7, u64(1000))
        cuda.simulatedSynchronize(8)
def work():
    for _ in range(5): cuda.simulatedLaunch(GEMM, 11, u64(1000))
thread = threading.Thread(target=work); thread.start(); thread.join()
cuda.simulatedAllocate(u64(0x1000), u64(1 << 20), 0)
cuda.simulatedAllocate(u64(0x1000), u64(1 << 20), 1)
"""


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("nvtx")
    script = tmp_path_factory.mktemp("program") / "train.py"
    script.write_text(TRAINING)
    return script


@pytest.fixture(scope="module")
def trained(record: Record, training: Path) -> Iterator[Capture]:
    """The capture of the training, with allocations."""
    path = record(
        sys.executable,
        training,
        options=("--trace", "cpu,nvml,nvtx,cuda"),
        variables={"WARPLINE_CUPTI": "memory=1"},
    )
    with open_capture(path) as capture:
        yield capture


def uris(capture: Capture, role: str) -> list[str]:
    return [track.uri for track in capture.tracks if track.role == role]


def table(capture: Capture, kind: str) -> list[dict[str, Any]]:
    """Every event of a kind: its attributes, its name, its track and its times."""
    found = capture.kinds[kind]
    events = capture.events
    return [
        {
            **found.at(row),
            "name": capture.strings[int(events.name[row])],
            "row": row,
            "track": capture.tracks[capture.track_of_row(row)],
            "duration": int(events.duration[row]),
            "start": int(events.start[row]),
        }
        for row in found.rows.tolist()
    ]


def text(capture: Capture, value: int | None) -> str | None:
    return None if value is None else capture.strings[value]


def test_kernels_copies_and_sets_are_on_their_streams_and_linked(trained: Capture) -> None:
    capture = trained
    assert capture.kinds["kernel"].rows.size == 10 * 2 + 10 * 4 + 5
    assert [gpu.name for gpu in capture.devices] == ["Simulated H100"]
    streams = {track.stream: track for track in capture.tracks if track.role == "stream"}
    assert sorted(stream for stream in streams if stream is not None) == [7, 8, 9, 11]
    assert streams[7].title.endswith("default")
    (process,) = {track.uri.split("/")[3] for track in streams.values()}
    for number, track in streams.items():
        assert track.uri == f"gpu/0/process/{process}/context/1/stream/{number}"
        assert (track.device, track.context) == (0, 1)
        assert capture.tracks[track.parent].role == "context"
    for kernel in table(capture, "kernel"):
        # By the queue of its stream, the simulated GPU runs one after the other.
        callers, _kinds = capture.links_to(kernel["row"])
        assert len(callers) == 1
        caller = capture.kinds["cuda_api"].at(int(callers[0]))
        assert caller["correlation"] == kernel["correlation"]
        assert int(capture.events.start[callers[0]]) < kernel["start"]
    for kind in ("memcpy", "memset"):
        for event in table(capture, kind):
            assert len(capture.links_to(event["row"])[0]) == 1
    links = capture.links.counts()
    links.pop("wakeup", None)  # where the kernel tells who woke whom
    assert links == {"launch": 65 + 10 + 10 + 10}


def test_the_agents_own_thread_is_last_and_says_whose_it_is(trained: Capture) -> None:
    perf = next(source for source in trained.sources if source.name == "perf")
    if not perf.enabled:
        pytest.skip(perf.reason)
    (process,) = {track.parent for track in trained.tracks if track.role == "thread"}
    threads = [
        trained.tracks[index] for index in trained.children(process) if trained.tracks[index].role == "thread"
    ]
    own = [track.title.endswith("· Warpline's own") for track in threads]
    assert own == [False] * (len(own) - 1) + [True]
    assert threads[-1].title.startswith("warpline-agent  ")


def test_a_graph_launch_has_its_many_kernels(trained: Capture) -> None:
    capture = trained
    launches = [call for call in table(capture, "cuda_api") if call["name"] == "cudaGraphLaunch"]
    assert len(launches) == 10
    for launch in launches:
        work, _kinds = capture.links_from(launch["row"])
        assert len(work) == 4
        nodes = [capture.kinds["kernel"].at(int(row)) for row in work]
        assert sorted(node["graph_node_id"] for node in nodes) == [100, 101, 102, 103]
        assert {node["graph_id"] for node in nodes} == {3}


def test_graphs_as_a_whole_say_that_kernels_are_hidden(record: Record, training: Path) -> None:
    path = record(sys.executable, training, options=("--cuda-graphs", "graph"))
    with open_capture(path) as capture:
        graphs = table(capture, "graph")
        assert [graph["name"] for graph in graphs] == ["CUDA graph 3"] * 10
        assert {graph["duration"] for graph in graphs} == {8000}
        assert any("kernels inside are not in the file" in warning for warning in capture.warnings)
        assert len(capture.kinds["kernel"].rows) == 25


def test_every_attribute_of_an_event_is_there(trained: Capture) -> None:
    capture = trained
    kernel = next(event for event in table(capture, "kernel") if event["name"].startswith("axpy"))
    assert kernel["name"] == "axpy(float*, float*, float)"
    assert text(capture, kernel["demangled_name"]) == "axpy(float*, float*, float)"
    assert text(capture, kernel["mangled_name"]) == "_Z4axpyPfS_f"
    wanted = {
        "grid_x": 264,
        "grid_y": 2,
        "grid_z": 1,
        "block_x": 256,
        "registers_per_thread": 40,
        "static_shared_memory_bytes": 4096,
        "dynamic_shared_memory_bytes": 1024,
        "local_memory_per_thread_bytes": 16,
        "occupancy_ratio": 0.75,  # cuda_occupancy.h: 6 blocks of 8 warps on the H100's 64
        "blocks_per_sm": 4.0,
        "warps_per_sm": 32.0,
        "duration": 30000,
    }
    assert {name: kernel[name] for name in wanted} == wanted
    on_8 = next(event for event in table(capture, "kernel") if event["track"].stream == 8)
    assert on_8["priority"] == -5
    assert kernel["priority"] is None
    copy = table(capture, "memcpy")[0]
    assert (copy["name"], copy["bytes"], copy["duration"]) == ("Memcpy HtoD", 1 << 20, 20000)
    enums = {spec.name: spec.enum for spec in capture.kinds["memcpy"].spec.attributes}
    assert enums["copy_kind"][copy["copy_kind"]] == "host to device"
    assert enums["src_kind"][copy["src_kind"]] == "pageable"
    assert enums["dst_kind"][copy["dst_kind"]] == "device"
    fill = table(capture, "memset")[0]
    assert (fill["name"], fill["bytes"], fill["value"]) == ("Memset", 4096, 0)
    sync = table(capture, "sync")[0]
    assert (sync["name"], sync["stream"], sync["event_id"]) == ("Stream synchronize", 8, None)
    failed = next(call for call in table(capture, "cuda_api") if call["return_value"])
    assert failed["name"] == "cudaMalloc"
    assert text(capture, failed["return_name"]) == "cudaErrorMemoryAllocation"
    memory = table(capture, "memory")
    assert [event["total_allocated_bytes"] for event in memory] == [1 << 20, 0]
    (counter,) = (counter for counter in capture.counters if counter.name == "Allocated")
    assert list(counter.values) == [1 << 20, 0]


def test_calls_and_ranges_are_below_the_threads_that_have_states(trained: Capture) -> None:
    capture = trained
    for uri in (*uris(capture, "api"), *(u for u in uris(capture, "ranges") if u.startswith("process"))):
        thread = uri.split("/api")[0].split("/nvtx")[0]
        assert capture.track(thread).role == "thread"
    owners = {uri.removesuffix("/api") for uri in uris(capture, "api")}
    assert len(owners) == 2
    perf = next(source for source in capture.sources if source.name == "perf")
    if perf.enabled:
        assert owners <= {uri.removesuffix("/state") for uri in uris(capture, "state")}
    domains = sorted(uri.rpartition("/nvtx/")[2] for uri in uris(capture, "ranges") if "/nvtx/" in uri)
    assert domains == ["default", "net"]
    steps = [event for event in table(capture, "range") if event["name"] == "step"]
    assert [text(capture, step["payload"]) for step in steps] == [str(number) for number in range(10)]
    assert {step["domain"] for step in steps} == {None}
    forward = next(event for event in table(capture, "range") if event["name"] == "forward")
    assert text(capture, forward["domain"]) == "net"


def test_ranges_are_projected_on_the_streams(trained: Capture) -> None:
    capture = trained
    found = [event for event in table(capture, "gpu_annotation") if event["name"] == "forward"]
    on_7 = [event for event in found if event["track"].stream == 7]
    assert len(on_7) == 10
    assert len(found) == 20
    copies = np.sort(capture.events.start[capture.kinds["memcpy"].rows])
    assert [event["start"] for event in on_7] == copies.tolist()
    axpy = [event for event in table(capture, "kernel") if event["name"].startswith("axpy")]
    assert [event["start"] + event["duration"] for event in on_7] == [
        event["start"] + event["duration"] for event in axpy
    ]
    assert capture.tracks[on_7[0]["track"].parent].role == "context"


def test_sources_say_what_happened(trained: Capture) -> None:
    capture = trained
    sources = {source.name: source for source in capture.sources}
    assert sources["cuda"].enabled
    assert sources["nvtx"].enabled
    assert (sources["agent"].enabled, sources["agent"].lost) == (True, 0)


def test_refusals_and_losses_reach_the_capture(record: Record, training: Path) -> None:
    with open_capture(
        record(sys.executable, training, variables={"SIMULATED_CUPTI_REFUSE": "subscribe=39"})
    ) as capture:
        cuda = next(source for source in capture.sources if source.name == "cuda")
        assert not cuda.enabled
        assert "MULTIPLE_SUBSCRIBERS" in cuda.reason
        assert "without that one" in cuda.remedy
    with open_capture(record(sys.executable, training, variables={"SIMULATED_CUPTI_DROP": "5"})) as capture:
        cuda = next(source for source in capture.sources if source.name == "cuda")
        assert cuda.enabled
        assert cuda.lost > 0
        assert cuda.lost % 5 == 0


def test_a_program_that_uses_neither(record: Record) -> None:
    with open_capture(record(sys.executable, "-c", "pass")) as capture:
        sources = {source.name: source for source in capture.sources}
        assert sources["nvtx"].reason == "no recorded process made an NVTX call or used warpline.annotate"
        assert sources["cuda"].reason == "no recorded process used CUDA"
        assert not sources["nvtx"].enabled


def test_another_tools_injection_stays(record: Record, training: Path, agent: Path) -> None:
    path = record(sys.executable, training, variables={"NVTX_INJECTION64_PATH": "/opt/other/libtool.so"})
    with open_capture(path) as capture:
        nvtx = next(source for source in capture.sources if source.name == "nvtx")
        assert not nvtx.enabled
        assert nvtx.reason == "NVTX_INJECTION64_PATH is set to /opt/other/libtool.so by another tool"
        assert "range" not in capture.kinds
        assert any("by another tool" in warning for warning in capture.warnings)


def test_a_capture_range_of_the_profiler(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "range.py"
    script.write_text(
        """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
def launch(name): cuda.simulatedLaunch(ctypes.c_char_p(name), 7, ctypes.c_uint64(1000))
A, B, C = b"before", b"inside", b"after"
launch(A)
cuda.simulatedProfiler(1); launch(B); cuda.simulatedSynchronize(7); cuda.simulatedProfiler(0)
import time
cupti = ctypes.CDLL("libcupti.so.12")
while cupti.simulated_is_enabled(10): time.sleep(0.001)
launch(C)
"""
    )
    path = record(sys.executable, script, options=("--capture-range", "cuda-profiler"))
    with open_capture(path) as capture:
        assert [event["name"] for event in table(capture, "kernel")] == ["inside"]
        assert len(capture.pauses) == 2
        (kernel,) = table(capture, "kernel")
        first, second = capture.pauses.tolist()
        assert first[1] <= kernel["start"] <= second[0]


NAMED = """
import ctypes, os
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
agent = ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"])
# What NVTX's headers do: tables of pointers to the functions that a tool may fill in.
tables = {module: (ctypes.c_void_p * 16)() for module in (1, 2, 4, 5)}
pointers = {m: (ctypes.c_void_p * 16)(*(ctypes.addressof(t) + 8 * i for i in range(16))) for m, t in tables.items()}
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
def get_table(module, table, size):
    table[0], size[0] = ctypes.addressof(pointers[module]), 16
    return 1
class Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("get_table", type(get_table))]
callbacks = Callbacks(16, get_table)
@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
def get_export_table(number): return ctypes.addressof(callbacks)
assert agent.InitializeInjectionNvtx2(get_export_table) == 1
def name(module, number, what, kind, text):
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, kind)(tables[module][number])(what, text)
name(2, 1, 0, ctypes.c_char_p, b"the only one")
name(2, 3, 1, ctypes.c_char_p, b"training")
name(2, 5, 8, ctypes.c_char_p, b"compute")
name(4, 4, 9, ctypes.c_wchar_p, "kopieren \u00fc")
for stream in (7, 8, 9): cuda.simulatedLaunch(ctypes.c_char_p(b"kernel"), stream, ctypes.c_uint64(1000))
"""


def test_names_given_through_nvtx_are_titles(record: Record) -> None:
    with open_capture(record(sys.executable, "-c", NAMED)) as capture:
        titles = {track.stream: track.title for track in capture.tracks if track.role == "stream"}
        assert titles == {7: "Stream 7 · default", 8: "compute · Stream 8", 9: "kopieren ü · Stream 9"}
        (context,) = (track for track in capture.tracks if track.role == "context")
        assert context.title.startswith("training · ")
        (gpu,) = (track for track in capture.tracks if track.role == "gpu")
        assert gpu.title.endswith("Simulated H100 · the only one")


@pytest.mark.fuzz
def test_a_damaged_spool_still_gives_a_capture(gpu_session: Session, training: Path, tmp_path: Path) -> None:
    gpu_session.run(sys.executable, training, WARPLINE_CUPTI="memory=1")
    path = gpu_session.spool().path
    whole = path.read_bytes()
    start = gpu_session.spool().header.monotonic_ns - 1_000_000
    recording = recorded.Session(
        directory=gpu_session.folder,
        output=tmp_path / "x.h5",
        command=("program",),
        working_directory="/",
        start_monotonic_ns=start,
        start_realtime_ns=0,
        recorder_pid=1,
        target_pid=gpu_session.spool().header.pid,
        options=recorded.RecordingOptions(trace=default_trace()),
        stop_monotonic_ns=start + 10_000_000_000,
    )
    recording.save()
    for seed in range(25):
        chance = random.Random(seed)
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 50, 500])):
            damaged[chance.randrange(4096, len(damaged))] = chance.choice([0, 0x7F, 0x80, 0xFF])
        path.write_bytes(damaged)
        finalise(gpu_session.folder, tmp_path / "x.h5")
        open_capture(tmp_path / "x.h5").close()
