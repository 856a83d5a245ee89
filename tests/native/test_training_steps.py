"""An untouched training: its steps, phases and modules are what its own clock says. On a stand-in for PyTorch."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import py_compile
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.native.conftest import Session
from tests.unit.recording.recording_tools import UNTIL_HOOKED

import warpline
from warpline.recording.doctor import check_source
from warpline.recording.hooks import probing
from warpline.recording.hooks.injection import hooking
from warpline.recording.sources.steps.source import source

HERE = Path(__file__).parent
STANDIN = HERE / "standin"
PROGRAM = STANDIN / "training.py"
TYPES = ("dataloader_ns", "forward_ns", "backward_ns", "optimization_ns")


def record(
    output: Path, *command: str, path: str = str(STANDIN), options: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Records a program that finds the stand-in where it would find torch."""
    words = [sys.executable, "-m", "warpline", "record", "-q", "--trace", "steps", *options]
    words += ["-o", str(output), "--"]
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    return subprocess.run(
        [*words, *command], capture_output=True, text=True, timeout=100, check=False, env=environment
    )


def told_and_found(tmp_path: Path, workers: int, mode: str) -> tuple[dict[str, Any], warpline.CaptureReader]:
    done = record(tmp_path / "x.h5", sys.executable, str(PROGRAM), str(workers), mode)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout), warpline.open(tmp_path / "x.h5")


def frame(capture: warpline.CaptureReader, report: str) -> pd.DataFrame:
    return capture.report(report).to_pandas()


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("mode", ["plain", "accumulate", "two", "closure", "manual"])
def test_steps_are_counted_and_their_phases_add_up(tmp_path: Path, workers: int, mode: str) -> None:
    told, capture = told_and_found(tmp_path, workers, mode)
    with capture:
        steps = frame(capture, "steps")
        phases = capture.events("phase").to_pandas()
    assert len(steps) == told["steps"]
    assert list(steps.step) == list(range(len(steps)))
    assert (phases.name == "evaluation").sum() == told["evaluations"]
    known = [name for name in TYPES if name in steps]
    assert ("dataloader_ns" in known) == (mode != "manual")
    assert (steps.others_ns >= 0).all()
    assert (steps[[*known, "others_ns"]].sum(axis=1) == steps.duration_ns).all()
    # What is neither phase nor communication is the loop itself.
    waits = steps.dataloader_ns.sum() / 1e9 if "dataloader_ns" in steps else 0.0
    # Longer than what the loader's own clock says, shorter than the program's around the loop's head.
    assert told["inside"] - 1e-6 <= waits <= told["wait"] + 1e-6


def test_memory_of_tensors_is_counted_after_each_step(tmp_path: Path) -> None:
    command = (sys.executable, str(PROGRAM), "0", "plain")
    done = record(tmp_path / "x.h5", *command, options=("--torch-memory",), FAKE_GPUS="2")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    with warpline.open(tmp_path / "x.h5") as capture:
        counters = {counter.name: counter for counter in capture.counters}
        ends = sorted(
            frame_of.start_ns + frame_of.duration_ns
            for frame_of in capture.events("phase", name="Optimizer.step: SGD").to_pandas().itertuples()
        )
        words = ("allocated", "allocated at most", "reserved")
        # The second GPU was never used.
        assert set(counters) == {f"GPU 0 tensors: {word}" for word in words} | {"C library: allocated"}
        values = {word: counters[f"GPU 0 tensors: {word}"].values.tolist() for word in words}
        times = counters["GPU 0 tensors: allocated"].times_ns.tolist()
    grown = [number << 20 for number in range(1, told["steps"] + 1)]
    assert values["allocated"] == grown
    assert values["allocated at most"] == [2 * value for value in grown]
    assert values["reserved"] == [64 << 20] * told["steps"]
    assert all(time >= end for time, end in zip(times, ends, strict=True))


