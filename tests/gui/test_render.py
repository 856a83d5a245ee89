"""``warpline render``: the same picture without a display."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage

from warpline.model.derived_rows import DerivedRow
from warpline.storage import open_capture
from warpline.storage.notes_file import Notes, notes_path, write_notes
from warpline_app.look.theme import DARK, LIGHT


def warpline(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {
        key: value
        for key, value in os.environ.items()
        if key not in {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    }
    return subprocess.run(
        [sys.executable, "-m", "warpline", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=110,
        env={**env, **environment},
        check=False,
    )


def has_color(image: QImage, color: str) -> int:
    """Number of pixels of a colour."""
    rgb = image.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(rgb.constBits(), np.uint32).reshape(image.height(), -1)[:, : image.width()]
    return int(np.count_nonzero(pixels == QColor(color).rgb()))


def test_a_picture_is_drawn_without_a_display(sample: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.png"
    result = warpline("render", sample, "-o", target, "--size", "900x500", "--range", "10ms:50ms")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    image = QImage(str(target))
    assert (image.width(), image.height()) == (900, 500)
    assert has_color(image, DARK.canvas) > 1000
    assert has_color(image, DARK.hex("kernel")) > 100
    assert has_color(image, DARK.hex("running")) > 100
    assert [path.name for path in tmp_path.iterdir()] == ["out.png"]


def test_derived_rows_are_drawn_and_foreign_queries_run_on_request_only(sample: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    run, settings = tmp_path / "run.h5", str(tmp_path / "settings")
    shutil.copy(sample, run)
    row = DerivedRow(title="all", sql="SELECT 0 AS ts, 100000000 AS dur, 'all of it' AS name", color="sync")
    with open_capture(run) as capture:
        write_notes(notes_path(run), Notes(rows=(row,), capture=capture.uuid))
    arguments = ("render", run, "-o", tmp_path / "out.png", "--size", "900x500")
    plain = warpline(*arguments, XDG_CONFIG_HOME=settings, APPDATA=settings)
    assert (plain.returncode, plain.stderr.count("--run-queries")) == (0, 1)
    before = has_color(QImage(str(tmp_path / "out.png")), DARK.hex("sync"))
    run_all = warpline(*arguments, "--run-queries", XDG_CONFIG_HOME=settings, APPDATA=settings)
    assert (run_all.returncode, run_all.stderr) == (0, "")
    after = has_color(QImage(str(tmp_path / "out.png")), DARK.hex("sync"))
    assert after > before + 3_000
    page = warpline("export", run, tmp_path / "out.html", "--run-queries", XDG_CONFIG_HOME=settings)
    assert page.returncode == 0
    assert "all of it" in (tmp_path / "out.html").read_text("utf-8")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_on_a_full_disk_is_one_line_with_the_reason(
    sample: Path, tmp_path: Path, suffix: str
) -> None:
    target = tmp_path / f"full{suffix}"
    target.symlink_to("/dev/full")
    result = warpline("export", sample, target)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert str(target) in line
    assert "No space left on device" in line


def test_scale_theme_and_tracks(sample: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.png"
    result = warpline(
        "render",
        sample,
        "-o",
        target,
        "--size",
        "600x300",
        "--scale",
        "2",
        "--theme",
        "light",
        "--track",
        "gpu/*",
    )
    assert (result.returncode, result.stderr) == (0, "")
    image = QImage(str(target))
    assert (image.width(), image.height()) == (1200, 600)
    assert has_color(image, LIGHT.canvas) > 1000
    assert has_color(image, LIGHT.hex("kernel")) > 100
    # The threads are not among the tracks asked for.
    assert has_color(image, LIGHT.hex("running")) == 0


def test_the_whole_window_with_its_panels(sample: Path, tmp_path: Path) -> None:
    target = tmp_path / "window.png"
    result = warpline("render", sample, "-o", target, "--size", "1200x700", "--window")
    assert (result.returncode, result.stderr) == (0, "")
    image = QImage(str(target))
    assert (image.width(), image.height()) == (1200, 700)
    assert has_color(image, DARK.panel) > 1000
    assert has_color(image, DARK.hex("kernel")) > 50


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--range", "5s:6s"), "no data in that range"),
        (("--track", "nothing/*"), "no track matches 'nothing/*'"),
        (("--size", "30000x30000"), "too large"),
        (("--scale", "100"), "between 0.5 and 8"),
        (("-o", "/no/such/folder/x.png"), "no folder"),
        (("-o", "x.docx"), "unsupported picture format"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(
    sample: Path, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    result = warpline("render", sample, "-o", tmp_path / "x.png", *arguments)
    assert result.returncode in {1, 2}
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "x.png").exists()


def test_a_file_that_is_no_capture_is_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.h5"
    broken.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    result = warpline("render", broken, "-o", tmp_path / "x.png")
    assert result.returncode == 1
    assert str(broken) in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_without_a_display_view_says_what_to_do(sample: Path) -> None:
    result = warpline("view", sample)
    assert result.returncode == 2
    assert "warpline render" in result.stderr
    assert len(result.stderr.splitlines()) == 1


WITHOUT_WIDGETS = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from warpline.interchange.export.exporting import export_capture
from warpline.model.errors import ExportError
from warpline.storage import open_capture
application = QCoreApplication([])
with open_capture(Path(sys.argv[1])) as capture:
    try:
        export_capture(capture, Path(sys.argv[2]))
    except ExportError as error:
        print(error)
"""


def test_a_program_whose_application_cannot_draw_is_told_so(sample: Path, tmp_path: Path) -> None:
    """Qt would abort it."""
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_WIDGETS, str(sample), str(tmp_path / "x.svg")],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert (
        result.stdout
        == "this program has a QCoreApplication, which cannot draw; make a QApplication instead\n"
    )
    assert not (tmp_path / "x.svg").exists()
