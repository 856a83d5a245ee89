"""What the recorded program's environment gets so that NVTX and the CUDA driver load the agent into it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from warpline.i18n import english
from warpline.model import Source
from warpline.recording.agent.library import agent_library
from warpline.recording.environment import Contribution
from warpline.recording.session import Session

NVTX_VARIABLE = "NVTX_INJECTION64_PATH"
CUDA_VARIABLE = "CUDA_INJECTION64_PATH"
CUPTI_OPTIONS = "WARPLINE_CUPTI"
"""Options of the CUDA source for experts, with commas: ``calls=all`` (also calls that only ask for state),
``latency=1`` (times of queueing and submission)."""

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


def contribute(session: Session, inherited: Mapping[str, str]) -> Contribution:
    """The variables that load the agent, for what ``--trace`` asks; what another tool has set is never replaced."""
    trace = session.options.trace
    wanted = [name for name in ("nvtx", "cuda") if name in trace]
    library = agent_library()
    if not wanted:
        return Contribution()
    if library.path is None:
        return Contribution(
            sources=tuple(Source(name, False, library.reason, 0, library.remedy) for name in wanted)
        )
    variables = {
        "WARPLINE_SPOOL": str(session.directory.resolve()),
        "WARPLINE_AGENT": str(library.path),
        CUPTI_OPTIONS: ",".join(_cupti_options(session, inherited)),
    }
    if session.options.capture_range != "none":
        variables["WARPLINE_CAPTURE_RANGE"] = session.options.capture_range
    sources: list[Source] = []
    warnings: list[str] = []
    for name, variable in (("nvtx", NVTX_VARIABLE), ("cuda", CUDA_VARIABLE)):
        if name not in wanted:
            continue
        other = inherited.get(variable, "")
        if other and not _is_same(other, library.path):
            source = _taken(name, variable, other)
            warnings.append(f"{name}: {source.reason}")
        else:
            variables[variable] = str(library.path)
            source = _cuda_source(inherited) if name == "cuda" else Source(name, True)
        sources.append(source)
    if "cuda" in wanted and "WARPLINE_LIBCUPTI" not in inherited:
        found = find_libcupti(session.command, inherited)
        if found is not None:
            variables["WARPLINE_LIBCUPTI"] = str(found)
    return Contribution(variables, tuple(sources), tuple(warnings))


def _cupti_options(session: Session, inherited: Mapping[str, str]) -> list[str]:
    found = [f"graphs={session.options.cuda_graphs}"]
    if session.options.cuda_memory:
        found.append("memory=1")
    return [*filter(None, [inherited.get(CUPTI_OPTIONS, "")]), *found]


def find_driver(environment: Mapping[str, str]) -> Path | None:
    """The CUDA driver's library, as a program with this environment would find it; None where there is none."""
    for folder in (*environment.get("LD_LIBRARY_PATH", "").split(":"), *_DRIVER_FOLDERS):
        path = Path(folder) / "libcuda.so.1"
        if folder and path.exists():
            return path
    return None


def find_libcupti(command: Iterable[str], environment: Mapping[str, str]) -> Path | None:
    """The libcupti that belongs to the program: of its Python environment, or of a CUDA toolkit; None without one.

    Nothing is run or loaded for it: libcupti crashes in some versions where there is no driver.
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


def _is_same(value: str, library: Path) -> bool:
    return os.path.realpath(value) == os.path.realpath(library)


def _taken(name: str, variable: str, other: str) -> Source:
    reason = english("{variable} is set to {other} by another tool", variable=variable, other=other)
    return Source(
        name, False, reason, 0, english("unset {variable} to record with Warpline", variable=variable)
    )


def _cuda_source(environment: Mapping[str, str]) -> Source:
    if find_driver(environment) is None:
        return no_driver()
    return Source("cuda", True)


def no_driver() -> Source:
    """What the doctor, a recording and the window say where there is no GPU."""
    reason = english("no NVIDIA driver: libcuda.so.1 was not found")
    return Source("cuda", False, reason, 0, english("install NVIDIA's driver, or give the container the GPU"))


def _driver_major() -> int:
    """The driver's branch (580 of 580.65.06); the newest when the kernel does not tell, as in WSL."""
    try:
        match = re.search(r"Kernel Module.*?\s(\d{3,})\.", _DRIVER_VERSION.read_text())
    except OSError:
        return _FIRST_DRIVER_OF_CUDA_13
    return int(match[1]) if match else _FIRST_DRIVER_OF_CUDA_13


def _prefixes(command: Iterable[str], environment: Mapping[str, str]) -> list[Path]:
    """Where the program's Python environment may be; the interpreter's own first."""
    words = list(command)
    found: list[Path] = []
    program = shutil.which(words[0], path=environment.get("PATH")) if words else None
    if program is not None:
        found.append(Path(os.path.abspath(program)).parent.parent)
        interpreter = _interpreter_of_script(Path(program))
        if interpreter is not None:
            found.append(interpreter.parent.parent)
        found.append(Path(os.path.realpath(program)).parent.parent)
    found += [Path(environment[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environment.get(name)]
    return list(dict.fromkeys(found))


def _interpreter_of_script(path: Path) -> Path | None:
    """``/opt/env/bin/python`` of a script such as ``/opt/env/bin/torchrun``."""
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
