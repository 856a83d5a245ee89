"""``warpline.Profiler`` in real programs: alone, and inside ``warpline record``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.native.conftest import simulated_gpu_environment
from tests.native.profiler_tools import needs_agent, run, steps_of, the_capture
from tests.unit.recording.recording_tools import WARPLINE
from tests.waiting import wait_until

import warpline

pytestmark = needs_agent


def test_alone_it_records_the_steps_of_its_schedule(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        thread = threading.Thread(target=time.sleep, args=(60,), daemon=True, name="bystander")
        thread.start()
        ready = []
        def handler(profiler):
            ready.append(profiler.step_num)
            warpline.export_capture("profiler_log")(profiler)
        profiler = Profiler(scheduler=(2, 5), on_trace_ready=handler)
        profiler.start()
        train(profiler, 8)
        profiler.stop()
        profiler.summary(views=warpline.SummaryView.ModelView)
        print(ready, os.getpid(), len(threading.enumerate()))
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("no children")
        """,
    )
    assert done.stderr == ""
    with the_capture(tmp_path) as capture:
        assert steps_of(capture) == ["ProfileStep#2", "ProfileStep#3", "ProfileStep#4"]
        names = capture.events("range", name=["load", "Forward"])
        assert sorted(names["name"].tolist()) == ["Forward"] * 3 + ["load"] * 3
        assert set(names["category"].tolist()) == {"Dataloader", "Forward"}
        rows = {row["name"]: row for row in capture.report("model").rows(0, 10)}
        assert rows["ProfileStep"]["count"] == rows["Dataloader"]["count"] == rows["Forward"]["count"] == 3
        assert rows["Dataloader"]["cpu_total_ns"] >= 3 * 2_000_000
        pid = int(done.stdout.split("] ")[1].split()[0])
        assert [process.pid for process in capture.processes] == [pid]
        assert len(capture.threads) >= 2  # one that did nothing was found, too
        assert capture.metadata["command_line"][-1].endswith("program.py")
    assert "[5] " in done.stdout
    assert "no children" in done.stdout
    assert "ProfileStep      3" in done.stdout
    assert not list(tmp_path.glob("**/*.spool"))


def wait_for_captures(folder: Path, count: int) -> None:
    """Recorders of cycles before the last may end after the program."""
    wait_until(lambda: len(list(folder.glob("*.h5"))) == count, f"no {count} captures in {folder}")


