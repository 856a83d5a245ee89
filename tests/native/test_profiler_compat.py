"""Scripts written for Paddle's profilers run after their import was changed; stand-ins take Paddle's place."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import on_time_once

import warpline
from warpline.recording.agent.library import agent_library

PACKAGE = Path(__file__).parents[2] / "capture"
DOCUMENTATION = "PaddlePaddle_docs_profiling_model_46ceb37d.md"

pytestmark = [
    pytest.mark.skipif(agent_library().path is None, reason=agent_library().reason),
    pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only"),
]

# Paddle as far as the examples use it: layers that compute nothing, a loader that loads nothing in 2 ms.
STAND_IN = """
import sys, time
from types import ModuleType
from unittest.mock import MagicMock

paddle = MagicMock(name="paddle")

class Layer:
    def __call__(self, *inputs): return self.forward(*inputs)
    def train(self): pass
    def eval(self): pass
    def parameters(self): return []

paddle.nn.Layer = Layer
layers = ModuleType("paddle.nn.layer.layers")
layers.Layer = Layer

iterators = ModuleType("paddle.io.dataloader.dataloader_iter")

class _DataLoaderIterMultiProcess:
    def __init__(self, batches): self.batches = batches
    def __iter__(self): return self
    def __next__(self):
        if not self.batches: raise StopIteration
        self.batches -= 1
        time.sleep(0.002)
        return [[1.0], [0]]

iterators._DataLoaderIterMultiProcess = _DataLoaderIterMultiProcess

class DataLoader:
    def __init__(self, dataset, **options): pass
    def __call__(self): return _DataLoaderIterMultiProcess(30)

paddle.io.DataLoader = DataLoader
for name, module in {"paddle": paddle, "paddle.nn": paddle.nn,
                     "paddle.nn.layer.layers": layers, "paddle.nn.functional": paddle.nn.functional,
                     "paddle.vision": paddle.vision, "paddle.vision.transforms": paddle.vision.transforms,
                     "paddle.io": paddle.io, "paddle.io.dataloader.dataloader_iter": iterators}.items():
    sys.modules[name] = module
"""


def run(folder: Path, script: str) -> str:
    (folder / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env={"PYTHONPATH": str(PACKAGE), "PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def documented(data_dir: Path, has: str) -> str:
    """The example of Paddle's documentation with these words in it, with our import."""
    text = (data_dir / "paddle" / DOCUMENTATION).read_text()
    examples = [code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if has in code]
    changed, count = re.subn(
        r"^import paddle\.profiler as profiler",
        "import warpline.compat.paddle as profiler",
        examples[0],
        flags=re.MULTILINE,
    )
    assert count == 1
    return changed


def test_the_example_of_the_documentation_prints_its_benchmark(data_dir: Path, tmp_path: Path) -> None:
    def look(folder: Path) -> None:
        printed = run(folder, STAND_IN + documented(data_dir, "class MyNet"))
        assert "Perf Summary".center(100, "=") in printed
        assert "Time Unit: s, IPS Unit: steps/s" in printed
        (ratio,) = re.findall(r"Reader Ratio: ([\d.]+)%", printed)
        assert 10 < float(ratio) <= 100  # nothing but the loader takes time there
        (reader,) = re.findall(r"reader_cost +\| +([\d.]+)", printed)
        assert 0.002 <= float(reader) < 0.1
        assert not (folder / "profiler_demo").exists()

    on_time_once(tmp_path, look)


def test_and_records_when_it_is_told_to(data_dir: Path, tmp_path: Path) -> None:
    example = documented(data_dir, "class MyNet").replace("timer_only=True", "timer_only=False")
    printed = run(tmp_path, STAND_IN + example)
    (trace,) = (tmp_path / "profiler_demo").glob("*.paddle_trace.json")
    with warpline.open(trace) as capture:
        steps = [name for name in capture.events()["name"] if name.startswith("ProfileStep#")]
    assert sorted(steps, key=lambda name: int(name[12:])) == [f"ProfileStep#{step}" for step in range(3, 14)]
    model = next(line for line in printed.splitlines() if line.startswith("ProfileStep"))
    assert model.split()[1] == "11"  # as in the documentation: steps 3 to 13
    for phase in ("Dataloader", "Forward"):
        assert re.search(rf"^  {phase} +11 ", printed, re.MULTILINE)


