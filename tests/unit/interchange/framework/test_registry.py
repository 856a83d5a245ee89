"""Importers and exporters are found by the names of their modules, and by entry points of other packages."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from tests.unit.interchange.import_tools import imported, rows, text_file, x

from warpline import interchange, plugins
from warpline.interchange import Importer, detect, export
from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.registry import builtin_exporters, exporter_for, exporters
from warpline.interchange.framework.registry import forget as forget_importers
from warpline.interchange.framework.registry import importer_named, importers
from warpline.model import ImportFormatError, WarplineError

TAPE = """
from warpline.interchange.framework.importer import CERTAIN, ImportSummary
from warpline.model.track_factory import TrackFactory
from warpline.model.track_style import TRACE


class TapeImporter:
    name, title, patterns = NAME, "Tape", ("*.tape",)

    def recognise(self, head, path):
        return CERTAIN if head.startswith(NAME.encode()) else 0.0

    def convert(self, path, builder, options, progress, cancelled):
        track = builder.add_track(TrackFactory(TRACE, options.prefix).instants(), parent=options.group)
        builder.add_events(track, "range", [5], [7], builder.string("beep"))
        return ImportSummary(events=1, start_ns=5, stop_ns=12)


importer = TapeImporter()
"""
TEXT = """
from warpline.interchange.export.exporter import SizeModel


class TextExporter:
    name, title, suffixes, size_model = "text", "Plain text", (".text",), SizeModel()

    def export(self, job):
        job.out.write_text(f"{len(job.capture.events)} events")
        return job.out


exporter = TextExporter()
"""


def test_every_registered_module_exports_an_importer() -> None:
    found = importers()
    assert len(found) >= 7
    assert all(isinstance(importer, Importer) for importer in found)
    assert len({importer.name for importer in found}) == len(found)
    for importer in found:
        assert importer.title
        assert all(pattern.startswith("*") for pattern in importer.patterns)


@pytest.fixture
def fresh_registries() -> Iterator[None]:
    """Searches for importers and exporters again, before and after the test."""
    forget()
    yield
    forget()


def forget() -> None:
    plugins.forget()
    forget_importers()
    for cached in (exporters, builtin_exporters):
        cached.cache_clear()


@pytest.fixture
def example_installed(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, fresh_registries: None
) -> Iterator[None]:
    """The example from docs/, installed by pip into a temporary folder."""
    source = tmp_path / "example"
    shutil.copytree(repository / "docs" / "example_importer", source)
    target = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index",
         "--disable-pip-version-check", "--target", str(target), str(source)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    monkeypatch.syspath_prepend(str(target))
    forget()
    yield
    sys.modules.pop("warpline_csv_importer", None)


@pytest.fixture
def one_more_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_registries: None
) -> Iterator[None]:
    """Adds an importer module, an importer folder and an exporter."""
    inside = tmp_path / "interchange"
    (inside / "reel").mkdir(parents=True)
    (inside / "tape_importer.py").write_text(TAPE.replace("NAME", "'tape'"))
    (inside / "reel" / "__init__.py").write_text("")
    (inside / "reel" / "reel_importer.py").write_text(TAPE.replace("NAME", "'reel'"))
    (tmp_path / "text_exporter.py").write_text(TEXT)
    monkeypatch.setattr(interchange, "__path__", [*interchange.__path__, str(inside)])
    monkeypatch.setattr(export, "__path__", [*export.__path__, str(tmp_path)])
    yield
    made = {"tape_importer", "reel_importer", "text_exporter", "reel"}
    for name in [name for name in sys.modules if name.rpartition(".")[2] in made]:
        del sys.modules[name]


@pytest.mark.usefixtures("one_more_format")
def test_a_new_format_is_one_new_folder_or_module(tmp_path: Path) -> None:
    assert [importer.name for importer in importers()][-2:] == ["reel", "tape"]
    for name in ("tape", "reel"):
        file = text_file(tmp_path, f"{name} 1", f"{name}.bin")
        assert detect(file).name == name
        capture = imported(tmp_path, file)
        assert rows(capture) == [("beep", 5, 7, "instants")]
        assert export_capture(capture, tmp_path / "out.text").read_text() == "1 events"
        capture.close()


def test_importers_and_exporters_are_ordered_by_position() -> None:
    names = ["torch", "paddle", "ascend", "paddle-pb", "chrome"]
    assert [importer.name for importer in importers()][:5] == names
    assert [exporter.name for exporter in builtin_exporters()] == [
        "capture",
        "chrome",
        "csv",
        "parquet",
        "html",
    ]


@pytest.mark.usefixtures("example_installed")
def test_an_installed_importer_is_found_by_its_entry_point(tmp_path: Path) -> None:
    assert "csv-events" in {point.name for point in metadata.entry_points(group="warpline.importers")}
    table = text_file(
        tmp_path, "thread,name,start_us,duration_us\nmain,load,0,1.5\nmain,x,bad,1\nio,read,2,3\n", "a.txt"
    )
    assert detect(table).name == "csv-events"
    capture = imported(tmp_path, table)
    assert rows(capture) == [
        ("load", 0, 1500, "process/1.1/thread/1.1"),
        ("read", 2000, 3000, "process/1.1/thread/2.1"),
    ]
    assert [(entry.what, entry.count) for entry in capture.skipped] == [("lines", 1)]
    two = imported(tmp_path, table, text_file(tmp_path, table.read_text(), "b.txt"))
    assert [track.uri for track in two.tracks if track.role == "rank"] == ["rank/0", "rank/1"]


@pytest.mark.usefixtures("fresh_registries")
def test_a_broken_importer_is_named_and_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[warpline.importers]\nbroken = json:dumps\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    forget()
    assert detect(text_file(tmp_path, json.dumps([x("op", 0, 1)]))).name == "chrome"
    problem = "plug-in broken cannot be loaded from json:dumps: it is not of type Importer"
    with pytest.raises(WarplineError, match=problem):
        importer_named("broken")
    with pytest.raises(ImportFormatError, match=problem):
        detect(text_file(tmp_path, "of no format at all"))


@pytest.mark.usefixtures("fresh_registries")
def test_the_longest_suffix_decides_and_the_first_exporter_among_equals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TEXT.replace('"text", "Plain text", (".text",)', "NAME, NAME, SUFFIXES")
    suffixes = {"a": (".x", ".y.z"), "b": (".z", ".x"), "c": (".y.z", ".a.x")}
    for name, value in suffixes.items():
        (tmp_path / f"{name}_exporter.py").write_text(f"NAME, SUFFIXES = {name!r}, {value!r}\n{text}")
    monkeypatch.setattr(export, "__path__", [str(tmp_path)])
    chosen = {file: exporter_for(Path(file)).name for file in ("f.x", "f.z", "f.y.z", "f.a.x", "F.Y.Z")}
    assert chosen == {"f.x": "a", "f.z": "b", "f.y.z": "a", "f.a.x": "c", "F.Y.Z": "a"}
    for name in suffixes:
        del sys.modules[f"{export.__name__}.{name}_exporter"]
