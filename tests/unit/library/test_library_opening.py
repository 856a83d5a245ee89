"""`warpline.open`, `warpline.import_trace`, pictures, and what `import warpline` brings."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.library.library_tools import write_trace

import warpline
from warpline.extras import install_command
from warpline.library import pictures
from warpline.own_python import own_python


def test_a_trace_of_another_profiler_opens_and_is_converted_once(tmp_path: Path, cache: Path) -> None:
    trace = write_trace(tmp_path / "trace.json")
    told: list[str] = []
    with warpline.open(trace, progress=lambda _fraction, text: told.append(text)) as capture:
        assert capture.path == trace
        assert capture.events()["name"].tolist() == ["load", "train", "save"]
        assert capture.events()["start_ns"].tolist() == [0, 1_000_000, 2_000_000]
    assert any("converting" in text for text in told)
    (converted,) = (cache / "warpline" / "captures").glob("*.h5")
    written = converted.stat().st_ino
    with warpline.open(str(trace)) as capture:
        assert len(capture.events()) == 3
    assert converted.stat().st_ino == written


def test_importing_writes_where_it_is_told(tmp_path: Path, cache: Path) -> None:
    trace = write_trace(tmp_path / "trace.json")
    with warpline.import_trace(trace, tmp_path / "out.h5") as capture:
        assert capture.path == tmp_path / "out.h5"
    with warpline.open(tmp_path / "out.h5") as capture:
        assert capture.events()["name"].tolist() == ["load", "train", "save"]
    assert not cache.exists()


def test_importing_without_a_place_uses_the_cache(tmp_path: Path, cache: Path) -> None:
    traces = [write_trace(tmp_path / f"rank{rank}.json") for rank in range(2)]
    with warpline.import_trace(traces, align="start") as capture:
        assert cache in capture.path.parents
        assert {track.rank for track in capture.tracks} == {0, 1}
        assert len(capture.events(track="rank/1/*")) == 3
    with warpline.import_trace(traces[0], format="chrome") as capture:
        assert len(capture.events()) == 3
    assert len(list((cache / "warpline" / "captures").glob("*.h5"))) == 2


@pytest.mark.parametrize(
    ("act", "error", "said"),
    [
        (lambda folder: warpline.open(folder / "no.h5"), warpline.CaptureFormatError, "No such file"),
        (warpline.open, warpline.ImportFormatError, "holds no trace"),
        (lambda folder: warpline.open(folder / "empty"), warpline.CaptureFormatError, "the file is empty"),
        (lambda folder: warpline.open(folder / "text"), warpline.ImportFormatError, "unknown format"),
        (lambda _folder: warpline.import_trace([]), warpline.UsageError, "no file"),
        (
            lambda folder: warpline.import_trace(folder / "text", format="nothing"),
            warpline.UsageError,
            "unknown format 'nothing'; use one of torch",
        ),
        (
            lambda folder: warpline.import_trace(write_trace(folder / "t.json"), align="never"),
            warpline.UsageError,
            "unknown alignment 'never'",
        ),
    ],
)
def test_what_cannot_be_opened_is_one_line(
    tmp_path: Path, cache: Path, act: object, error: type[Exception], said: str
) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello")
    assert callable(act)
    with pytest.raises(error, match=said) as caught:
        act(tmp_path)
    assert isinstance(caught.value, warpline.WarplineError)
    assert "\n" not in str(caught.value)


def test_opening_can_be_cancelled(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(warpline.Cancelled):
        warpline.open(write_trace(tmp_path / "trace.json"), cancelled=lambda: True)


def test_a_picture_is_png_bytes(run: warpline.CaptureReader, tmp_path: Path) -> None:
    pytest.importorskip("PySide6")
    picture = run.render(range=("0s", "300ms"), track="gpu/*", size=(500, 300), scale=2, theme="light")
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == (1000, 600)
    assert picture._repr_png_() == picture
    assert type(picture._repr_png_()) is bytes
    assert "PNG picture" in repr(picture)
    assert picture.save(tmp_path / "a.png").read_bytes() == picture
    with pytest.raises(warpline.WarplineError, match="No such file"):
        picture.save(tmp_path / "no" / "a.png")
    with pytest.raises(warpline.UsageError, match="choose from"):
        run.render(theme="pink")


def test_a_capture_shows_itself_in_a_notebook(run: warpline.CaptureReader) -> None:
    pytest.importorskip("PySide6")
    page = run._repr_html_()
    assert "<td>kernel</td><td>20</td>" in page
    assert "data:image/png;base64," in page
    picture = run._repr_png_()
    assert picture is not None
    assert picture.startswith(b"\x89PNG")
    run.close()
    assert run._repr_png_() is None
    assert "closed" in run._repr_html_()


def test_without_the_window_the_rest_works(
    run: warpline.CaptureReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_qt(module: str) -> list[str]:
        *words, program = own_python(module)
        return [*words, f"import sys; sys.modules['PySide6'] = None; {program}"]

    monkeypatch.setattr(pictures, "own_python", without_qt)
    with pytest.raises(warpline.WarplineError, match=re.escape(install_command("gui"))) as caught:
        run.render()
    assert "\n" not in str(caught.value)
    assert run._repr_png_() is None
    assert "<td>kernel</td><td>20</td>" in run._repr_html_()


def test_import_brings_nothing_heavy() -> None:
    code = (
        "import sys, warpline\n"
        "dir(warpline); warpline.annotate\n"
        "print([name for name in ('numpy', 'h5py', 'PySide6', 'orjson') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there_and_known_to_type_checkers() -> None:
    tree = ast.parse(Path(warpline.__file__).read_text("utf-8"))
    (guard,) = (node for node in tree.body if isinstance(node, ast.If))
    typed = {
        (alias.name, node.module)
        for node in guard.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = {(name, place) for place, names in warpline._PLACES.items() for name in names}  # type: ignore[attr-defined]
    assert typed == lazy
    assert {name for name, _ in lazy} | {"__version__"} == set(warpline.__all__)
    for name in warpline.__all__:
        assert getattr(warpline, name) is not None
        assert name in dir(warpline)