def test_each_cycle_is_a_capture(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        with Profiler(scheduler=warpline.make_scheduler(closed=1, ready=1, record=1, repeat=2)) as profiler:
            train(profiler, 7)
        """,
    )
    assert done.stderr == ""
    wait_for_captures(tmp_path / "profiler_log", 2)
    captures = [warpline.open(path) for path in sorted(tmp_path.glob("profiler_log/*.h5"))]
    assert [steps_of(capture) for capture in captures] == [["ProfileStep#2"], ["ProfileStep#5"]]


def test_inside_a_recording_it_drives_it(tmp_path: Path) -> None:
    record = (*WARPLINE, "record", "-q", "-o", "run.h5", "--trace", "cpu,nvtx", "--")
    done = run(
        tmp_path,
        """
        with Profiler(scheduler=(2, 4), on_trace_ready=warpline.export_chrome_tracing("chrome")) as profiler:
            train(profiler, 8)
        profiler.summary(views=[warpline.SummaryView.ModelView])
        """,
        prefix=record,
    )
    assert done.stderr == ""
    with warpline.open(tmp_path / "run.h5") as capture:
        assert steps_of(capture) == ["ProfileStep#2", "ProfileStep#3"]
        loads = capture.events("range", name="load")
        first, last = (capture.events("range", name=f"ProfileStep#{step}") for step in (2, 3))
        assert len(loads) == 2
        assert int(loads.start_ns[0]) >= int(first.start_ns[0])
        assert int(loads.stop_ns[-1]) <= int(last.stop_ns[0])
        assert len(capture.storage.pauses) >= 2
    assert "ProfileStep      2" in done.stdout
    (trace,) = (tmp_path / "chrome").glob("*.paddle_trace.json")
    names = [event.get("name") for event in json.loads(trace.read_text())["traceEvents"]]
    assert "ProfileStep#2" in names


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_capture_on_the_way_to_a_trace_does_not_outlive_the_program(
    tmp_path: Path, is_inside: bool
) -> None:
    record = (*WARPLINE, "record", "-q", "-o", "run.h5", "--trace", "nvtx", "--")
    done = run(
        tmp_path,
        """
        import tempfile
        tempfile.tempdir = os.path.abspath("passing")
        os.mkdir("passing")
        with Profiler(scheduler=(1, 3), on_trace_ready=warpline.export_chrome_tracing("chrome")) as profiler:
            train(profiler, 4)
        print(profiler.profiler_result.path.exists())
        """,
        prefix=record if is_inside else (),
    )
    assert done.stdout == "True\n"
    assert len(list((tmp_path / "chrome").iterdir())) == 1
    assert list((tmp_path / "passing").iterdir()) == []


def test_without_a_schedule_a_recording_goes_on_after_it(tmp_path: Path) -> None:
    record = (*WARPLINE, "record", "-q", "-o", "run.h5", "--trace", "cpu,nvtx", "--")
    run(
        tmp_path,
        """
        with RecordEvent("before"): pass
        with Profiler(on_trace_ready=lambda profiler: None) as profiler:
            train(profiler, 2)
        with RecordEvent("after"): pass
        """,
        prefix=record,
    )
    with warpline.open(tmp_path / "run.h5") as capture:
        assert len(capture.events("range", name=["before", "after"])) == 2
        assert steps_of(capture)[:2] == ["ProfileStep#0", "ProfileStep#1"]


def test_a_recorder_that_dies_harms_nobody(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import glob, json, signal
        def kill(step):
            if step == 3:
                (session,) = glob.glob("profiler_log/*.spool/session.json")
                os.kill(json.load(open(session))["recorder_pid"], signal.SIGKILL)
        profiler = Profiler(scheduler=(1, 6))
        profiler.start()
        train(profiler, 9, kill)
        profiler.stop()
        with RecordEvent("still here"): print("ended well")
        """,
    )
    assert "ended well" in done.stdout
    assert done.stderr.count("ProfilerWarning: profiling failed, the program continues:") == 1
    (spool,) = tmp_path.glob("profiler_log/*.spool")  # what was recorded is kept
    assert (spool / "session.json").exists()


TRAINING = """
import torch

class Images:
    def __getitem__(self, index):
        time.sleep(0.001)
        return index

class Layer(torch.nn.Module):
    def forward(self, x):
        time.sleep(0.002)
        return x

model, optimizer = Layer(), torch.optim.SGD()
profiler = Profiler(scheduler=warpline.make_scheduler(closed=1, ready=1, record=2, repeat=2))
with profiler:
    for batch in torch.data.DataLoader(Images(), 10, 0):
        model(batch)
        torch.autograd.backward(0.003)
        optimizer.step()
        profiler.step()
"""


@pytest.mark.parametrize("is_inside", [False, True])
def test_phases_of_a_training_nobody_marked(tmp_path: Path, is_inside: bool) -> None:
    record = (*WARPLINE, "record", "-q", "-o", "profiler_log/run.h5", "--trace", "cpu,nvtx,steps", "--")
    (tmp_path / "profiler_log").mkdir()
    done = run(tmp_path, TRAINING, prefix=record if is_inside else ())
    assert done.stderr == ""
    wait_for_captures(tmp_path / "profiler_log", 3 if is_inside else 2)
    paths = [
        path for path in sorted(tmp_path.glob("profiler_log/*.h5")) if not is_inside or path.name == "run.h5"
    ]
    cycles = [[2, 3, 6, 7]] if is_inside else [[2, 3], [6, 7]]
    assert len(paths) == len(cycles)
    for path, numbers in zip(paths, cycles, strict=True):
        with warpline.open(path) as capture:
            # The steps are those of the profiler, and not those that could be found in the phases as well.
            assert [row["step"] for row in capture.report("steps").rows(0, 10)] == numbers
            rows = {row["name"]: row for row in capture.report("model").rows(0, 10)}
            for name, least_ms in (("Dataloader", 1), ("Forward", 2), ("Backward", 3), ("Optimization", 0)):
                assert rows[name]["count"] == len(numbers), name
                assert rows[name]["cpu_total_ns"] >= len(numbers) * least_ms * 1_000_000
            assert len(capture.events("module")) == len(numbers)
            assert {source.name for source in capture.sources if source.enabled} >= {"nvtx", "steps"}


