"""Tries the agent in a separate process, for ``warpline doctor``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from warpline.model.tracks import Source
from warpline.platform.held_folders import TemporaryFolder
from warpline.recording.agent.library import agent_library
from warpline.recording.control_page import ControlPage, RecordingState
from warpline.recording.spool import records
from warpline.recording.spool.plain_reader import PlainSpool, read_plain
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
    """Run a small Python program with the agent; returns its exit status and the sources the agent reported."""
    with recorded(program, argument, variables) as run:
        states: dict[str, Source] = {}
        for spool in run.spools:
            for row in spool.rows(records.SOURCE_STATE, records.source_state):
                name, reason, remedy = (spool.text(row[field]) for field in ("name", "reason", "remedy"))
                states[name] = Source(name, bool(row["enabled"]), reason, row["lost"], remedy)
        return run.status, states


def count_records(program: str, library: Path, types: frozenset[int]) -> int:
    """Run a small Python program with the preloaded agent; returns the bytes of records of ``types``."""
    preload = {"WARPLINE_AGENT": str(library), "LD_PRELOAD": str(library)}
    with recorded(program, library, preload) as run:
        return bytes_of(run.spools, types)


def bytes_of(spools: Sequence[PlainSpool], types: frozenset[int]) -> int:
    """Total bytes of the records of ``types``."""
    return sum(len(chunk.payload) for spool in spools for chunk in spool.chunks if chunk.record_type in types)


@dataclass(frozen=True)
class AgentRun:
    """A program that ran with the agent: its exit status, its output, and the spool files of the agent."""

    status: int
    output: str
    spools: list[PlainSpool]


@contextmanager
def recorded(
    program: str, argument: Path, variables: Mapping[str, str], interpreter: str = sys.executable
) -> Iterator[AgentRun]:
    """Run a program with one argument and the agent. The next run removes what a killed process leaves."""
    with closing(TemporaryFolder(Path(tempfile.gettempdir()))) as folder:
        directory = folder.path
        page = ControlPage(directory, RecordingState.RECORDING, source_mask=0xFFFFFFFF)
        try:
            done = subprocess.run(
                [interpreter, "-I", "-S", "-c", program, str(argument)],
                cwd=directory,
                env={**os.environ, "WARPLINE_SPOOL": str(directory), **variables},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_SECONDS,
            )
            status, output = done.returncode, done.stdout.decode(errors="replace")
        except (OSError, subprocess.TimeoutExpired):
            status, output = -1, ""
        finally:
            page.close()
        yield AgentRun(status, output, read_plain(directory))
