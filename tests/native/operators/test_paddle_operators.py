"""Operators as Paddle marks them for its own profiler, which none of this needs: on a stand-in for its libraries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.native.conftest import compile_c

import warpline

HERE = Path(__file__).parent
CORE = """
import ctypes, enum, pathlib
folder = pathlib.Path(__file__).parent
others = [ctypes.CDLL(str(path)) for path in folder.glob("other*.so")]
phi = ctypes.CDLL(str(folder / "libphi_core.so"), mode=ctypes.RTLD_GLOBAL)
own = ctypes.CDLL(str(folder / "libpaddle.so"))
class TracerEventType(enum.IntEnum):
    Operator = 0
    UserDefined = 7
    OperatorInner = 8
    Forward = 9
    Communication = 12
    PythonUserDefined = 14
    DygraphKernelLaunch = 15
    StaticKernelLaunch = {static}
class _RecordEvent:
    def __init__(self, name, type, level=1):
        self.room = ctypes.create_string_buffer(64)
        self.name = name.encode()
        own.begin(self.room, ctypes.c_char_p(self.name), int(type), level)
    def end(self): own.end(self.room)
"""
PROGRAM = """
import json, os, threading
from paddle.base.core import TracerEventType as Type, _RecordEvent as Event, phi
def work():
    for _ in range(50):
        outer = Event("matmul dygraph", Type.Operator)
        part = Event("matmul infer_meta", Type.OperatorInner)
        part.end()
        launch = Event("matmul kernel launch", Type.DygraphKernelLaunch)
        outer.end()  # they need not nest
        launch.end()
        launch.end()  # as a destructor does, once more
    Event("fine", Type.Operator, level=2).end()
    Event("Linear", Type.Forward).end()
    Event("backward", Type.UserDefined).end()
work()
other = threading.Thread(target=work)
other.start()
other.join()
if os.fork() == 0:
    work()
    os._exit(0)
os.wait()
print(json.dumps([phi.standing(0), phi.standing(1)]))
"""


@pytest.fixture(scope="module")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package that has Paddle's names."""
    path = tmp_path_factory.mktemp("standin")
    folder = path / "paddle" / "base"
    folder.mkdir(parents=True)
    (path / "paddle" / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "core.py").write_text(CORE.format(static=16))
    source = HERE / "paddle_events.c"
    shared = ("-shared", "-fPIC", f"-L{folder}", "-Wl,-rpath,$ORIGIN")
    compile_c(folder / "libphi_core.so", [source], "-DCORE", "-Wl,-soname,libphi_core.so", *shared)
    # The loader may have made the tables read-only before anybody looks at them.
    compile_c(
        folder / "libpaddle.so", [source], *shared, "-Wl,-z,relro,-z,now", "-Wl,--no-as-needed", "-lphi_core"
    )
    # Whatever else lies below a folder of this name, as in an environment that is called so.
    compile_c(folder / "other.so", [HERE / "other.c"], *shared)
    for number in range(70):
        shutil.copy(folder / "other.so", folder / f"other{number}.so")
    return path


DETAILS = """
import ctypes, json, os
from paddle.base.core import TracerEventType as Type, _RecordEvent as Event, own, phi
agent = ctypes.CDLL(os.environ["WARPLINE_AGENT"])
own.allocate.argtypes = ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int
def work():
    outer = Event("conv2d dygraph", Type.Operator)
    wanted = own.wants()
    own.give_shapes()
    own.allocate(4096, 100, 0)
    own.allocate(4096, 100, 1)
    outer.end()
    return wanted
wanted = []
for details in (0, 7, 1, 0):
    agent.warpline_ask_paddle(details)
    wanted.append(work())
print(json.dumps([*wanted, phi.standing(2)]))
"""


