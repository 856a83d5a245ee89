"""What one source recorded cannot be read: it costs nobody else, is told, and stays on the disk."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from warpline.cli.record import summary_line
from warpline.recording.finalise import finalise
from warpline.recording.record import record
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.procfs.records import ALLOWED_CORES, allowed_cores
from warpline.recording.sources.procfs.source import ProcfsSource
from warpline.recording.spool.writer import SpoolWriter
from warpline.recording.symbols.modules import Module
from warpline.storage import open_capture


def test_the_recording_of_a_source_that_cannot_be_read_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_arguments: object) -> None:
        raise KeyError("no such record")

    monkeypatch.setattr(ProcfsSource, "translate", damaged)
    result = record(["true"], tmp_path / "run.h5", RecordingOptions(trace=("cpu",)))
    assert result.damaged == ("procfs",)
    assert (tmp_path / "run.h5.spool").is_dir(), "the only place where it is"
    assert "procfs could not be read" in summary_line(result)
    with open_capture(tmp_path / "run.h5") as capture:
        source = next(source for source in capture.sources if source.name == "procfs")
        assert not source.enabled
        assert "damaged" in source.reason


def test_a_library_that_cannot_be_read_has_functions_without_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(*_arguments: object) -> None:
        raise OverflowError("an offset of 2**64")

    path = tmp_path / "lib.so"
    path.write_bytes(b"\x7fELF" + bytes(400))
    module = Module(str(path))
    assert module.function(0x40).name == ""
    monkeypatch.setattr("warpline.recording.symbols.modules.read_elf", odd)
    assert Module(str(path)).function(0x40).module == "lib.so"
    assert Module(str(path)).rules is None


def test_a_lost_text_affects_only_its_own_record(tmp_path: Path) -> None:
    now, pid = time.monotonic_ns(), os.getpid()
    begun = Session(
        directory=tmp_path,
        output=tmp_path / "run.h5",
        command=("x",),
        working_directory="/",
        start_monotonic_ns=now,
        start_realtime_ns=time.time_ns(),
        recorder_pid=1,
        target_pid=pid,
        options=RecordingOptions(trace=("cpu",)),
    )
    begun.save()
    spool = SpoolWriter(tmp_path / "procfs.spool", "procfs")
    rows = [
        (now, pid, 4_000_000_000),
        (now + 1, pid, spool.string("0 2")),
        (now + 2, pid, spool.string("no core")),
    ]
    spool.append(ALLOWED_CORES, np.array(rows, allowed_cores))
    spool.close()
    assert finalise(tmp_path, tmp_path / "run.h5").damaged == ()
    with open_capture(tmp_path / "run.h5") as capture:
        (told,) = capture.meta["allowed_cores"]
        assert told["cores"] == [0, 2]
        assert any(warning.startswith("2 records of the cores") for warning in capture.warnings)
