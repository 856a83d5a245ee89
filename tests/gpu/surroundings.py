"""What the checks need from the machine: import paths, versions, a first run. Needs the standard library only."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.gpu.steps import Done, Steps

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "gpu" / "programs"
CARRIED = ROOT / "tests" / "gpu" / "carried"
NEEDED = ("numpy", "h5py")
"""Packages without which nothing can be recorded; `CARRIED` stands in for what else is missing."""
_IMPORT_S = 120
"""The first import of PyTorch reads some gigabytes from a cold disk."""

_TORCH = """
import torch
print(torch.__version__, "CUDA", torch.version.cuda)
torch.zeros(1).to("cuda").add_(1)
torch.cuda.synchronize()
"""
_DRIVER = """
import ctypes
driver, version = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
driver.cuDriverGetVersion(ctypes.byref(version))
print(version.value)
"""
_VERSIONS = """
import importlib.metadata, sys
for name in sys.argv[1:]:
    try:
        print(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        pass
"""
_PACKAGES = (
    "numpy", "h5py", "orjson", "msgspec", "isal", "pyelftools", "nvidia-ml-py", "pandas", "torch", "triton",
    "cupy-cuda12x", "cupy-cuda13x", "jax", "jaxlib", "nvidia-cuda-cupti",
    "nvidia-cuda-cupti-cu12", "nvidia-cuda-cupti-cu11",
)  # fmt: skip


def environment(wheels: Path | None, unpacked: Path) -> dict[str, str]:
    """Variables for recorders and programs: this checkout, the wheels and what is carried come first on PYTHONPATH."""
    paths = [str(ROOT / "capture")]
    names: set[str] = set()
    if wheels is not None and wheels.is_dir():
        for wheel in sorted(wheels.glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked)
                names |= {name.partition("/")[0] for name in archive.namelist()}
        paths.append(str(unpacked))
    if importlib.util.find_spec("orjson") is None and "orjson" not in names:
        paths.append(str(CARRIED))
    before = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*paths, *([before] if before else [])]),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def describe(steps: Steps, python: str, variables: Mapping[str, str]) -> dict[str, str]:
    """What the figures belong to; each question has its own time limit."""
    facts = {
        "processor": platform.machine(),
        "cores": str(os.cpu_count()),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "driver": _first_line(Path("/proc/driver/nvidia/version")),
        "driver API": _answer(steps.run([sys.executable, "-c", _DRIVER], 30, variables)),
        "packages": _answer(steps.run([python, "-c", _VERSIONS, *_PACKAGES], 30, variables)),
        "compilers": "; ".join(
            f"{command[0]}: {_answer(_try(steps, command, variables)).splitlines()[line]}"
            for command, line in ((["cc", "--version"], 0), (["nvcc", "--version"], -1))
        ),
        "nvidia-smi": _answer(_try(steps, ["nvidia-smi", "-q"], variables)),
    }
    return {name: value for name, value in facts.items() if value}


def missing_packages(steps: Steps, variables: Mapping[str, str]) -> str:
    """Why nothing can be recorded, or ""."""
    for name in NEEDED:
        done = steps.run([sys.executable, "-c", f"import {name}"], 60, variables)
        if done.status != 0:
            return f"{name} is missing: {_last_line(done)}"
    return ""


def driver_missing(steps: Steps, variables: Mapping[str, str]) -> bool:
    return steps.run([sys.executable, "-c", _DRIVER], 30, variables).status != 0


def warm_up(group: str, steps: Steps, python: str, folder: Path, variables: Mapping[str, str]) -> str:
    """Run what a group needs once, so that no check pays for it; returns why the group cannot run, or "".

    The first recording also compiles the agent where the checkout has none.
    """
    recorder = [sys.executable, "-m", "warpline", "record", "-o", str(folder / "warm-up.h5"), "--"]
    program = [python, str(PROGRAMS / "driver.py"), "--launches", "10"]
    done = steps.run([*recorder, *program], 120, variables)
    if done.status != 0:
        return f"a first recording failed: {_last_line(done)}"
    if group == "torch":
        done = steps.run([python, "-c", _TORCH], _IMPORT_S, variables)
        if done.status is None:
            return f"PyTorch and its first kernel took longer than {_IMPORT_S} s"
        if done.status:
            return f"PyTorch does not work here: {_last_line(done)}"
    return ""


def _try(steps: Steps, command: list[str], variables: Mapping[str, str]) -> Done | None:
    try:
        return steps.run(command, 30, variables)
    except OSError:
        return None


def _answer(done: Done | None) -> str:
    if done is None:
        return "not installed"
    if done.status is None:
        return f"no answer within {done.seconds:.0f} s"
    return done.output.strip() if done.status == 0 else f"failed: {_last_line(done)}"


def _last_line(done: Done) -> str:
    if done.status is None:
        return f"no end within {done.seconds:.0f} s"
    lines = (done.errors.strip() or done.output.strip() or f"status {done.status}").splitlines()
    return lines[-1][:300]


def _first_line(path: Path) -> str:
    try:
        return path.read_text().splitlines()[0]
    except (OSError, IndexError):
        return ""
