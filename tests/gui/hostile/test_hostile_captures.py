"""What once ended badly, and captures that are wrong in each way and can be opened, used in one window."""

from __future__ import annotations

import gzip
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from PySide6.QtGui import QPainter
from pytestqt.qtbot import QtBot
from tests.gui.hostile.random_user import RandomUser, surprises
from tests.unit.storage.hostile.hostile_files import replace, write_hostile

from warpline_app.panels.frame.registry import all_panels
from warpline_app.timeline.widgets.ruler import Ruler
from warpline_app.window.main_window import MainWindow

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"
STEPS = 6
PANELS_EACH = 2
END = 2**63 - 1


def fill(path: str, value: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[path][...] = value

    return change


def huge_names(file: h5py.File) -> None:
    """Every event has a name of 100,000 characters."""
    data, offset = file["strings/data"][:], file["strings/offset"][:]
    replace(file, "strings/data", data=np.append(data, np.resize(np.frombuffer(b"name ", "|u1"), 100_000)))
    replace(file, "strings/offset", data=np.append(offset, offset[-1] + np.uint64(100_000)))
    file["events/name"][...] = len(offset) - 1


def odd_names(file: h5py.File) -> None:
    letters = "\n\u202e\x1b<b>%s{0}\t\ufffd".encode()
    n = len(file["strings/data"])
    file["strings/data"][...] = np.frombuffer((letters * n)[:n], np.uint8)


def no_numbers(file: h5py.File) -> None:
    for name in ("value", "min", "max", "mean"):
        column = file[f"counters/{name}"]
        column[...] = np.resize([np.nan, np.inf, -np.inf, 1e308], len(column))


def ends_of_time(file: h5py.File) -> None:
    column = file["events/start"]
    column[...] = np.resize([0, END, -END - 1, 5, 2**62], len(column))
    file["events/duration"][...] = np.resize([END, -1, 0, 2**62], len(column))


def far_rows(file: h5py.File) -> None:
    column = file["kinds/cuda_api/row"]
    column[...] = np.linspace(np.iinfo(column.dtype).min, np.iinfo(column.dtype).max, len(column)).astype(
        column.dtype
    )


def damaged_chunk(file: h5py.File) -> None:
    """A column of an archive that nobody can unpack, and that no one reads before a panel is shown."""
    values = file["kinds/kernel/row"][:]
    column = replace(
        file,
        "kinds/kernel/row",
        shape=values.shape,
        dtype=values.dtype,
        chunks=values.shape,
        compression="gzip",
    )
    column.id.write_direct_chunk((0,), b"no zlib stream")


OPENED: dict[str, Callable[[h5py.File], None]] = {
    "names of 100,000 characters": huge_names,
    "names of control characters": odd_names,
    "NaN and infinity": no_numbers,
    "ends of time": ends_of_time,
    "unknown kinds": fill("events/kind", 250),
    "all flags": fill("events/flags", 255),
    "links to nowhere": fill("links/to_row", 2**40),
    "rows at both ends": far_rows,
    "names beyond": fill("events/name", 2**32 - 1),
}
REFUSED: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "wrong columns": (lambda file: replace(file, "events/kind", data=np.zeros(3, "|u1")), "has 3 entries"),
    "damaged chunk": (damaged_chunk, "kinds/kernel/row is damaged"),
}


def corpus(folder: Path) -> list[Path]:
    """The inputs that once ended badly, as files to open."""
    found: list[Path] = []
    for source in sorted(CORPUS.iterdir()):
        if source.suffix == ".gz":
            found.append(folder / source.stem)
            found[-1].write_bytes(gzip.decompress(source.read_bytes()))
        elif source.suffix == ".json":
            found.append(Path(shutil.copy(source, folder)))
        elif source.suffix == ".spool":
            found.append(Path(shutil.copytree(source, folder / f"{source.stem}.h5.spool")))
    return found


@pytest.mark.timeout(400)
def test_every_input_is_used_or_refused_in_one_line(
    window: MainWindow, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    panels = [spec.id for spec in all_panels()]
    inputs = corpus(tmp_path)
    inputs += [write_hostile(sample, tmp_path / f"{name}.h5", change) for name, change in OPENED.items()]
    opened, told = [], []
    for number, path in enumerate(inputs):
        user = RandomUser(window, seed=number)
        with surprises() as found:
            problem = user.open(path)
            if problem is None:
                opened.append(path.stem)
                user.move_about(STEPS)
                first = number * PANELS_EACH % len(panels)
                user.show_panels((panels + panels)[first : first + PANELS_EACH])
                if number == len(inputs) - 1:
                    user.run_commands()
            else:
                assert not problem.details, problem.details
                assert "\n" not in problem.text
            user.leave()
        told += [f"{path.name}: {text}" for text in found.texts[:1]]
    assert not told, "\n".join(told)
    assert set(OPENED) <= set(opened)


@pytest.mark.parametrize("name", list(REFUSED))
def test_damage_is_told_when_a_capture_is_opened(
    window: MainWindow, sample: Path, tmp_path: Path, name: str
) -> None:
    change, reason = REFUSED[name]
    path = write_hostile(sample, tmp_path / "wrong.h5", change)
    user = RandomUser(window)
    with surprises() as found:
        problem = user.open(path)
        user.leave()
    assert problem is not None
    assert reason in problem.text
    assert not found.texts


def test_a_file_that_is_cut_off_is_refused_in_one_line(
    window: MainWindow, sample: Path, tmp_path: Path
) -> None:
    path = tmp_path / "cut.h5"
    path.write_bytes(sample.read_bytes()[: sample.stat().st_size // 2])
    user = RandomUser(window)
    problem = user.open(path)
    user.leave()
    assert problem is not None
    assert str(path) in problem.text
    assert not problem.details


def test_an_exception_in_a_paint_is_told_once(
    qtbot: QtBot, window: MainWindow, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the widget is painted; what is beside it goes on."""
    user = RandomUser(window)
    assert user.open(sample) is None

    def paint(_ruler: Ruler, _painter: QPainter) -> None:
        raise ZeroDivisionError("a ruler of no length")

    told: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda _kind, error, _trace: told.append(str(error)))
    monkeypatch.setattr(Ruler, "_paint_origin", paint)
    for _ in range(5):
        window.grab()
    assert told == ["a ruler of no length"]
    user.move_about(STEPS)
    user.leave()
    assert told == ["a ruler of no length"]
