"""The checks for a GPU machine, tried on the simulated driver in an environment with numpy and h5py alone."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import math
import os
import subprocess
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from tests.gpu import run_gpu_checks, surroundings
from tests.gpu.catalogue import CHECKS, GROUPS, HARNESS
from tests.gpu.evidence import Evidence, shorten_raw
from tests.leftovers import started_here
from tests.native.conftest import simulated_gpu_environment

SCRIPT = Path(__file__).resolve().parents[1] / "gpu" / "run_gpu_checks.py"
SIMULATED = Path(__file__).parent / "simulated_driver"
# The simulated driver launches everything with one grid and one block of its own.
OF_A_REAL_GPU = {"grid_x", "block_x"}
FILES = {"checks.json", "checks.log", "evidence.tar.gz"}

Seen = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has numpy and h5py, and no other package."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python3*/site-packages")
    installed = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs", "h5py", "h5py.libs"):
        if (installed / name).exists():
            (packages / name).symlink_to(installed / name)
    return folder / "bin" / "python"


def run(python: Path | str, output: Path, *arguments: str, **variables: str) -> tuple[dict[str, Any], Seen]:
    """The document of a run, and its rows by check and subject."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, SCRIPT, *arguments, "--output", output],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert {path.name for path in output.iterdir()} == FILES, done.stderr
    document = json.loads((output / "checks.json").read_text())
    return document, {(row["check"], row["what"]): row for row in document["rows"]}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_checks_of_the_driver_need_no_package_but_numpy_and_h5py(
    bare_python: Path, simulated_gpu: Path, tmp_path: Path
) -> None:
    commands = tmp_path / "commands"
    commands.mkdir()
    (commands / "nvidia-smi").write_text("#!/bin/sh\necho Product Name : Simulated GPU, asked with $1\n")
    (commands / "nvidia-smi").chmod(0o755)
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "torch.py").write_text("raise ImportError('from PYTHONPATH')")
    only = (
        "driver",
        "driver_range",
        "profiler_alone",
        "graph_before",
        "default_streams",
        "two_ranks",
        "graphs",
    )
    output = tmp_path / "output"
    document, seen = run(
        bare_python,
        output,
        "driver",
        *(f"--only={name}" for name in only),
        **simulated_gpu_environment(simulated_gpu),
        PYTHONPATH=str(modules),
        PATH=f"{commands}:{os.environ['PATH']}",
    )
    assert document["machine"]["nvidia-smi"] == "Product Name : Simulated GPU, asked with -q"
    assert "packages" not in document["machine"], "numpy and h5py are linked, without their descriptions"
    failed = {row["what"]: row["seen"] for row in document["rows"] if row["is_good"] is False}
    assert not failed.keys() - OF_A_REAL_GPU, failed
    assert {check for check, _what in seen} == set(only)
    assert seen["driver", "kernels"]["seen"] == "2000"
    assert seen["driver_range", "kernels inside"]["seen"] == "500"
    assert seen["profiler_alone", "kernels of two steps"]["seen"] == "200"
    assert seen["default_streams", "streams with kernels"]["seen"] == "3"
    assert seen["two_ranks", "processes with streams"]["seen"] == "2"
    assert seen["two_ranks", "libcupti in its processes"]["seen"] == str(simulated_gpu / "libcupti.so.12")
    assert "torch cannot be imported: from PYTHONPATH" in seen["graphs", "not run"]["seen"]
    with tarfile.open(output / "evidence.tar.gz") as archive:
        assert {"driver/01.h5", "driver/01.raw"} <= set(archive.getnames())
        file = archive.extractfile("driver/01.raw")
        assert file is not None
        data = file.read()
    assert 0 < int.from_bytes(data[:8], "little") <= len(data) - 8, "each buffer follows its size"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_check_of_an_unseen_torch_profiler_runs_with_a_stand_in_for_pytorch(
    bare_python: Path, simulated_gpu: Path, tmp_path: Path
) -> None:
    document, seen = run(
        bare_python,
        tmp_path / "output",
        "torch",
        "--only=profiler_unseen",
        **simulated_gpu_environment(simulated_gpu),
        PYTHONPATH=str(SIMULATED / "modules"),
    )
    assert not [row for row in document["rows"] if not row["is_good"]]
    assert seen["profiler_unseen", "kernels of torch.profiler"]["seen"] == "100"
    assert "took CUPTI over" in seen["profiler_unseen", "what was missed is told"]["seen"]


@pytest.mark.timeout(600)
def test_checks_that_hang_crash_or_flood_do_not_end_the_others(bare_python: Path, tmp_path: Path) -> None:
    for attempt in range(5):
        output = tmp_path / str(attempt)
        document, seen = run(bare_python, output, HARNESS)
        if ("hangs", "a program that hangs is killed") in seen:
            break  # otherwise a busy machine did not let the check come so far before its own time was up
    assert [row["seen"] for row in document["rows"] if row["what"] == "before"] == ["written", "written"]
    assert seen["hangs", "a program that hangs is killed"]["is_good"]
    assert seen["hangs", "failed"]["seen"] == f"killed after {CHECKS['hangs'].limit_s} s"
    assert seen["crashes", "failed"]["seen"].startswith("ended with SIGSEGV")
    assert seen["breaks", "failed"]["seen"].startswith("RuntimeError: on purpose")
    assert seen["leaves_a_process", "processes left behind"]["seen"] == "1"
    assert seen["cannot_run", "not run"] == {
        "check": "cannot_run", "what": "not run", "expected": "–", "seen": "because: on purpose", "is_good": None,
    }  # fmt: skip
    assert seen["passes", "one and one"]["is_good"]
    assert (output / "evidence.tar.gz").stat().st_size <= 16 << 20
    assert (output / "checks.log").stat().st_size <= 1 << 20
    for pid in started_here():  # others on this machine may test the same
        with contextlib.suppress(OSError):
            assert b"time.sleep(1000)" not in Path(f"/proc/{pid}/cmdline").read_bytes(), (
                f"{pid} was left behind"
            )


