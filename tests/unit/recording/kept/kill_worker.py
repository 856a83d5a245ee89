"""Kills what changes files before each change it makes, one after the other: ``kill_worker.py CASE FOLDER``.

A child does the work and counts what Python tells of changes (audit events); before the n-th it kills itself. After
each death the invariants are looked at; one line of JSON per death says what was there and what became of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from warpline.recording.control_page import ControlPage, RecordingState
from warpline.recording.recover import recover
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.spool import records
from warpline.recording.spool.directory import new_spool, remove_spool
from warpline.recording.spool.writer import SpoolWriter
from warpline.storage import open_capture, verify

CHANGES = frozenset({"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "tempfile.mkdtemp"})


def is_change(event: str, arguments: tuple[object, ...]) -> bool:
    """Whether an audit event is about to change the file system."""
    if event == "open":
        flags = arguments[2]
        return isinstance(flags, int) and bool(flags & (os.O_CREAT | os.O_TRUNC))
    return event in CHANGES


def dies_before(number: int, work: Callable[[], object]) -> str:
    """Does the work in a child that dies before its change ``number``; tells that change, empty when there is none."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        left = number

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            if is_change(event, arguments):
                if not left:
                    os.write(write, f"{event} {arguments[0]}".encode())
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1

        sys.addaudithook(hook)
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    _pid, status = os.waitpid(child, 0)
    with open(read) as told:
        where = told.read()
    if not where and status:
        raise SystemExit(f"the child failed with {status}")
    return where


def begin(folder: Path) -> Path:
    """A spool as a recording leaves it whose recorder was killed."""
    spool = folder / "run.h5.spool"
    with new_spool(spool):
        fill(spool)
    return spool


def fill(spool: Path) -> None:
    """What a recorder writes from its beginning on."""
    now = time.monotonic_ns()
    session = Session(
        directory=spool,
        output=spool.with_suffix(""),
        command=("program",),
        working_directory="/",
        start_monotonic_ns=now,
        start_realtime_ns=time.time_ns(),
        recorder_pid=1,
        target_pid=2,
        options=RecordingOptions(trace=("cpu",)),
    )
    session.save()
    journal = SpoolWriter(spool / "recorder.spool", "recorder")
    ControlPage(spool, RecordingState.RECORDING, 0).close()
    said = np.array([(now, int(RecordingState.RECORDING), journal.string("start"))], records.recording_state)
    journal.append(records.RECORDING_STATE, said)


def capture_state(output: Path) -> str:
    """Whether a capture is there and sound."""
    if not output.exists():
        return "absent"
    with open_capture(output) as capture:
        return "unsound" if any(verify(capture)) else "sound"


def names(folder: Path) -> list[str]:
    """What lies in the folder."""
    return sorted(path.name for path in folder.iterdir())


def record_and_discard(folder: Path) -> None:
    """A recording from its first change to its last, without a capture."""
    with new_spool(folder / "run.h5.spool"):
        fill(folder / "run.h5.spool")
        remove_spool(folder / "run.h5.spool")


def main() -> None:
    """All deaths of a case, one line each."""
    case, base = sys.argv[1], Path(sys.argv[2])
    for number in range(200):
        folder = base / str(number)
        folder.mkdir()
        spool = folder / "run.h5.spool"
        if case == "recover":
            begin(folder)
            where = dies_before(number, partial(recover, spool))
        else:
            where = dies_before(number, partial(record_and_discard, folder))
        if not where:
            break
        after: dict[str, Any] = {
            "where": where,
            "capture": capture_state(spool.with_suffix("")),
            "left": names(folder),
        }
        if not after["left"] or (case == "begin" and "session.json" not in names(spool)):
            with new_spool(spool):
                after["made"] = names(spool)
            spool.rmdir()
        elif spool.exists():
            after["recovered"] = recover(spool) is not None
        after["then"], after["at_last"] = names(folder), capture_state(spool.with_suffix(""))
        print(json.dumps(after))
        shutil.rmtree(folder)


main()
