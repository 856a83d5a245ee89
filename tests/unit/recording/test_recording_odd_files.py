"""Files of a spool that are something else: FIFOs, links, folders, and holes larger than any disk."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import session_in

from warpline.model.errors import RecordingError
from warpline.recording.recover import recover
from warpline.recording.session import load_session
from warpline.recording.spool import records
from warpline.recording.spool.error_ring import make_error_ring
from warpline.recording.spool.file_layout import CHUNK, CHUNK_MAGIC, HEADER_BYTES
from warpline.recording.spool.reader import read_spools
from warpline.recording.spool.writer import SpoolWriter
from warpline.storage import open_capture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

HUGE = 1 << 42


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link_without_end(path: Path) -> None:
    path.symlink_to("/dev/zero")


def hole(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE)


def folder(path: Path) -> None:
    path.mkdir()


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """Of a killed recorder."""
    (tmp_path / "run.h5.spool").mkdir()
    session = replace(session_in(tmp_path / "run.h5.spool"), stop_monotonic_ns=None)
    session.save()
    writer = SpoolWriter(session.directory / "recorder.spool", "recorder")
    assert writer.append_packed(records.CLOCK_PAIR, struct.pack("<QQQ", 1, 1, 0))
    writer.close()
    make_error_ring(session.directory)
    return session.directory


@pytest.mark.parametrize("odd", [fifo, link_without_end, hole, folder])
@pytest.mark.parametrize("name", ["stderr", "agent.7.9.spool", "control"])
def test_recover_passes_over_a_file_that_is_something_else(
    spool: Path, name: str, odd: Callable[[Path], None]
) -> None:
    (spool / name).unlink(missing_ok=True)
    odd(spool / name)
    done = recover(spool, spool.parent / "out.h5", keep=True)
    assert done is not None
    with open_capture(spool.parent / "out.h5") as capture:
        warnings = [str(warning) for warning in capture.warnings]
    assert name.endswith(".spool") == any(name in warning for warning in warnings), warnings


@pytest.mark.parametrize("odd", [fifo, link_without_end, hole, folder])
def test_a_session_file_that_is_something_else_is_refused(spool: Path, odd: Callable[[Path], None]) -> None:
    (spool / "session.json").unlink()
    odd(spool / "session.json")
    with pytest.raises(RecordingError, match=r"session\.json"):
        load_session(spool)


def test_a_chunk_over_a_hole_ends_where_the_hole_begins(spool: Path) -> None:
    path = spool / "recorder.spool"
    with path.open("r+b") as file:
        file.truncate(HUGE)
        file.seek(HEADER_BYTES)
        file.write(CHUNK.pack(CHUNK_MAGIC, records.CLOCK_PAIR, 24, 1, HUGE - HEADER_BYTES, HUGE, 0))
    (found,), _problems = read_spools(spool)
    assert sum(len(chunk.payload) for chunk in found.chunks) < 1 << 20
