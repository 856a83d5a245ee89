"""Behaviour of all exporters: preview, cancelling, errors, the command, entry points."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.unit.interchange.export.export_tools import GENERIC, NSYS, TORCH, written

from warpline.cli import main
from warpline.extras import install_command
from warpline.interchange.export.exporter import Exporter
from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.output_files import writing
from warpline.interchange.export.preview import estimate
from warpline.interchange.export.registry import exporter_for, exporters
from warpline.interchange.export.selection import ExportSelection
from warpline.model import Cancelled, ExportError, UsageError
from warpline.storage import Capture, CaptureBuilder, open_capture


@pytest.mark.parametrize("file", [*NSYS, *TORCH, GENERIC[0]])
def test_the_preview_counts_events_exactly_and_estimates_the_size(
    imported: dict[str, Capture], tmp_path: Path, file: str
) -> None:
    capture = imported[file]
    third = capture.duration_ns // 3
    for selection in (
        ExportSelection(capture.span[0] + third, capture.span[0] + 2 * third),
        ExportSelection(),
    ):
        for suffix, compress in (
            (".h5", False),
            (".h5", True),
            (".json", False),
            (".csv", False),
            (".html", False),
        ):
            out = tmp_path / f"out{suffix}"
            expected = estimate(capture, selection, exporter_for(out), is_packed=compress)
            written(capture, out, selection.start_ns, selection.stop_ns, compress=compress)
            assert 0.5 <= expected.size_bytes / out.stat().st_size <= 2, (suffix, compress)
        with open_capture(tmp_path / "out.h5") as part:
            assert len(part.events) == expected.events


@pytest.mark.parametrize("suffix", [".h5", ".json", ".csv", ".parquet"])
def test_cancelling_keeps_the_existing_file(made: Capture, tmp_path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / f"out{suffix}"
    out.write_text("before")
    with pytest.raises(Cancelled):
        export_capture(made, out, cancelled=lambda: True)
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


def test_pipes_and_descriptors_are_written_directly(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    file = os.open(tmp_path / "redirected", os.O_WRONLY | os.O_CREAT, 0o600)
    for descriptor in (writes, file):
        with writing(Path(f"/dev/fd/{descriptor}")) as out:
            out.write(b"new")
    assert os.read(reads, 8) == (tmp_path / "redirected").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["redirected"]
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    waiting = os.open(pipe, os.O_RDWR)
    with writing(pipe) as out:
        out.write(b"more")
    assert os.read(waiting, 8) == b"more"
    assert pipe.is_fifo()
    for descriptor in (reads, writes, file, waiting):
        os.close(descriptor)


def test_invalid_export_requests_are_one_line_errors(made: Capture, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.json"):
        export_capture(made, tmp_path / "out.docx")
    with pytest.raises(UsageError, match="itself"):
        export_capture(made, made.path)
    with pytest.raises(ExportError, match="does not exist"):
        export_capture(made, tmp_path / "no" / "out.json")


def test_every_exporter_keeps_the_contract() -> None:
    found = exporters()
    assert {one.name for one in found} >= {"capture", "chrome", "csv", "parquet", "html"}
    for one in found:
        assert isinstance(one, Exporter)
        assert one.title
        assert all(suffix.startswith(".") for suffix in one.suffixes)
    assert exporter_for(Path("x.JSON.GZ")).name == "chrome"


def test_the_command_exports_a_range(
    made: Capture, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.h5"
    status = main(
        ["export", str(made.path), str(out), "--range", "100ns:300ns", "--track", "gpu/*", "--compress"]
    )
    assert status == 0
    printed = capsys.readouterr()
    assert "3 events" in printed.out
    assert printed.err == ""
    with open_capture(out) as part:
        assert part.span == (100, 300)
        assert not part.is_mapped
    assert main(["export", str(made.path), str(tmp_path / "x.json"), "--compress"]) == 2
    assert main(["export", str(made.path), str(tmp_path / "x.json"), "--range", "5s:6s"]) == 2
    assert main(["export", str(made.path), str(tmp_path / "x.unknown")]) == 2
    assert main(["export", str(tmp_path / "missing.h5"), str(tmp_path / "x.json")]) == 1
    assert all(line.startswith("warpline: error:") for line in capsys.readouterr().err.splitlines())


def test_the_command_takes_its_output_like_other_commands(
    made: Capture, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = str(tmp_path / "one.csv"), str(tmp_path / "other.csv")
    for arguments in ([str(made.path), "-o", one], [f"--output={other}", str(made.path)]):
        assert main(["export", *arguments]) == 0
    assert Path(one).read_bytes() == Path(other).read_bytes()
    capsys.readouterr()
    assert main(["export", str(made.path), "-o", one, other]) == 2
    assert main(["export", str(made.path)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"warpline: error: one file at a time: {one} or {other}?",
        "warpline: error: the following arguments are required: OUT (see warpline export --help)",
    ]


def test_one_event_is_an_event(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with CaptureBuilder(tmp_path / "run.h5") as builder:
        builder.add_events(builder.track("cpu/0"), "cpu_slice", [0, 100], 50, builder.string("python"))
        path = builder.finish()
    for part, said in (("0ns:60ns", "1 event"), ("0ns:200ns", "2 events")):
        assert main(["export", str(path), str(tmp_path / "out.csv"), "--range", part]) == 0
        assert capsys.readouterr().out == f"{tmp_path / 'out.csv'}: {said}\n"


def test_an_exporter_without_its_packages_says_what_to_install(
    made: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Point:
        name, value, dist = "png", "somewhere:png", None

        def load(self) -> object:
            raise ModuleNotFoundError("No module named 'PySide6'", name="PySide6")

    monkeypatch.setattr("warpline.plugins.entry_points", lambda _group: (Point(),))
    exporters.cache_clear()
    try:
        with pytest.raises(ExportError, match="PySide6.*" + re.escape(install_command("gui"))):
            export_capture(made, tmp_path / "out.png")
    finally:
        exporters.cache_clear()