# CUDA is initialised before the profiler starts, or after its first recording began.
ON_A_GPU = """
import ctypes
import warpline
from warpline.compat import paddle as profiler

cuda = ctypes.CDLL("libcuda.so.1")
NAMES = [ctypes.c_char_p(f"kernel_{step}".encode()) for step in range(8)]
before, first_use = dict(os.environ), FIRST_USE
if first_use == 0:
    assert cuda.cuInit(0) == 0
schedule = profiler.make_scheduler(closed=1, ready=1, record=2, repeat=2 if first_use == 0 else 1)
with profiler.Profiler(scheduler=schedule, on_trace_ready=warpline.export_capture("log")) as prof:
    for step in range(8):
        if step == first_use:
            assert cuda.cuInit(0) == 0
        for _ in range(step + 1):
            cuda.simulatedLaunch(NAMES[step], 7, ctypes.c_uint64(1000))
        prof.step()
assert dict(os.environ) == before
if first_use == 0:
    prof.summary(sorted_by=profiler.SortedKeys.GPUTotal, views=profiler.SummaryView.KernelView)
    prof.export("last.pb", format="pb")
    assert len(profiler.load_profiler_result("last.pb").events("kernel")) == 15
    prof.export("last.h5", format="h5")
# Whoever wants CUPTI next finds it free.
cupti = ctypes.CDLL(os.environ["WARPLINE_LIBCUPTI"])
assert cupti.cuptiSubscribe(ctypes.byref(ctypes.c_void_p()), None, None) == 0
"""


@pytest.mark.parametrize("first_use", [0, 2])
def test_alone_it_records_the_kernels_of_its_steps(
    tmp_path: Path, simulated_gpu: Path, first_use: int
) -> None:
    program = ON_A_GPU.replace("FIRST_USE", str(first_use))
    done = run(tmp_path, program, variables=simulated_gpu_environment(simulated_gpu))
    assert done.stderr == ""
    wait_for_captures(tmp_path / "log", 1)
    paths = sorted(tmp_path.glob("log/*.h5"))
    cycles = [{"kernel_2": 3, "kernel_3": 4}]
    if first_use == 0:
        # The second recording is what was exported, and Paddle's file has its kernels.
        paths.append(tmp_path / "last.h5")
        with warpline.open(tmp_path / "last.pb") as own:
            exported = own.events("kernel")["name"].tolist()
        assert {name: exported.count(name) for name in exported} == {"kernel_6": 7, "kernel_7": 8}
        cycles.append({"kernel_6": 7, "kernel_7": 8})
        rows = [line.split() for line in done.stdout.splitlines() if line.startswith("kernel_")]
        assert [(row[0], row[1]) for row in rows] == [("kernel_7", "8"), ("kernel_6", "7")]
        assert [row[-1] for row in rows] == ["53.33", "46.67"]
    for path, counts in zip(paths, cycles, strict=True):
        with warpline.open(path) as capture:
            names = capture.events("kernel")["name"].tolist()
            assert {name: names.count(name) for name in names} == counts
            assert [gpu.name for gpu in capture.storage.devices] == ["Simulated H100"]
            assert capture.storage.links.counts()["launch"] >= len(names)
            (source,) = [source for source in capture.sources if source.name == "cuda"]
            assert source.enabled
