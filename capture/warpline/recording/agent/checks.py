"""What the agent can record here, for ``warpline doctor``: tried for real, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from warpline.i18n import english
from warpline.recording.agent.environment import (
    CUDA_VARIABLE,
    NVTX_VARIABLE,
    find_driver,
    find_libcupti,
    no_driver,
)
from warpline.recording.agent.library import agent_library
from warpline.recording.control_page import ControlPage, RecordingState
from warpline.recording.doctor import SourceCheck
from warpline.recording.spool import records as common
from warpline.recording.spool.reader import read_spools

_SECONDS = 30
# Some versions of libcupti crash where there is no driver, and cuInit takes memory on a GPU: not in our own process.
_TRY_AGENT = "import ctypes, sys; sys.exit(0 if ctypes.CDLL(sys.argv[1]).warpline_attach() else 1)"
_TRY_CUDA = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).cuInit(0) & 255)"
_NVTX, _CUDA = "nvtx", "cuda"


def check_agent() -> list[SourceCheck]:
    """NVTX and CUDA."""
    titles = {
        _NVTX: english("NVTX ranges and warpline.annotate (agent)"),
        _CUDA: english("CUDA calls and GPU work (CUPTI)"),
    }
    library = agent_library()
    if library.path is None:
        return [
            SourceCheck(name, title, False, library.reason, library.remedy, name)
            for name, title in titles.items()
        ]
    checks: list[SourceCheck] = []
    for name, variable in ((_NVTX, NVTX_VARIABLE), (_CUDA, CUDA_VARIABLE)):
        other = os.environ.get(variable, "")
        if other and os.path.realpath(other) != os.path.realpath(library.path):
            reason = english("{variable} is set to {other} by another tool", variable=variable, other=other)
            remedy = english("unset {variable} to record with Warpline", variable=variable)
            checks.append(SourceCheck(name, titles[name], False, reason, remedy, name))
        elif name == _NVTX:
            checks.append(_check_nvtx(titles[name], library.path))
        else:
            checks.append(_check_cuda(titles[name], library.path))
    return checks


def _check_nvtx(title: str, library: Path) -> SourceCheck:
    status, _states = _run(_TRY_AGENT, library, library)
    if status != 0:
        reason = english("the agent {library} cannot be loaded here", library=library)
        return SourceCheck(
            _NVTX, title, False, reason, english("install a wheel of warpline for this platform"), _NVTX
        )
    return SourceCheck(_NVTX, title, True, "", "", _NVTX)


def _check_cuda(title: str, library: Path) -> SourceCheck:
    driver = find_driver(os.environ)
    if driver is None:
        missing = no_driver()
        return SourceCheck(_CUDA, title, False, missing.reason, missing.remedy, _CUDA)
    status, states = _run(_TRY_CUDA, driver, library)
    if _CUDA in states:
        enabled, reason, remedy = states[_CUDA]
        return SourceCheck(_CUDA, title, enabled, reason, remedy, _CUDA)
    reason = (
        english("the CUDA driver does not start (cuInit gave {status})", status=status)
        if status
        else english("the CUDA driver did not load the agent")
    )
    return SourceCheck(_CUDA, title, False, reason, english("see whether nvidia-smi works"), _CUDA)


def _run(program: str, argument: Path, library: Path) -> tuple[int, dict[str, tuple[bool, str, str]]]:
    """Exit status of a small program with the agent, and what the agent said about its sources."""
    with tempfile.TemporaryDirectory(prefix="warpline-doctor-") as folder:
        directory = Path(folder)
        page = ControlPage(directory, RecordingState.RECORDING, source_mask=0xFFFFFFFF)
        environment = {**os.environ, "WARPLINE_SPOOL": folder, CUDA_VARIABLE: str(library)}
        found = find_libcupti([sys.executable], os.environ)
        if found is not None:
            environment.setdefault("WARPLINE_LIBCUPTI", str(found))
        try:
            done = subprocess.run(
                [sys.executable, "-S", "-c", program, str(argument)],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_SECONDS,
            )
            status = done.returncode
        except (OSError, subprocess.TimeoutExpired):
            status = -1
        finally:
            page.close()
        states: dict[str, tuple[bool, str, str]] = {}
        for spool in read_spools(directory)[0]:
            rows = spool.records(common.SOURCE_STATE, common.source_state).values
            for name, enabled, reason, remedy, _lost in rows.tolist():
                states[spool.text(name)] = (bool(enabled), spool.text(reason), spool.text(remedy))
        return status, states
