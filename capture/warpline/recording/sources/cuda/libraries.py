"""Finds the CUDA driver and libcupti for a program that is about to run."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

_CUPTI_IN_WHEELS = {12: "nvidia/cuda_cupti/lib/libcupti.so.12", 13: "nvidia/cu13/lib/libcupti.so.13"}
_TOOLKITS = ("extras/CUPTI/lib64", "lib64", "lib")
_DRIVER_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/compat",
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
)
_DRIVER_VERSION = Path("/proc/driver/nvidia/version")
_FIRST_DRIVER_OF_CUDA_13 = 580


def find_driver(environment: Mapping[str, str]) -> Path | None:
    """The CUDA driver's library, as a program with this environment finds it; None if there is none."""
    for folder in (*environment.get("LD_LIBRARY_PATH", "").split(":"), *_DRIVER_FOLDERS):
        path = Path(folder) / "libcuda.so.1"
        if folder and path.exists():
            return path
    return None


def find_libcupti(command: Iterable[str], environment: Mapping[str, str]) -> Path | None:
    """The libcupti of the program's Python environment or of a CUDA toolkit; None if there is none.

    Nothing is run or loaded: some versions of libcupti crash without a driver.
    """
    majors = (13, 12) if _driver_major() >= _FIRST_DRIVER_OF_CUDA_13 else (12, 13)
    folders = [folder for prefix in _prefixes(command, environment) for folder in _site_packages(prefix)]
    for folder in folders:
        for major in majors:
            path = folder / _CUPTI_IN_WHEELS[major]
            if path.is_file():
                return path
    roots = [environment.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    for root in (*filter(None, roots), *(f"/usr/local/cuda-{major}" for major in majors), "/usr/local/cuda"):
        for major in majors:
            for folder_name in _TOOLKITS:
                path = Path(root) / folder_name / f"libcupti.so.{major}"
                if path.is_file():
                    return path
    return None


def _driver_major() -> int:
    """The driver's branch (580 of 580.65.06); the newest if unknown, as in WSL."""
    try:
        match = re.search(r"Kernel Module.*?\s(\d{3,})\.", _DRIVER_VERSION.read_text())
    except OSError:
        return _FIRST_DRIVER_OF_CUDA_13
    return int(match[1]) if match else _FIRST_DRIVER_OF_CUDA_13


def _prefixes(command: Iterable[str], environment: Mapping[str, str]) -> list[Path]:
    """Possible prefixes of the program's Python environment; the interpreter's own first."""
    words = list(command)
    prefixes: list[Path] = []
    program = shutil.which(words[0], path=environment.get("PATH")) if words else None
    if program is not None:
        prefixes.append(Path(os.path.abspath(program)).parent.parent)
        interpreter = _interpreter_of_script(Path(program))
        if interpreter is not None:
            prefixes.append(interpreter.parent.parent)
        prefixes.append(Path(os.path.realpath(program)).parent.parent)
    prefixes += [Path(environment[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environment.get(name)]
    return list(dict.fromkeys(prefixes))


def _interpreter_of_script(path: Path) -> Path | None:
    """The interpreter of a script: ``/opt/env/bin/python`` for ``/opt/env/bin/torchrun``."""
    try:
        with path.open("rb") as file:
            first = file.readline(256)
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    if not words or words[0].endswith(b"/env"):
        return None
    return Path(os.fsdecode(words[0]))


def _site_packages(prefix: Path) -> list[Path]:
    return [
        *sorted(prefix.glob("lib/python3*/site-packages"), reverse=True),
        *sorted(prefix.glob("lib/python3*/dist-packages"), reverse=True),
    ]
