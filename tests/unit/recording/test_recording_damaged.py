"""What one source recorded cannot be read: it costs nobody else, is told, and stays on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpline.cli.record import summary_line
from warpline.recording.record import record
from warpline.recording.session import RecordingOptions
from warpline.recording.sources.procfs.source import ProcfsSource
from warpline.recording.symbols.modules import Module
from warpline.storage import open_capture


def test_the_recording_of_a_source_that_cannot_be_read_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_arguments: object) -> None:
        raise KeyError("no such record")

    monkeypatch.setattr(ProcfsSource, "translate", damaged)
    result = record(["true"], tmp_path / "run.h5", RecordingOptions(("cpu",)))
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
