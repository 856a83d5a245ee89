"""Files that are no sound captures: one line that says what each is and what to do, in nobody else's words."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpline.cli import main
from warpline.model import CaptureFormatError, ImportFormatError
from warpline.storage import CaptureBuilder, open_capture

HDF5_WORDS = (
    "sblock",
    "base_addr",
    "eof",
    "errno",
    "unable to",
    "can't",
    "h5clear",
    "b-tree",
    "synchronously",
)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small sound capture."""
    with CaptureBuilder(tmp_path_factory.mktemp("sound") / "run.h5") as builder:
        track = builder.track("cpu/0", title="Core 0", role="core")
        builder.add_events(track, "cpu_slice", np.arange(2000) * 10, 5, builder.string("python"))
        return builder.finish()


def refusal(path: Path) -> str:
    with pytest.raises(CaptureFormatError) as caught:
        open_capture(path).close()
    text = str(caught.value)
    assert text.startswith(f"{path}: cannot be opened: ")
    assert not [word for word in HDF5_WORDS if word in text.lower()], text
    return text


@settings(max_examples=25)
@given(share=st.floats(0.0, 0.999))
def test_a_cut_capture_says_how_much_of_it_is_there(
    capture: Path, tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    data = capture.read_bytes()
    kept = int(len(data) * share)
    cut = tmp_path_factory.mktemp("cut") / "run.h5"
    cut.write_bytes(data[:kept])
    text = refusal(cut)
    if kept >= 64:
        assert f"{kept:,} of {len(data):,} bytes" in text
    elif kept >= 8:
        assert f"only the first {kept:,} bytes" in text


@pytest.mark.parametrize("libver", [("earliest", "v108"), ("v110", "v110"), ("latest", "latest")])
def test_every_version_of_the_superblock_is_understood(tmp_path: Path, libver: tuple[str, str]) -> None:
    whole = tmp_path / "whole.h5"
    with h5py.File(whole, "w", libver=libver) as file:
        file["values"] = np.arange(5000)
    size = whole.stat().st_size
    cut = tmp_path / "cut.h5"
    cut.write_bytes(whole.read_bytes()[: size // 2])
    assert f"{size // 2:,} of {size:,} bytes" in refusal(cut)


def test_a_capture_whose_writer_was_stopped_is_unfinished(capture: Path, tmp_path: Path) -> None:
    stopped = tmp_path / "run.h5.part"
    # The mark that HDF5 leaves while somebody writes, and its checksum: written by HDF5 itself.
    with h5py.File(tmp_path / "open.h5", "w", libver="latest") as file:
        file["values"] = np.arange(10)
        file.flush()
        stopped.write_bytes((tmp_path / "open.h5").read_bytes())
    assert "still being written" in refusal(stopped)


def test_another_version_of_the_format_says_which_side_is_older(capture: Path, tmp_path: Path) -> None:
    for value, wanted in ((99, "install a newer Warpline"), (-1, "from before the format was finished")):
        other = tmp_path / f"{value}.h5"
        shutil.copy(capture, other)
        with h5py.File(other, "r+", libver="latest") as file:
            file.attrs.modify("version", value)
        text = refusal(other)
        assert f"format version {value}" in text
        assert wanted in text


def test_other_hdf5_files_are_called_what_they_are(tmp_path: Path) -> None:
    weights = tmp_path / "weights.h5"
    with h5py.File(weights, "w") as file:
        for name in ("bias", "kernel", "moving_mean", "optimizer", "zeros"):
            file[name] = np.zeros(3)
    assert (
        "of another program but not a capture (it holds bias, kernel, moving_mean, optimizer, …)"
        in refusal(weights)
    )
    export = tmp_path / "report.h5"
    with h5py.File(export, "w") as file:
        file["StringIds"] = np.zeros(1, [("id", "<i8"), ("value", "S8")])
    text = refusal(export)
    assert "an export of Nsight Systems" in text
    assert f"warpline import {export}" in text


def test_a_text_given_for_a_capture_is_told_for_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "my trace.json"
    trace.write_text("no trace that anybody knows")
    assert main(["info", str(trace)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"{trace}: unknown format: text that is not a profile" in error


def test_a_trace_given_for_a_capture_is_described_by_its_own_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "my trace.json"
    trace.write_text('[{"ph": "X", "name": "fit", "pid": 1, "tid": 1, "ts": 0, "dur": 3}]')
    assert main(["info", str(trace)]) == 0
    assert capsys.readouterr().out.startswith(f"{trace}\n  1 event in 3.000 µs")


def test_a_cut_export_is_no_riddle_for_import_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = tmp_path / "report.h5"
    with h5py.File(whole, "w") as file:
        file["StringIds"] = np.zeros(4000, [("id", "<i8"), ("value", "S8")])
    data = whole.read_bytes()
    cut = tmp_path / "cut.h5"
    cut.write_bytes(data[:3000])
    assert main(["import", str(cut), "-o", str(tmp_path / "out.h5")]) == 1
    error = capsys.readouterr().err
    assert f"3,000 of {len(data):,} bytes" in error
    assert not [word for word in HDF5_WORDS if word in error.lower()], error


def test_damage_of_the_directory_is_told_as_such(capture: Path, tmp_path: Path) -> None:
    from warpline.interchange.nsys.tables.hdf5_tables import Hdf5Tables

    data = capture.read_bytes()
    root = int.from_bytes(data[36:44], "little")
    for name, place in (("checksum", 44), ("root", root)):
        broken = tmp_path / f"{name}.h5"
        broken.write_bytes(data[:place] + bytes(4) + data[place + 4 :])
        assert "its directory is damaged" in refusal(broken)
        with pytest.raises(ImportFormatError, match="its directory is damaged"):
            Hdf5Tables(broken)