def record(path: Path, output: Path, program: str = PROGRAM) -> list[int]:
    words = [sys.executable, "-m", "warpline", "record", "-q", "--trace", "paddle", "-o", str(output), "--"]
    done = subprocess.run(
        [*words, sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        # A stand-in that is written twice within a second, with the same length, has the byte code of the first one.
        env={**os.environ, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    numbers: list[int] = json.loads(done.stdout)
    return numbers


def test_operators_are_those_that_paddle_marks_and_it_marks_them_as_before(
    standin: Path, tmp_path: Path
) -> None:
    left, calls = record(standin, tmp_path / "x.h5")
    # One event is what the hooks try. Each third one of the fifty ends twice.
    assert (left, calls) == (-2 * 50, 1 + 2 * (3 * 50 + 3))
    with warpline.open(tmp_path / "x.h5") as capture:
        operators = capture.events("operator").to_pandas()
        ranges = capture.events("range").to_pandas()
        (source,) = [source for source in capture.sources if source.name == "paddle"]
    assert operators.groupby(["category", "name"]).size().to_dict() == {
        ("Operator", "matmul dygraph"): 100,
        ("OperatorInner", "matmul infer_meta"): 100,
        ("DygraphKernelLaunch", "matmul kernel launch"): 100,
    }
    assert operators.thread_id.nunique() == 2
    assert operators.process_id.nunique() == 1  # forked processes are left alone
    assert list(zip(ranges.name, ranges.category, strict=True)) == [("backward", "UserDefined")] * 2
    assert source.enabled


def test_a_paddle_with_other_types_is_left_alone_and_told(standin: Path, tmp_path: Path) -> None:
    core = standin / "paddle" / "base" / "core.py"
    core.write_text(CORE.format(static=17))
    try:
        record(standin, tmp_path / "x.h5")
    finally:
        core.write_text(CORE.format(static=16))
    with warpline.open(tmp_path / "x.h5") as capture:
        assert not len(capture.events("operator"))
        (source,) = [source for source in capture.sources if source.name == "paddle"]
    assert not source.enabled
    assert source.reason == "operators are not recorded: this version of Paddle marks them differently"


def test_shapes_and_memory_are_recorded_while_they_are_asked_for(standin: Path, tmp_path: Path) -> None:
    numbers = record(standin, tmp_path / "x.h5", DETAILS)
    assert numbers == [0, 3, 1, 0, 3 * 4]  # Paddle's own functions are called as before
    with warpline.open(tmp_path / "x.h5") as capture:
        shapes = capture.events("operator").to_pandas().input_shapes.tolist()
        names = ("name", "operation", "address", "bytes")
        memory = list(zip(*(capture.events("memory")[name].tolist() for name in names), strict=True))
        devices = [row["device"] for row in capture.report("memory").rows(0, 9)]
    assert [text for text in shapes if isinstance(text, str) and text] == [
        '{"x": [[4, 3, 32, -1]], "list": [[16], []]}'
    ]
    assert memory == [("allocation", "allocation", 4096, 100), ("release", "release", 4096, 100)]
    assert devices == ["GPU 1"]


STATIC = """
import json
from paddle.base.core import TracerEventType as Type, _RecordEvent as Event
for names in (("matmul", "mean", "mean_grad", "matmul_grad", "adam_"), ("matmul", "mean")):
    run = Event("StandaloneExecutor::run", Type.UserDefined)
    for name in names:
        operator = Event("pd_op." + name, Type.Operator)
        sum(range(10_000))
        operator.end()
    run.end()
print(json.dumps([]))
"""


def test_a_run_of_a_static_graph_has_the_phases_of_its_operators(standin: Path, tmp_path: Path) -> None:
    record(standin, tmp_path / "x.h5", STATIC)
    with warpline.open(tmp_path / "x.h5") as capture:
        phases = capture.events("phase").to_pandas().sort_values("start_ns")
        operators = capture.events("operator").to_pandas().sort_values("start_ns")
    assert phases.name.tolist() == phases.category.tolist() == ["Forward", "Backward", "Optimization"]
    first = operators.head(5).start_ns.tolist()
    assert phases.start_ns.tolist()[:2] == [first[0], first[2]]
    assert phases.thread_id.nunique() == 1
