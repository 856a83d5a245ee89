"""Cache and settings files on a full disk or without a folder: at most a message, never a partial file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pytest

from warpline.library.jobs.computing import compute_rank
from warpline.model import StorageError
from warpline.platform.folders import cache_folder
from warpline.recording.symbols import table_cache
from warpline.recording.symbols.elf import FunctionTable
from warpline.storage import CaptureBuilder, ConversionCache, open_capture
from warpline.storage.index import name_index_cache
from warpline_app.remembered.settings import Settings
from warpline_app.window.quick_start import keep_codes

resource = pytest.importorskip("resource", reason="limits of Unix")

BIG = 100_000
"""Bytes and names: more than fits into what is written at once."""


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file of this process takes more than ``size`` bytes."""
    # Python 3.11 does not notice byte code that is cut, and nobody could import the module any more.
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = writes


def _limit(_folder: Path, turn: int) -> None:
    ConversionCache().set_limit(10**9 + turn)


def _converted(folder: Path, turn: int) -> None:
    def convert(target: Path, _progress: object, _cancelled: object) -> None:
        target.write_bytes(bytes(BIG))

    ConversionCache().get([folder / "a.h5"], f"a converter {turn}", convert)


def _reports(folder: Path, turn: int) -> None:
    found = compute_rank(str(folder / "a.h5"), ["overview"], str(turn))
    assert found.reports.keys() == {"overview"}, found.reason


def _functions(_folder: Path, turn: int) -> None:
    class Library:
        build_id = "0123"
        tables = ((range(5 * BIG + turn), b""),)

    def read(_elf: object) -> FunctionTable:
        return FunctionTable(
            np.arange(BIG, dtype=np.uint64),
            np.arange(BIG, dtype=np.uint64),
            np.zeros(BIG, np.uint32),
            b"name",
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_cache, "function_table", read)
        assert len(table_cache.cached_table(Library()).start) == BIG  # type: ignore[arg-type]  # what is asked of it


def _names(folder: Path, turn: int) -> None:
    with open_capture(folder / "a.h5") as capture, pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_index_cache, "ON_DISK_EVENTS", 10)
        index = name_index_cache.build_name_index(capture.lane_columns, f"{capture.uuid}{turn}")
        assert index.totals().count.tolist() == [100]


def _codes(_folder: Path, turn: int) -> None:
    keep_codes(cache_folder() / "code" / "a.bin", {("a file", turn): compile("1", "a file", "exec")})


def _settings(folder: Path, turn: int) -> None:
    settings = Settings(folder / "settings" / "a.ini")
    settings.set_record("layouts/a", {"order": "x" * BIG, "turn": turn})
    settings.save()


KEPT: dict[Callable[[Path, int], None], bool] = {
    _limit: True,
    _converted: True,
    _reports: False,
    _functions: False,
    _names: False,
    _codes: False,
    _settings: False,
}
"""What keeps files, given a folder with a capture; whether a person must be told that nothing could be kept."""


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with CaptureBuilder(tmp_path / "a.h5") as builder:
        track = builder.track("process/1/thread/1", title="main")
        builder.add_events(track, "range", range(0, 1000, 10), 5, [builder.string("work")] * 100)
        builder.finish()
    return tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.parametrize("has_old", [False, True])
@pytest.mark.parametrize("keep", KEPT, ids=lambda keep: keep.__name__)
def test_a_full_disk_keeps_old_files_and_leaves_no_partial_ones(
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    keep: Callable[[Path, int], None],
    has_old: bool,
    size: int,
) -> None:
    if has_old:
        keep(folder, 1)
    before = _files(folder)
    with _told(keep), full_disk(size):
        keep(folder, 2)
    assert _files(folder) == before
    assert not any(capfd.readouterr())
    keep(folder, 2)
    assert _files(folder) != before


@pytest.mark.parametrize("keep", KEPT, ids=lambda keep: keep.__name__)
def test_a_missing_cache_folder_is_tolerated(
    folder: Path, capfd: pytest.CaptureFixture[str], keep: Callable[[Path, int], None]
) -> None:
    for name in ("cache", "settings"):
        (folder / name).write_text("no folder")
    before = _files(folder)
    with _told(keep):
        keep(folder, 1)
    assert _files(folder) == before
    assert not any(capfd.readouterr())


@contextmanager
def _told(keep: Callable[[Path, int], None]) -> Iterator[None]:
    """One line, of those who must say it."""
    with pytest.raises(StorageError) if KEPT[keep] else nullcontext() as told:
        yield
    assert told is None or "\n" not in str(told.value)
