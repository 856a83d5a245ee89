"""What programs of every sort do is recorded: what the kernel counted is in the capture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.unit.recording.recording_tools import (
    NOBODY,
    UNTIL_TOLD,
    States,
    needs_perf,
    python,
    python_for_anybody,
    record,
    shared_folder,
    stolen_ns,
    without_privileges,
)

from warpline.model.flags import Flag
from warpline.model.tracks import Process, Thread
from warpline.recording.sources.collector import Watched
from warpline.recording.sources.perf import records
from warpline.recording.sources.perf.collect import PerfCollector
from warpline.recording.sources.procfs.cpu_rates import CLOCK_ERROR
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import AGENT_THREAD
from warpline.storage import open_capture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")


@pytest.fixture
def shared() -> Iterator[Path]:
    yield from shared_folder()


def lifetime(life: Process | Thread) -> int:
    assert life.start_ns is not None
    assert life.stop_ns is not None
    return life.stop_ns - life.start_ns


SWITCHING = """
    import json, os, resource, threading, time
    last_words = []
    def counted():
        own = resource.getrusage(resource.RUSAGE_THREAD)
        last_words.append([own.ru_nvcsw, own.ru_nivcsw])
    def work():
        for _ in range(150):
            time.sleep(0.0005)
            sum(range(20_000))
        counted()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        counted()
        os.write(write, json.dumps([sum(column) for column in zip(*last_words)]).encode())
        os._exit(0)
    _pid, status, usage = os.wait4(child, 0)
    before_exit = json.loads(os.read(read, 1 << 12))
    print(json.dumps([
        child, before_exit, [usage.ru_nvcsw, usage.ru_nivcsw], usage.ru_utime + usage.ru_stime, os.getuid(),
    ]))
