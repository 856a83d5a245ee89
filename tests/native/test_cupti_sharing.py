"""The program's own profiler and Warpline record the same run, on the simulated driver with its Kineto and Paddle."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.native.conftest import Session, states
from tests.native.cupti_tools import KERNEL, LOOKS, PRELUDE, run

from warpline.recording.sources.cuda import records

CLIENTS = (
    PRELUDE.replace('cuda = ctypes.CDLL("libcuda.so.1")\nassert cuda.cuInit(0) == 0\n', "")
    + """
clients = ctypes.CDLL("libclients.so")
clients.kinetoClockError.restype = ctypes.c_int64
def initialise():
    global cuda
    cuda = ctypes.CDLL("libcuda.so.1")
    assert cuda.cuInit(0) == 0
start = {"kineto": lambda: clients.kinetoStart(False), "old kineto": lambda: clients.kinetoStart(True),
         "paddle": lambda: clients.paddleStart(), "second": lambda: clients.kinetoStartSecond(False),
         "second of several": lambda: clients.kinetoStartSecond(True)}
stop = {name: clients.paddleStop if name == "paddle" else clients.kinetoStop for name in start}
def work(count):
    for _ in range(count):
        launch()
    cuda.simulatedSynchronize(7)
def counts(name):
    return [clients.clientCount(name == "paddle", what) for what in range(4)]
"""
)
VERSIONS = [
    {"SIMULATED_CUPTI_VERSION": "12.9"},
    {"SIMULATED_CUPTI_VERSION": "12.4"},
    {"SIMULATED_CUPTI_VERSION": "13.0"},
    {"SIMULATED_CUPTI_VERSION": "13.5", "SIMULATED_DRIVER_VERSION": "13050"},
]
PROFILERS = ["kineto", "old kineto", "paddle"]


@pytest.fixture
def preloaded(gpu_session: Session) -> Session:
    """A recording whose agent the loader loads, as ``warpline record`` has it."""
    gpu_session.variables["LD_PRELOAD"] = str(gpu_session.agent)
    return gpu_session


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version["SIMULATED_CUPTI_VERSION"])
@pytest.mark.parametrize("profiler", PROFILERS)
def test_a_profiler_started_later_and_warpline_are_both_complete(
    preloaded: Session, profiler: str, version: dict[str, str]
) -> None:
    program = f"""{CLIENTS}
initialise()
work(100)
assert start[{profiler!r}]() == 0
work(100)
stop[{profiler!r}]()
work(100)
print(counts({profiler!r}), file=sys.stderr)
assert counts({profiler!r}) == [100, 0, 0, 0], counts({profiler!r})
"""
    preloaded.variables.update(version)
    run(preloaded, program)
    assert preloaded.count(*KERNEL) == 300
    assert states(preloaded.spool())["cuda"][0]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version["SIMULATED_CUPTI_VERSION"])
@pytest.mark.parametrize("profiler", PROFILERS)
def test_a_profiler_started_before_cuda_and_warpline_are_both_complete(
    preloaded: Session, profiler: str, version: dict[str, str]
) -> None:
    program = f"""{CLIENTS}
ctypes.CDLL("libcuda.so.1")
assert start[{profiler!r}]() == 0
initialise()
work(100)
stop[{profiler!r}]()
work(100)
assert counts({profiler!r}) == [100, 0, 0, 0], counts({profiler!r})
"""
    preloaded.variables.update(version)
    run(preloaded, program)
    assert preloaded.count(*KERNEL) == 200


SECOND_FAMILY = [
    ("second", {"SIMULATED_CUPTI_VERSION": "13.0"}),
    ("second", {"SIMULATED_CUPTI_VERSION": "13.2"}),
    ("second", {"SIMULATED_CUPTI_VERSION": "13.3"}),
    ("second", {"SIMULATED_CUPTI_VERSION": "13.5", "SIMULATED_DRIVER_VERSION": "13050"}),
    ("second of several", {"SIMULATED_CUPTI_VERSION": "13.3"}),
    ("second of several", {"SIMULATED_CUPTI_VERSION": "13.3", "SIMULATED_DRIVER_VERSION": "13030"}),
    ("second of several", {"SIMULATED_CUPTI_VERSION": "13.5", "SIMULATED_DRIVER_VERSION": "13050"}),
]
"""Profilers that use CUPTI's second family; a driver for CUDA 13.0 serves only one subscriber."""


@pytest.mark.parametrize("is_first", [False, True], ids=["later", "first"])
@pytest.mark.parametrize(
    ("profiler", "version"),
    SECOND_FAMILY,
    ids=["-".join((name, *each.values())) for name, each in SECOND_FAMILY],
)
def test_a_profiler_of_the_second_family_and_warpline_are_both_complete(
    preloaded: Session, profiler: str, version: dict[str, str], is_first: bool
) -> None:
    begin = f"assert start[{profiler!r}]() == 0"
    lines = [begin, "initialise()"] if is_first else ["initialise()", "work(30)", begin]
    program = f"""{CLIENTS}
{"; ".join(['ctypes.CDLL("libcupti.so.12")', *lines])}
for turn in (1, 2):
    work(50)
    stop[{profiler!r}]()
    work(20)
    assert counts({profiler!r}) == [50 * turn, 0, 0, 0], counts({profiler!r})
    {begin}
stop[{profiler!r}]()
"""
    preloaded.variables.update(version)
    run(preloaded, program)
    assert preloaded.count(*KERNEL) == (140 if is_first else 170)
    assert states(preloaded.spool())["cuda"][0]