KEEPS = f"""{UNTIL_HOOKED}
import torch
class Keeps(torch.nn.Module):
    def __init__(self, size, **inner):
        super().__init__(**inner)
        self.size, self.held = size, None
    def forward(self):
        for inner in self.children.values(): inner()
        torch.cuda.kept[0] += self.size
        self.held = bytearray(self.size) if self.size > 0 else None
net = Keeps(8 << 20, first=Keeps(64 << 20), second=Keeps(-16 << 20))
net()
net.children["first"].held = None
net.children["first"]()
"""


@pytest.mark.parametrize("gpus", [{}, {"FAKE_GPUS": "1"}])
def test_each_call_of_a_module_tells_what_it_keeps_of_memory(tmp_path: Path, gpus: dict[str, str]) -> None:
    (tmp_path / "keeps.py").write_text(KEEPS)
    command = (sys.executable, str(tmp_path / "keeps.py"))
    done = record(tmp_path / "x.h5", *command, options=("--torch-memory",), **gpus)
    assert (done.returncode, done.stderr) == (0, "")
    with warpline.open(tmp_path / "x.h5") as capture:
        calls = capture.events("module").to_pandas().sort_values("start_ns")
        table = capture.report("modules").to_pandas()
    mega = 1 << 20
    assert list(calls.name) == ["net", "net.first", "net.second", "net.first"]
    # The C library maps what is large, in whole pages; Python's own objects are small beside it.
    assert (calls.host_kept_bytes / mega).round().tolist() == [72, 64, 0, 64]
    assert (table.host_self_kept_bytes / mega).round().max() == 64
    assert ("gpu_kept_bytes" in calls) == ("gpu_kept_bytes" in table) == bool(gpus)
    if gpus:
        assert (calls.gpu_kept_bytes / mega).tolist() == [56, 64, -16, 64]
        net = table[table.name == "net"].iloc[0]
        assert (net.gpu_kept_bytes, net.gpu_self_kept_bytes) == (56 * mega, 8 * mega)


SPLITS = (
    KEEPS
    + """
pieces = [bytearray(600) for _ in range(100_000)]
del pieces[::2]
for _ in range(1500): net.children["second"]()
"""
)


def test_a_heap_in_many_pieces_is_not_weighed_at_every_call(tmp_path: Path) -> None:
    (tmp_path / "splits.py").write_text(SPLITS)
    done = record(tmp_path / "x.h5", sys.executable, str(tmp_path / "splits.py"), options=("--torch-memory",))
    assert (done.returncode, done.stderr) == (0, "")
    with warpline.open(tmp_path / "x.h5") as capture:
        calls = capture.events("module").to_pandas().sort_values("start_ns")
        (said,) = [said for said in capture.sources if said.name == "steps"]
    assert (calls.host_kept_bytes[:4] / (1 << 20)).round().tolist() == [72, 64, 0, 64]
    weighed = calls.host_kept_bytes.notna()
    assert len(calls) == 1504
    assert weighed.is_monotonic_decreasing  # for good
    assert weighed.sum() < 1000
    assert said.enabled
    assert "the C library became too slow to ask" in said.reason


def test_two_batches_make_one_step_where_gradients_accumulate(tmp_path: Path) -> None:
    _told, capture = told_and_found(tmp_path, 0, "accumulate")
    with capture:
        phases = capture.events("phase").to_pandas()
        steps = frame(capture, "steps")
    first = phases[(phases.start_ns >= steps.start_ns[0]) & (phases.start_ns < steps.start_ns[1])]
    assert (first.name == "DataLoader.__next__").sum() == 2
    assert (first.name == "backward").sum() == 2
    assert (first.name == "Optimizer.step: SGD").sum() == 1


def test_workers_tell_what_a_batch_is_made_of(tmp_path: Path) -> None:
    _told, capture = told_and_found(tmp_path, 1, "plain")
    with capture:
        phases = capture.events("phase").to_pandas()
        trainer = phases.process_id[phases.name == "backward"].iloc[0]
        parts = phases[phases.process_id != trainer]
        assert set(parts.name) == {"fetch batch", "collate", "send batch"}
        fetched = parts[parts.name == "fetch batch"]
    assert len(fetched) == 2 * (4 + 2)
    # Two samples of 4 ms each.
    assert (fetched.duration_ns >= 8e6).all()
    assert fetched.arguments.iloc[0].startswith("Images.__getitem__ ")
    lines = PROGRAM.read_text().splitlines()
    place = next(number for number, line in enumerate(lines, 1) if "def __getitem__" in line)
    assert fetched.arguments.iloc[0].endswith(f"training.py:{place}")


