"""Tries the agent for real, in a process of its own, for ``warpline doctor``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from warpline.model.tracks import Source
from warpline.recording.agent.library import agent_library
from warpline.recording.agent.records import OSRT_CALL, osrt_call
from warpline.recording.control_page import ControlPage, RecordingState
from warpline.recording.spool import records
from warpline.recording.spool.reader import SpoolFile, read_spools
from warpline.recording.unavailable import Unavailable

_SECONDS = 30


def require_agent() -> Path:
    """The agent's library.

    Raises Unavailable.
    """
    library = agent_library()
    if library.path is None:
        raise Unavailable(library.reason, library.remedy)
    return library.path


def run_with_agent(
    program: str, argument: Path, variables: Mapping[str, str]
) -> tuple[int, dict[str, Source]]:
    """Exit status of a small Python program with one argument, and what the agent in it said of its sources."""
    with _recorded(program, argument, variables) as (status, spools):
        states: dict[str, Source] = {}
        for spool in spools:
            rows = spool.records(records.SOURCE_STATE, records.source_state).values
            for name, enabled, reason, remedy, lost in rows.tolist():
                text = spool.text
                states[text(name)] = Source(text(name), bool(enabled), text(reason), int(lost), text(remedy))
        return status, states


def count_records(
    program: str,
    library: Path,
    types: frozenset[int],
    variables: Mapping[str, str] | None = None,
    interpreter: str = sys.executable,
) -> int:
    """How many bytes of records of some types the preloaded agent writes about a small Python program."""
    preload = {"WARPLINE_AGENT": str(library), "LD_PRELOAD": str(library), **(variables or {})}
    with _recorded(program, library, preload, interpreter) as (_status, spools):
        return sum(
            len(chunk.payload) for spool in spools for chunk in spool.chunks if chunk.record_type in types
        )


def functions_with_lines(program: str, library: Path, interpreter: str) -> frozenset[int]:
    """The functions (`Function`) whose calls the preloaded agent measures in a small program, with a Python stack."""
    preload = {"WARPLINE_AGENT": str(library), "LD_PRELOAD": str(library)}
    with _recorded(program, library, preload, interpreter) as (_status, spools):
        calls = [spool.records(OSRT_CALL, osrt_call).values for spool in spools]
        return frozenset(
            function for part in calls for function in part["function"][part["stack"] != 0].tolist()
        )


@contextmanager
def _recorded(
    program: str, argument: Path, variables: Mapping[str, str], interpreter: str = sys.executable
) -> Iterator[tuple[int, list[SpoolFile]]]:
    """Runs a program with the agent; its exit status and what was written."""
    with tempfile.TemporaryDirectory(prefix="warpline-doctor-") as folder:
        directory = Path(folder)
        page = ControlPage(directory, RecordingState.RECORDING, source_mask=0xFFFFFFFF)
        try:
            done = subprocess.run(
                [interpreter, "-S", "-c", program, str(argument)],
                env={**os.environ, "WARPLINE_SPOOL": folder, **variables},
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
        yield status, read_spools(directory)[0]
