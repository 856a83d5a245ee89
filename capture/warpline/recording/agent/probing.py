"""Tries the agent for real, in a process of its own, for ``warpline doctor``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from warpline.model.tracks import Source
from warpline.recording.agent.library import agent_library
from warpline.recording.control_page import ControlPage, RecordingState
from warpline.recording.spool import records
from warpline.recording.spool.reader import read_spools
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
    with tempfile.TemporaryDirectory(prefix="warpline-doctor-") as folder:
        directory = Path(folder)
        page = ControlPage(directory, RecordingState.RECORDING, source_mask=0xFFFFFFFF)
        try:
            done = subprocess.run(
                [sys.executable, "-S", "-c", program, str(argument)],
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
        states: dict[str, Source] = {}
        for spool in read_spools(directory)[0]:
            rows = spool.records(records.SOURCE_STATE, records.source_state).values
            for name, enabled, reason, remedy, lost in rows.tolist():
                text = spool.text
                states[text(name)] = Source(text(name), bool(enabled), text(reason), int(lost), text(remedy))
        return status, states