STEPS_OF_THE_DOCUMENTATION = """
import time
import warpline.compat.paddle as profiler
prof = profiler.Profiler(targets=[profiler.ProfilerTarget.CPU, profiler.ProfilerTarget.GPU],
                         scheduler=(2, 5), on_trace_ready=profiler.export_protobuf("log", "worker"), timer_only=False)
with prof:
    for iteration in range(10):
        with profiler.RecordEvent(name="my_code_fragment"):
            time.sleep(0.001)
        prof.step()
prof.summary(sorted_by=profiler.SortedKeys.GPUTotal, op_detail=True, thread_sep=False, time_unit="ms")
"""


def test_the_calls_of_the_documentation(tmp_path: Path) -> None:
    printed = run(tmp_path, STEPS_OF_THE_DOCUMENTATION)
    (path,) = (tmp_path / "log").glob("worker_time_*.paddle_trace.pb")
    with warpline.open(path) as capture:
        assert len(capture.events("range", name="my_code_fragment")) == 3
    (row,) = re.findall(r"^my_code_fragment +(\d+) +([\d.]+) /", printed, re.MULTILINE)
    assert row[0] == "3"
    assert float(row[1]) >= 3.0


def test_every_name_of_paddles_profiler_is_there() -> None:
    from warpline.compat import paddle

    # paddle.profiler.__all__ of Paddle 3.3.1
    names = {
        "ProfilerState", "ProfilerTarget", "make_scheduler", "export_chrome_tracing", "export_protobuf",
        "Profiler", "RecordEvent", "load_profiler_result", "SortedKeys", "SummaryView",
    }  # fmt: skip
    assert names <= set(dir(paddle))


FLUID = """
import time
from warpline.compat import fluid as profiler
from warpline import RecordEvent

with profiler.profiler("All", "total", profile_path="profile"):
    with RecordEvent("forgotten"): pass
    profiler.reset_profiler()
    for _ in range(3):
        with RecordEvent("outer"):
            with RecordEvent("inner"):
                time.sleep(0.002)

profiler.start_profiler("CPU", tracer_option="OpDetail")
with RecordEvent("second"): pass
profiler.stop_profiler("calls", "again")
profiler.stop_profiler("calls", "never")
"""


def test_fluids_profiler(tmp_path: Path) -> None:
    printed = run(tmp_path, FLUID)
    first, second = printed.split("Profiling Report")[1:]
    assert "Sorted by total time in descending order" in first
    assert "forgotten" not in first
    (inner,) = re.findall(r"^  inner +3 +([\d.]+) ", first, re.MULTILINE)
    (outer,) = re.findall(r"^thread0::outer +3 +([\d.]+) ", first, re.MULTILINE)
    assert 6.0 <= float(inner) <= float(outer)
    assert "second" in second
    with warpline.open(tmp_path / "profile.h5") as capture:
        assert sorted(set(capture.events("range")["name"])) == ["inner", "outer"]
    assert (tmp_path / "again.h5").exists()
    assert not (tmp_path / "never.h5").exists()


def test_fluid_refuses_what_paddle_refused() -> None:
    from warpline.compat import fluid

    with pytest.raises(warpline.UsageError, match="state must be one of CPU, GPU, All"):
        fluid.start_profiler("TPU")
    with pytest.raises(warpline.UsageError, match="tracer_option must be one of"):
        fluid.start_profiler("CPU", "Everything")
    with pytest.raises(warpline.UsageError, match="sorted_key must be"), fluid.profiler("CPU", "name"):
        pass


def test_cuda_profiler_without_cuda_says_so_and_runs() -> None:
    from warpline.compat import fluid

    ran = False
    with pytest.warns(warpline.ProfilerWarning, match="no CUDA runtime"), fluid.cuda_profiler("nvprof.out"):
        ran = True
    assert ran