"""


@needs_perf
def test_switches_are_those_that_the_kernel_counted_for_an_unprivileged_user(shared: Path) -> None:
    # Without the agent, whose threads switch too and come and go as they please.
    options = ["--trace", "cpu"]
    stolen = stolen_ns()
    done = record(
        shared, *python(SWITCHING, python_for_anybody()), prefix=without_privileges(), options=options
    )
    assert done.returncode == 0, done.stderr
    stolen = stolen_ns() - stolen
    child, before_exit, until_gone, cpu_s, uid = json.loads(done.stdout)
    assert uid == (NOBODY if os.geteuid() == 0 else os.getuid())
    states = States(shared / "run.h5")
    assert states.sources["perf"].enabled
    assert states.sources["perf"].lost == 0
    own = states.of_process(child)
    own &= states.flags & Flag.ESTIMATED == 0
    blocked = int((own & (states.name == "blocked")).sum())
    runnable = int((own & (states.name == "runnable")).sum()) - 5  # each new thread waits for its first turn
    # The kernel ends a thread's events before it frees its memory, and counts the switches of that time too: few on a
    # quiet machine, dozens on a busy one. So what is recorded lies between two counts of the kernel.
    assert before_exit[0] > 500
    assert before_exit[0] <= blocked <= until_gone[0]
    assert before_exit[1] <= runnable <= until_gone[1]
    assert states.total("running", states.of_process(child)) == pytest.approx(
        cpu_s * 1e9, rel=0.1, abs=15e6 + stolen
    )


@needs_perf
def test_states_of_a_thread_are_without_gaps_and_cores_run_one_thing_at_a_time(tmp_path: Path) -> None:
    done = record(tmp_path, *python(SWITCHING))
    child = json.loads(done.stdout)[0]
    states = States(tmp_path / "run.h5")
    for thread, life in enumerate(states.threads):
        own = np.flatnonzero(states.thread == thread)
        own = own[np.argsort(states.start[own])]
        assert (states.start[own][1:] == (states.start + states.duration)[own][:-1]).all()
        if life.start_ns and life.stop_ns:
            assert int(states.duration[own].sum()) == life.stop_ns - life.start_ns
    threads = [t for t in states.threads if states.processes[t.process].pid == child]
    assert len([t for t in threads if t.name != AGENT_THREAD]) == 5
    with open_capture(tmp_path / "run.h5") as capture:
        for track in capture.tracks:
            if track.role == "core":
                assert len(capture.track_lanes(track.index)) <= 1
                rows = capture.rows_of_track(track.index)
                start, duration = capture.events.start[rows], capture.events.duration[rows]
                assert (start[1:] >= start[:-1] + duration[:-1]).all()
        ran = capture.kinds["cpu_slice"]
        process, valid = ran.column("process")
        assert {capture.processes[index].pid for index in np.unique(process[valid]).tolist()} <= {
            life.pid for life in capture.processes
        }


@needs_perf
def test_fork_exec_and_names(tmp_path: Path) -> None:
    program = """
        import os, subprocess, threading, time
        def named():
            open("/proc/self/task/%d/comm" % threading.get_native_id(), "w").write("worker-x")
            time.sleep(0.05)
        thread = threading.Thread(target=named); thread.start()
        time.sleep(0.15)
        sleeping = subprocess.Popen(["sleep", "600"])
        time.sleep(0.15); until_told(b"sleep\\x00600")
        sleeping.kill(); sleeping.wait()
        child = os.fork()
        if child == 0:
            time.sleep(0.15); os._exit(4)
        os.waitpid(child, 0); thread.join()
        print(child, os.getpid())
    """
    done = record(tmp_path, *python(UNTIL_TOLD + textwrap.dedent(program)))
    child, parent = map(int, done.stdout.split())
    states = States(tmp_path / "run.h5")
    by_pid = {process.pid: process for process in states.processes}
    assert by_pid[child].parent_pid == parent
    assert by_pid[child].command == by_pid[parent].command
    sleeping = next(process for process in states.processes if process.name == "sleep")
    assert sleeping.command == "sleep 600"
    assert sleeping.parent_pid == parent
    assert lifetime(sleeping) >= 150_000_000
    worker = next(thread for thread in states.threads if thread.name == "worker-x")
    assert lifetime(worker) >= 50_000_000
    assert states.total("blocked", states.of(worker.tid)) >= 50_000_000
    assert all(f"process/{process.pid}.1" in states.tracks for process in states.processes)


@needs_perf
def test_two_hundred_threads_that_wait_ten_milliseconds(tmp_path: Path) -> None:
    # The wait begins when the kernel says that all of them sleep: a machine held up on the way costs none of it.
    program = """
        import os, threading, time
        def sleeps(thread, end):
            with open(f"/proc/self/task/{thread.native_id}/syscall") as file:
                return file.read().split()[1:2] == [hex(end)]
        for _ in range(4):
            read, write = os.pipe()
            threads = [threading.Thread(target=os.read, args=(read, 1)) for _ in range(50)]
            [thread.start() for thread in threads]
            while not all(sleeps(thread, read) for thread in threads):
                time.sleep(0.001)
            time.sleep(0.01)
            os.write(write, bytes(50))
            [thread.join() for thread in threads]
    """
    assert record(tmp_path, *python(program), options=["--trace", "cpu"]).returncode == 0
    states = States(tmp_path / "run.h5")
    short = [t for t in states.threads if t.start_ns and t.stop_ns and t.stop_ns - t.start_ns >= 10_000_000]
    assert len(short) == 200
    for thread in short:
        # A thread id may be used again within the run, so look at this thread and not at its id.
        own = states.thread == states.threads.index(thread)
        assert int(states.duration[own].sum()) == lifetime(thread)
        assert int(states.duration[own & (states.name == "blocked")].max()) > 9_900_000


@needs_perf
def test_a_program_that_lives_ten_milliseconds(tmp_path: Path) -> None:
    assert record(tmp_path, "sleep", "0.01").returncode == 0
    states = States(tmp_path / "run.h5")
    (process,) = states.processes
    assert 10_000_000 <= states.total("blocked") < states.duration.sum() <= lifetime(process)
    assert process.command == "sleep 0.01"


@needs_perf
def test_counters_of_cores_and_processes(tmp_path: Path) -> None:
    program = """
        import os, time
        block = bytearray(os.urandom(1 << 20) * 64)
        while time.process_time() < 1.2: pass
        print(os.getpid(), time.process_time_ns())
    """
    # Without the agent, whose own threads are threads of the program too: one thread is never more than one core.
    stolen = stolen_ns()
    done = record(tmp_path, *python(program), options=["--trace", "cpu"])
    stolen = stolen_ns() - stolen
    states = States(tmp_path / "run.h5")
    pid, used_ns = map(int, done.stdout.split())
    uri = f"process/{pid}.1/counters/cpu"
    name, unit, cpu = states.counters[uri]
    assert (name, unit) == ("CPU", "cores")
    assert 0 < np.nanmax(cpu) <= 1 + CLOCK_ERROR
    # What the readings in between came to, no matter when they were made.
    seen_ns = np.nansum(cpu[:-1] * np.diff(states.counter_times[uri]))
    assert 0 < seen_ns <= 1.5 * used_ns  # the interpreter's end comes after its last word
    _name, unit, memory = states.counters[f"process/{pid}.1/counters/memory"]
    assert unit == "bytes"
    assert np.nanmax(memory) > 64 << 20
    name, unit, busy = states.counters["cpu/0"]
    assert (name, unit) == ("Utilization", "ratio")
    assert ((busy >= 0) & (busy <= 1) | np.isnan(busy)).all()
    # Read some time after the moment it is said for, and some time before the end.
    accounting = states.meta["thread_accounting"][0]
    running = states.name == "running"
    stop = np.minimum(states.start + states.duration, accounting["time_ns"])
    until_then = int(np.maximum(stop - states.start, 0)[running].sum())
    assert 0.8 * until_then - stolen <= accounting["run_ns"] <= 1.2 * states.total("running")


@needs_perf
def test_blocked_says_that_it_includes_the_wait_for_a_core(shared: Path) -> None:
    options = ["--trace", "cpu"]
    record(shared, "sleep", "0.05", prefix=without_privileges(), options=options)
    with open_capture(shared / "run.h5") as capture:
        table = capture.kinds["thread_state"]
        reasons, valid = table.column("reason")
        names = capture.events.name[table.rows]
        blocked = capture.strings.id("blocked")
        assert (np.asarray(valid) == (names == blocked)).all()
        texts = {capture.strings[int(i)] for i in np.unique(reasons[valid])}
        assert texts
        assert all("wait for a core" in text for text in texts)


HAND_TO_HAND = """
import json, os, resource
def switches(usage): return usage.ru_nvcsw + usage.ru_nivcsw
begun = switches(resource.getrusage(resource.RUSAGE_SELF))
there, back = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    for _ in range(3000): os.read(there[0], 1); os.write(back[1], b"x")
    os.write(back[1], json.dumps(switches(resource.getrusage(resource.RUSAGE_SELF))).encode())
    os._exit(0)
