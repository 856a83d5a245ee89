"""What the checks need from the machine: import paths, versions, a first run. Needs the standard library only."""

from __future__ import annotations

import importlib.util
import json
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
_DRIVER_FOLDERS = (
    "/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib", "/usr/local/cuda/compat",
)  # fmt: skip
"""Where the driver is in containers whose loader does not find it."""
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
    """Variables for recorders and programs.

    This checkout, the wheels and what is carried come first on PYTHONPATH. A libcupti among the wheels is used.
    """
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
    libcupti = sorted(unpacked.glob("nvidia/*/lib/libcupti.so.1*"))
    return {
        **({"WARPLINE_LIBCUPTI": str(libcupti[-1])} if libcupti else {}),
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*paths, *([before] if before else [])]),
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",  # a crash, and the end of a program that hangs, show where Python was
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
            f"{command[0]}: {(_answer(_try(steps, command, variables)).splitlines() or ['?'])[line]}"
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
            return f"{name} is missing (put its wheel into wheels/ of the checkout): {_last_line(done)}"
    return ""


def find_driver(steps: Steps, variables: dict[str, str]) -> bool:
    """Whether programs find the driver; a folder that has it is added to LD_LIBRARY_PATH where the loader does not."""
    folders = [None, *(folder for folder in _DRIVER_FOLDERS if Path(folder, "libcuda.so.1").exists())]
    before = variables.get("LD_LIBRARY_PATH", "")
    for folder in folders:
        if folder is not None:
            variables["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [before, folder]))
        if steps.run([sys.executable, "-c", _DRIVER], 60, variables).status == 0:
            return True
    return False


def doctor(steps: Steps, variables: Mapping[str, str]) -> str:
    """What `warpline doctor` says about this machine."""
    done = steps.run([sys.executable, "-m", "warpline", "doctor"], 60, variables)
    return done.output + done.errors


def warm_up(group: str, steps: Steps, python: str, folder: Path, variables: Mapping[str, str]) -> str:
    """Run what a group needs once, so that no check pays for it; returns why the group cannot run, or "".

    The first recording also compiles the agent where the checkout has none. It records what this group needs and
    nothing else: PyTorch may work where the PTX of the driver's checks does not, and the reverse.
    """
    program = [python, str(PROGRAMS / "driver.py"), "--launches", "10"]
    if group == "torch":
        program = [python, "-c", _TORCH]
        done = steps.run(program, _IMPORT_S, variables)
        if done.status is None:
            return f"PyTorch and its first kernel took longer than {_IMPORT_S} s\n{done.threads}"
        if done.status:
            return f"PyTorch does not work here: {_last_line(done)}"
    elif group == "others":
        program = [python, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"]
    capture = str(folder / "warm-up.h5")
    recorder = [sys.executable, "-m", "warpline", "record", "-o", capture, "--"]
    done = steps.run([*recorder, *program], 120, variables)
    if done.status != 0:
        return f"a first recording failed: {_last_line(done)}\n{done.threads}"
    done = steps.run([sys.executable, "-m", "warpline", "info", capture, "--json"], 60, variables)
    try:
        sources = json.loads(done.output)["sources"]
        cuda = next(source for source in sources if source["name"] == "cuda")
    except (ValueError, KeyError, StopIteration):
        return f"the first capture cannot be read: {_last_line(done)}"
    return "" if cuda["enabled"] else f"CUDA cannot be recorded here: {cuda['reason']}; {cuda['remedy']}"


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