def test_a_run_without_time_left_says_that_nothing_ran(bare_python: Path, tmp_path: Path) -> None:
    _document, seen = run(bare_python, tmp_path / "output", HARNESS, "--minutes=0")
    assert {row["seen"] for row in seen.values()} == {"because: no time was left in this call"}
    assert {row["is_good"] for row in seen.values()} == {None}


@pytest.mark.parametrize(("is_good", "status"), [(None, 2), (True, 0), (False, 1)])
def test_the_exit_status_tells_whether_anything_was_checked(
    tmp_path: Path, is_good: bool | None, status: int
) -> None:
    report = run_gpu_checks.Report(tmp_path, 1)
    report.add("jax", "kernels", "0", is_good)
    report.add("jax", run_gpu_checks.TOOK, "1.0")
    assert run_gpu_checks.finish(report) == status


def test_without_numpy_nothing_runs_and_the_reason_is_given(tmp_path: Path) -> None:
    venv.create(tmp_path / "empty", with_pip=False)
    _document, seen = run(tmp_path / "empty" / "bin" / "python", tmp_path / "output", HARNESS)
    assert seen["passes", "not run"]["seen"].startswith("because: numpy is missing")
    assert {row["is_good"] for row in seen.values()} == {None}


def test_wheels_come_before_what_is_carried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "orjson-9-py3-none-any.whl", "w") as wheel:
        wheel.writestr("orjson/__init__.py", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setenv("PYTHONPATH", "/before")
    unpacked = tmp_path / "unpacked"
    paths = surroundings.environment(wheels, unpacked)["PYTHONPATH"].split(":")
    assert paths == [str(surroundings.ROOT / "capture"), str(unpacked), "/before"]
    assert (unpacked / "orjson" / "__init__.py").is_file()
    paths = surroundings.environment(None, unpacked)["PYTHONPATH"].split(":")
    assert paths == [str(surroundings.ROOT / "capture"), str(surroundings.CARRIED), "/before"]


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_each_check_of_the_catalogue_is_a_function(name: str) -> None:
    module = importlib.import_module(f"tests.gpu.{CHECKS[name].module}")
    assert callable(getattr(module, f"check_{name}"))


def test_the_catalogue_names_each_check_once() -> None:
    names = [check.name for group in GROUPS.values() for check in group]
    assert sorted(names) == sorted(CHECKS)


def test_evidence_can_be_read_after_each_check_and_stays_within_its_size(tmp_path: Path) -> None:
    limit = 100_000
    archive = tmp_path / "evidence.tar.gz"
    evidence = Evidence(archive, checks=4, most_bytes=limit)
    names: set[str] = set()
    for number in range(4):
        folder = tmp_path / f"check{number}"
        folder.mkdir()
        (folder / "small.h5").write_bytes(os.urandom(1000))
        (folder / "large.h5").write_bytes(os.urandom(60_000))
        left_out = evidence.add_check(folder)
        names |= {f"check{number}/small.h5"}
        # Two shares and the unused rest of the one before make room for a large file.
        assert ("large.h5 (60,000 bytes)" in left_out) == (number != 2)
        names |= {f"check{number}/large.h5"} if number == 2 else set()
        assert archive.stat().st_size <= limit
        with tarfile.open(archive) as opened:
            assert set(opened.getnames()) == names
    with tarfile.open(archive) as opened:
        file = opened.extractfile("check2/large.h5")
        assert file is not None
        assert file.read() == (tmp_path / "check2" / "large.h5").read_bytes()


def test_raw_files_are_cut_between_two_buffers(tmp_path: Path) -> None:
    path = tmp_path / "buffers.raw"
    buffers = [(size).to_bytes(8, "little") + os.urandom(size) for size in (1000, 2000, 3000)]
    path.write_bytes(b"".join(buffers))
    shorten_raw(path, 10_000)
    assert path.read_bytes() == b"".join(buffers)
    shorten_raw(path, 4000)
    assert path.read_bytes() == b"".join(buffers[:2])


def test_the_carried_orjson_writes_what_orjson_writes() -> None:
    path = SCRIPT.parent / "carried" / "orjson.py"
    spec = importlib.util.spec_from_file_location("carried_orjson", path)
    assert spec is not None
    assert spec.loader is not None
    carried = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(carried)
    values: list[Any] = [
        {"a": [1, -(1 << 63), (1 << 64) - 1], "ä": 'µ\n\x01\u2028"\\/\x7f', "empty": {}, "none": None},
        [math.nan, math.inf, 0.1, 1.5, True, False, [], ""],
        "text",
    ]
    for value in values:
        data = orjson.dumps(value)
        assert carried.dumps(value) == data
        assert carried.dumps(value, option=carried.OPT_INDENT_2) == orjson.dumps(
            value, option=orjson.OPT_INDENT_2
        )
        assert carried.loads(data) == orjson.loads(data)
        assert carried.loads(memoryview(data)) == orjson.loads(data)
    with pytest.raises(carried.JSONDecodeError):
        carried.loads(b"{")
