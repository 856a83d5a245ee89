"""`CaptureReader.show`: the exported page in a frame, over a picture."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from tests.unit.library.library_tools import write_run

import warpline
from warpline.library import capture_reader
from warpline.library.notebook_page import NotebookPage
from warpline.library.pictures import PngPicture
from warpline.model import UsageError, WarplineError

PICTURE = PngPicture(b"\x89PNG")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run.h5")


def test_a_notebook_gets_the_page_in_a_frame_over_its_picture(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def draw(*given: object) -> PngPicture:
        sizes.append(given[3])
        return PICTURE

    monkeypatch.setattr(capture_reader, "draw", draw)
    with warpline.open(run) as capture:
        page = capture.show(height=300)
    shown = page._repr_html_()
    frame = re.search(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts"', shown)
    assert frame is not None
    # Hidden until its script runs: what shows neither scripts nor styles of the page shows the picture.
    inside = html.unescape(frame[1])
    assert inside.replace('<body class="frame" style="visibility:hidden">', "<body>") == page.html != inside
    assert 'document.body.style.visibility = "visible"' in page.html
    assert page.html.count("<script") == 3
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page.html)
    assert shown.index("<img") < shown.index("<iframe")
    assert page._repr_png_() == PICTURE
    assert sizes == [(1000, 300)]


def test_without_the_window_the_page_comes_without_a_picture(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> PngPicture:
        raise WarplineError("no window")

    monkeypatch.setattr(capture_reader, "draw", fail)
    with warpline.open(run) as capture:
        page = capture.show(range=("0s", "500ms"))
    assert page.picture is None
    assert "<img" not in page._repr_html_()


def test_a_wrong_question_is_refused(run: Path) -> None:
    with warpline.open(run) as capture:
        for wrong in ({"track": "gpu/99"}, {"height": 0}, {"range": ("100s", None)}):
            with pytest.raises(UsageError):
                capture.show(**wrong)


def test_a_page_has_the_colors_of_its_notebook() -> None:
    shown = NotebookPage("<p>", None, 100)._repr_html_()
    assert '[data-jp-theme-light="false"], .vscode-dark' in shown
    assert shown.count(".warpline-page iframe{color-scheme:") == 2