def test_graphs_are_one_event_per_launch_where_cupti_serves_several(preloaded: Session) -> None:
    program = f"{CLIENTS}\ninitialise()\ncuda.simulatedGraph(3, 5, 7, u64(700)); cuda.simulatedSynchronize(7)"
    preloaded.variables |= {"SIMULATED_CUPTI_VERSION": "13.5", "SIMULATED_DRIVER_VERSION": "13050"}
    run(preloaded, program, WARPLINE_CUPTI="graphs=graph")
    assert preloaded.count(records.CUPTI_GRAPH, records.cupti_graph) == 1
    assert preloaded.count(*KERNEL) == 0


def test_a_second_session_of_a_profiler_is_complete_too(preloaded: Session) -> None:
    program = f"""{CLIENTS}
initialise()
for turn in (1, 2, 3):
    assert start["kineto"]() == 0
    work(50)
    stop["kineto"]()
    work(10)
    assert counts("kineto") == [50 * turn, 0, 0, 0], counts("kineto")
"""
    run(preloaded, program)
    assert preloaded.count(*KERNEL) == 180


def test_the_programs_clock_is_its_own(preloaded: Session) -> None:
    program = f"""{CLIENTS}
initialise()
assert start["kineto"]() == 0
work(1)
# A busy machine may come between the two clocks that it reads.
assert min(abs(clients.kinetoClockError()) for _ in range(100)) < 50_000_000, clients.kinetoClockError()
stop["kineto"]()
"""
    run(preloaded, program)
    (session,) = preloaded.spool().records(records.CUPTI_SESSION, records.cupti_session).values
    kernel = preloaded.spool().records(*KERNEL).values[0]
    assert abs(int(kernel["start_ns"]) - int(session["time_ns"])) < 3600 * 10**9


def test_a_profiler_does_not_take_what_warpline_is_paused_for(preloaded: Session, tmp_path: Path) -> None:
    program = f"""{CLIENTS}{LOOKS}
initialise()
start["kineto"]()
converse()
"""
    preloaded.variables["SIMULATED_CUPTI_FLUSHES"] = str(tmp_path / "flushes")
    process = preloaded.start("python3", "-c", program)
    assert process.stdin is not None
    assert process.stdout is not None

    def say(line: str) -> None:
        process.stdin.write(line + "\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        assert process.stdout.readline() == "ok\n"  # type: ignore[union-attr]

    say("work(20); wait_for_looks()")
    preloaded.set_state(1)
    say("wait_for_looks(); work(30); wait_for_looks()")
    preloaded.set_state(0)
    say("wait_for_looks(); work(40); stop['kineto']()")
    say("assert counts('kineto') == [90, 0, 0, 0], counts('kineto')")
    process.stdin.close()
    assert process.wait(60) == 0
    assert preloaded.count(*KERNEL) == 60


def test_without_a_recording_of_cuda_the_program_has_cupti_alone(preloaded: Session) -> None:
    preloaded.set_page(sources=127 & ~4)
    program = f"""{CLIENTS}
initialise()
for name in ("kineto", "old kineto", "paddle"):
    before = counts(name)[0]
    assert start[name]() == 0
    work(50)
    stop[name]()
    assert counts(name)[0] == before + 50
"""
    run(preloaded, program)


def test_both_ways_to_look_a_function_of_cupti_up_find_the_agents(preloaded: Session) -> None:
    program = """
import ctypes, os
library, agent = ctypes.CDLL("libcupti.so.12"), ctypes.CDLL(os.environ["WARPLINE_AGENT"])
own = ctypes.cast(agent.cuptiActivityEnable, ctypes.c_void_p).value
of_libc = ctypes.CDLL(None)
of_libc.dlsym.restype = of_libc.dlvsym.restype = ctypes.c_void_p
handle = ctypes.c_void_p(library._handle)
assert own is not None
assert of_libc.dlsym(handle, b"cuptiActivityEnable") == own
assert of_libc.dlvsym(handle, b"cuptiActivityEnable", b"libcupti.so.12") == own
assert of_libc.dlvsym(handle, b"cuptiActivityEnable", b"libcupti.so.11") is None
assert of_libc.dlvsym(handle, b"cuptiGetVersion", b"libcupti.so.12") not in (None, own)
assert of_libc.dlvsym(handle, b"cuptiNothing", b"libcupti.so.12") is None
"""
    run(preloaded, program)


LOOKUPS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int getpid_of_ours(void);
pid_t getppid(void) { return 42; }
int main(void)
{
    pid_t (*next)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "getppid");
    pid_t (*first)(void) = (pid_t (*)(void))dlsym(RTLD_DEFAULT, "getppid");
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    if (!next || next() == 42 || !first || first() != 42)
        return 1;
    if (dlsym(libc, "no_such_function") || dlerror() == NULL)
        return 2;
    if (dlsym(libc, "getpid") != dlsym(RTLD_NEXT, "getpid"))
        return 3;
    const char *oldest = dlvsym(libc, "getpid", "GLIBC_2.17") ? "GLIBC_2.17" : "GLIBC_2.2.5";
    next = (pid_t (*)(void))dlvsym(RTLD_NEXT, "getppid", oldest);
    if (!next || next() == 42 || dlvsym(libc, "getpid", oldest) != dlsym(libc, "getpid"))
        return 4;
    return !dlvsym(libc, "getpid", "NO_VERSION") && dlerror() != NULL ? 0 : 5;
}
"""


def test_lookups_of_other_functions_answer_as_without_the_agent(preloaded: Session, tmp_path: Path) -> None:
    from tests.native.conftest import compile_c

    source = tmp_path / "lookups.c"
    source.write_text(LOOKUPS)
    program = compile_c(tmp_path / "lookups", [source], "-rdynamic")
    preloaded.run(program)
