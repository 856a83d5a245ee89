"""Behaviour of all importers: recognition, registration, progress, cancelling."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.interchange.import_tools import imported, rows, text_file, trace_file, x

from warpline.cli import main
from warpline.interchange import detect, import_files
from warpline.interchange.framework.registry import importer_named, importers
from warpline.model import Cancelled, ImportFormatError, UsageError


@pytest.mark.parametrize(
    "head", [b"", b"\x00" * 100, b"[", b"{", b"\xff\xfe{}", b"SQLite format 3\x00", b'{"a": ' * 1000]
)
def test_recognition_never_raises(tmp_path: Path, head: bytes) -> None:
    path = text_file(tmp_path, head, "any.bin")
    for importer in importers():
        assert 0.0 <= importer.recognise(head, path) <= 1.0


def test_content_decides_and_not_the_name(tmp_path: Path) -> None:
    events = [x("op", 0, 1, cat="cpu_op")]
    torch = trace_file(tmp_path, events, "report.sqlite", schemaVersion=1, deviceProperties=[])
    plain = trace_file(tmp_path, [x("op", 0, 1)], "worker.pt.trace.json")
    assert detect(torch).name == "torch"
    assert detect(plain).name == "chrome"


def test_a_format_can_be_forced(tmp_path: Path) -> None:
    path = trace_file(tmp_path, [x("op", 0, 1, cat="cpu_op")], schemaVersion=1, deviceProperties=[])
    assert rows(imported(tmp_path, path, format="chrome"))[0][3].endswith("/ranges")
    with pytest.raises(UsageError, match="unknown format 'tape'"):
        importer_named("tape")


def test_foreign_content_is_named_with_what_would_help(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match=r"text that is not a profile.*export it from its tool"):
        detect(text_file(tmp_path, "just text", "notes.txt"))


@pytest.mark.parametrize(("name", "reason"), [("missing.json", "No such file"), (".", "holds no files")])
def test_what_cannot_be_opened(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(ImportFormatError, match=reason):
        import_files([tmp_path / name], tmp_path / "out.h5")
    with pytest.raises(UsageError):
        import_files([], tmp_path / "out.h5")


def test_cancelling_leaves_nothing_behind(tmp_path: Path) -> None:
    path = trace_file(tmp_path, [x(f"e{number}", number, 1) for number in range(1000)])
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 1

    with pytest.raises(Cancelled):
        import_files([path], tmp_path / "out.h5", cancelled=cancelled)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["trace.json"]


def test_progress_rises_to_the_end(tmp_path: Path) -> None:
    path = trace_file(tmp_path, [x(f"e{number}", number, 1) for number in range(100_000)])
    seen: list[float] = []
    import_files([path], tmp_path / "out.h5", progress=lambda fraction, _text: seen.append(fraction))
    assert seen == sorted(seen)
    assert len(seen) > 4
    assert 0 <= seen[0] <= 0.7 < seen[-1] <= 1


def test_the_capture_names_its_origin(tmp_path: Path) -> None:
    capture = imported(tmp_path, trace_file(tmp_path, [x("op", 0, 1)]))
    assert capture.meta["imported_from"] == [{"file": "trace.json", "format": "chrome"}]
    assert [(source.name, source.enabled) for source in capture.sources] == [("import trace.json", True)]


def test_the_command_converts_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = trace_file(tmp_path, [x("op", 0, 1), {"ph": "O", "name": "n", "ts": 1}])
    out = tmp_path / "out.h5"
    assert main(["import", str(path), "-o", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{out}: 1 event\n"
    assert printed.err.startswith("left out: object snapshot (O), 1: ")
    assert main(["import", str(text_file(tmp_path, "no", "no.txt")), "-o", str(out)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["import", str(path)]) == 2


def test_an_export_comes_back_unchanged(data_dir: Path, tmp_path: Path) -> None:
    from warpline.interchange.export.exporter import ExportOptions
    from warpline.interchange.export.exporting import export_capture
    from warpline.interchange.export.selection import ExportSelection

    original = imported(tmp_path, data_dir / "paddle/paddle_mobilenetv2_cpu_mem.paddle_trace.json.gz")
    counts = {name: len(table.rows) for name, table in original.kinds.items() if len(table.rows)}
    trace = tmp_path / "again.json"
    export_capture(original, trace, ExportSelection(), ExportOptions())
    before = [row[:3] for row in rows(original)]
    original.close()
    assert detect(trace).name == "torch"
    again = imported(tmp_path, trace)
    assert {name: len(table.rows) for name, table in again.kinds.items() if len(table.rows)} == counts
    assert sorted((name, duration) for name, _start, duration in before) == sorted(
        (name, duration) for name, _start, duration, _uri in rows(again)
    )
