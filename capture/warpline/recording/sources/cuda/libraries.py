"""Finds the CUDA driver and libcupti for a program that is about to run."""

from __future__ import annotations

import os
import platform
import re
import shutil
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

_CUPTI = {11: "libcupti.so.11.8", 12: "libcupti.so.12", 13: "libcupti.so.13"}
"""File names by the major version of CUDA. In NVIDIA's wheels they lie in `_WHEELS`, below `site-packages`."""
_WHEELS = {11: "nvidia/cuda_cupti/lib", 12: "nvidia/cuda_cupti/lib", 13: "nvidia/cu13/lib"}
_FIRST_DRIVERS = {13: 580, 12: 525, 11: 0}
"""The first branch of the driver for each version of CUDA; an older driver does not run its libcupti."""
_TOOLKIT = "/usr/local/cuda"
_FOLDERS_OF_TOOLKIT = ("extras/CUPTI/lib64", "lib64", "lib")
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
_LOADER_CACHE = Path("/etc/ld.so.cache")
_DRIVER_VERSION = Path("/proc/driver/nvidia/version")
_DRIVER = "libcuda.so.1"
_CACHE_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_HEADER = 48
_CACHE_ENTRY = struct.Struct("<iIIIQ")
_CACHE_ARCHITECTURES = {"x86_64": 0x0300, "aarch64": 0x0A00}


def find_driver(environment: Mapping[str, str]) -> Path | None:
    """The CUDA driver's library, as a program with this environment finds it; None if there is none."""
    searched = [
        Path(folder) / _DRIVER for folder in environment.get("LD_LIBRARY_PATH", "").split(":") if folder
    ]
    usual = [Path(folder) / _DRIVER for folder in _DRIVER_FOLDERS]
    # Jetson and clusters have the driver in folders of their own, which the loader's cache lists.
    candidates = [*searched, *cached_libraries(_DRIVER), *usual]
    return next((path for path in candidates if path.exists()), None)


def cached_libraries(name: str) -> list[Path]:
    """Where the loader's cache has this library, for this machine's architecture; empty without a readable cache.

    The format is that of glibc's ``dl-cache.h``: a header of 48 bytes and entries of 24 with offsets of two strings.
    """
    try:
        data = _LOADER_CACHE.read_bytes()
    except OSError:
        return []
    start = data.find(_CACHE_MAGIC)
    architecture = _CACHE_ARCHITECTURES.get(platform.machine())
    if start < 0 or len(data) < start + _CACHE_HEADER:
        return []
    (count,) = struct.unpack_from("<I", data, start + len(_CACHE_MAGIC))
    paths = []
    for number in range(min(count, (len(data) - start - _CACHE_HEADER) // _CACHE_ENTRY.size)):
        flags, key, value, _version, _capabilities = _CACHE_ENTRY.unpack_from(
            data, start + _CACHE_HEADER + number * _CACHE_ENTRY.size
        )
        if _text_at(data, start + key) == name and architecture in (None, flags & 0xFF00):
            paths.append(Path(_text_at(data, start + value)))
    return paths


def _text_at(data: bytes, offset: int) -> str:
    end = data.find(b"\0", offset)
    return os.fsdecode(data[offset:end]) if end >= 0 else ""


def find_libcupti(command: Iterable[str], environment: Mapping[str, str]) -> Path | None:
    """The libcupti of the program's Python environment or of a CUDA toolkit; None if there is none.

    Nothing is run or loaded: some versions of libcupti crash without a driver.
    """
    driver = _driver_major()
    majors = sorted(_CUPTI, key=lambda major: (driver < _FIRST_DRIVERS[major], -major))
    folders = [folder for prefix in _prefixes(command, environment) for folder in _site_packages(prefix)]
    for folder in folders:
        for major in majors:
            path = folder / _WHEELS[major] / _CUPTI[major]
            if path.is_file():
                return path
    roots = [environment.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    roots += [f"{_TOOLKIT}-{'11.8' if major == 11 else major}" for major in majors]
    for root in filter(None, (*roots, _TOOLKIT)):
        for major in majors:
            for folder_name in _FOLDERS_OF_TOOLKIT:
                path = Path(root) / folder_name / _CUPTI[major]
                if path.is_file():
                    return path
    return None


def _driver_major() -> int:
    """The driver's branch (580 of 580.65.06); that of the newest CUDA if unknown, as in WSL."""
    try:
        match = re.search(r"Kernel Module.*?\s(\d{3,})\.", _DRIVER_VERSION.read_text())
    except OSError:
        return max(_FIRST_DRIVERS.values())
    return int(match[1]) if match else max(_FIRST_DRIVERS.values())


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