def test_modules_have_the_names_of_the_script(tmp_path: Path) -> None:
    _told, capture = told_and_found(tmp_path, 0, "plain")
    with capture:
        modules = capture.events("module").to_pandas()
    counts = modules.groupby("name").size().to_dict()
    calls = 2 * (4 + 2)
    assert counts == {"model": calls, "model.first": calls, "model.second": calls}
    assert set(modules.class_name[modules.name == "model.first"]) == {"Layer"}


def test_a_program_without_a_framework_tells_that_there_was_none(tmp_path: Path) -> None:
    assert record(tmp_path / "x.h5", sys.executable, "-c", "print(1)").stdout == "1\n"
    with warpline.open(tmp_path / "x.h5") as capture:
        (source,) = [source for source in capture.sources if source.name == "steps"]
    assert not source.enabled
    assert source.reason == "no recorded process imported PyTorch, Paddle or JAX"


@pytest.mark.parametrize("flags", [[], ["-S"], ["-I"], ["-E", "-S"]])
def test_hooks_come_in_whatever_python_is_told_to_ignore(tmp_path: Path, flags: list[str]) -> None:
    program = (
        f"{UNTIL_HOOKED}\nsys.path.insert(0, {str(STANDIN)!r})\nimport torch\ntorch.autograd.backward(0.01)"
    )
    assert record(tmp_path / "x.h5", sys.executable, *flags, "-c", program, path="").returncode == 0
    with warpline.open(tmp_path / "x.h5") as capture:
        assert list(capture.events("phase").to_pandas().name) == ["backward"]


def test_a_torch_of_another_shape_is_left_alone_and_told(tmp_path: Path) -> None:
    strange = tmp_path / "path"
    (strange / "torch" / "nn" / "modules").mkdir(parents=True)
    for folder in ("torch", "torch/nn", "torch/nn/modules"):
        (strange / folder / "__init__.py").touch()
    (strange / "torch/nn/modules/module.py").write_text("class Other: pass\n")
    program = f"{UNTIL_HOOKED}\nimport torch.nn.modules.module as m; print(m.Other)"
    done = record(tmp_path / "x.h5", sys.executable, "-c", program, path=str(strange))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "<class 'torch.nn.modules.module.Other'>\n"
    with warpline.open(tmp_path / "x.h5") as capture:
        (source,) = [source for source in capture.sources if source.name == "steps"]
    assert "torch.nn.modules.module is not hooked: AttributeError" in source.reason