for _ in range(3000): os.write(there[1], b"x"); os.read(back[0], 1)
least = int(os.read(back[0], 99))
usage = os.wait4(child, 0)[2]
own = switches(resource.getrusage(resource.RUSAGE_SELF))
print(json.dumps([own - begun + least, own + switches(usage)]), flush=True)
os._exit(0)  # what a busy machine does to an interpreter that ends is in the recording alone
"""


@needs_perf
def test_provoked_loss_is_counted_exactly(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    waiting = ["sh", "-c", 'read line; exec "$0" "$@"', *python(HAND_TO_HAND)]
    with subprocess.Popen(waiting, stdin=pipe, stdout=pipe) as program:
        collector = PerfCollector(Watched(directory=tmp_path, root_pid=program.pid), ring_pages=4)
        can_tell = collector.rings[0].dropped() is not None
        output, _ = program.communicate(b"go\n", timeout=60)
    collector.close()
    if not can_tell:
        pytest.skip("kernels before 6.0 do not tell the last loss")
    spool = SpoolFile(tmp_path / "perf.spool")
    got = len(spool.records(records.SWITCH, records.switch).values)
    lost = int(spool.records(records.LOST, records.lost).values["count"].sum())
    # Without and with what is recorded in part only: the time before Python begins, and the child's end.
    least, most = json.loads(output)
    assert lost == collector.lost > 1000
    # Names, forks and exits are records as well.
    assert 2 * least - 12 <= got + lost <= 2 * most + 12