def test_exceptions_pass_through_and_are_recorded_all_the_same(tmp_path: Path) -> None:
    program = (
        f"{UNTIL_HOOKED}\nimport torch\nclass Bad(torch.nn.Module):\n  def forward(self): raise KeyError('mine')\n"
        "try: Bad()()\nexcept KeyError as e: print(e.args)\n"
    )
    done = record(tmp_path / "x.h5", sys.executable, "-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "('mine',)\n", "")
    with warpline.open(tmp_path / "x.h5") as capture:
        assert list(capture.events("module").to_pandas().name) == ["Bad"]


def test_doctor_says_so_where_no_hooks_come_in(monkeypatch: pytest.MonkeyPatch) -> None:
    check = check_source(source)
    assert check.available
    assert check.reason.startswith(f"works with Python {platform.python_version()}; ")
    assert "TensorFlow is not" in check.reason
    monkeypatch.setattr(probing, "HOOKS_TRIAL", replace(probing.HOOKS_TRIAL, variables=hooking("torch", {})))
    check = check_source(source)
    assert (check.available, check.reason) == (False, "hooks cannot be installed in this Python")
    assert check.remedy


@pytest.mark.parametrize("others", ["", "import torch"])
def test_a_framework_that_is_not_hooked_is_named(tmp_path: Path, others: str) -> None:
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text("")
    program = tmp_path / "program.py"
    program.write_text(f"import tensorflow\n{others}\n{UNTIL_HOOKED}")
    done = record(tmp_path / "x.h5", sys.executable, str(program))
    assert (done.returncode, done.stderr) == (0, "")
    with warpline.open(tmp_path / "x.h5") as capture:
        (source,) = [source for source in capture.sources if source.name == "steps"]
    assert source.reason.startswith("TensorFlow is not hooked")
    # Another that is hooked is recorded all the same.
    assert source.enabled == bool(others)


def test_what_python_compiled_before_is_taken_unless_the_source_is_another(
    session: Session, tmp_path: Path
) -> None:
    source, other = tmp_path / "boot.py", tmp_path / "other.py"
    says = "import builtins; builtins.said = {!r}".format
    source.write_text(says("source"))
    other.write_text(says("cached"))
    cached = Path(importlib.util.cache_from_source(str(source)))
    status = source.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    py_compile.compile(
        str(other), cfile=str(cached), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP
    )
    agent = str(session.agent)

    def said() -> str:
        waits = "import builtins, time\nwhile not hasattr(builtins, 'said'): time.sleep(0.001)\nprint(builtins.said)"
        command = [sys.executable, "-c", waits]
        return session.run(
            *command, LD_PRELOAD=agent, WARPLINE_HOOKS=str(tmp_path), WARPLINE_HOOKED="steps"
        ).stdout

    assert said() == "cached\n"
    source.write_text(says("a longer source"))
    assert said() == "a longer source\n"


JAX = {
    "__init__": "from jax._src import monitoring, profiler",
    "_src/__init__": "",
    "_src/monitoring": """
listeners = []
def register_event_duration_secs_listener(listener): listeners.append(listener)
def tell(event, seconds, **about):
    for listener in listeners: listener(event, seconds, **about)
""",
    "_src/profiler": """
class TraceMe:
    def __init__(self, name, **about): pass
    def __enter__(self): return self
    def __exit__(self, *error): pass
class TraceAnnotation(TraceMe): pass
class StepTraceAnnotation(TraceAnnotation):
    def __init__(self, name, **about): super().__init__(name, _r=1, **about)
def of_jax():
    with TraceAnnotation("of JAX itself"): pass
""",
}
"""A stand-in for JAX: what its hooks touch."""
JAX_PROGRAM = f"""{UNTIL_HOOKED}
import jax
from jax._src.profiler import StepTraceAnnotation, TraceAnnotation, of_jax
for number in range(3):
    with StepTraceAnnotation("train", step_num=number):
        with TraceAnnotation("load"): of_jax()
        if number == 0:
            jax.monitoring.tell("/jax/core/compile/backend_compile_duration", 1e-6, fun_name="jit(step)")
            jax.monitoring.tell("/jax/another/event", 1e-6)
try:
    with TraceAnnotation("fails"): raise KeyError("mine")
except KeyError as error: print(error.args)
"""


def test_jax_has_steps_annotations_and_compilations(tmp_path: Path) -> None:
    for name, text in JAX.items():
        file = tmp_path / "jax" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "program.py").write_text(JAX_PROGRAM)
    done = record(tmp_path / "x.h5", sys.executable, str(tmp_path / "program.py"), path=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "('mine',)\n", "")
    with warpline.open(tmp_path / "x.h5") as capture:
        names = capture.events("phase").to_pandas().name.value_counts().to_dict()
        assert list(frame(capture, "steps").name) == [f"ProfilerStep#{number}" for number in range(3)]
        user = set(frame(capture, "user_defined").name)
        assert [source.reason for source in capture.sources if source.name == "steps"] == [""]
    assert {"load", "fails"} <= user
    assert names.pop("compile XLA module: jit(step)") == 1
    assert (names["train"], names["load"]) == (3, 3)
    assert not {"of JAX itself", "/jax/another/event"} & names.keys()
