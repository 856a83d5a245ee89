"""The export dialog: its options, its preview, and the exported files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot
from tests.gui.sample import MS

from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.selection import ExportSelection, count_events
from warpline.storage import open_capture
from warpline_app.dialogs.export import ExportDialog, show_export
from warpline_app.dialogs.export_picture import PictureOptions
from warpline_app.look.appearance import appearance
from warpline_app.open.document import LiveEdge
from warpline_app.pictures.export import drawing_size
from warpline_app.pictures.rendering import Picture, prepare_picture, render
from warpline_app.timeline.widgets.view import TimelineView
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

OpenPage = Callable[[Path], CapturePage]


@pytest.fixture
def page(open_page: OpenPage, sample: Path) -> CapturePage:
    return open_page(sample)


@pytest.fixture
def dialog(page: CapturePage, window: MainWindow, tmp_path: Path) -> ExportDialog:
    page.document.state.select_range(20 * MS, 40 * MS)
    made = show_export(window.workspace, page.view, window)
    assert made is not None
    made.file.setText(str(tmp_path / "part.h5"))
    return made


def written(qtbot: QtBot, dialog: ExportDialog) -> Path:
    """Press Export and wait until the dialog is done."""
    path = dialog.path
    with qtbot.waitSignal(dialog.finished, timeout=60_000):
        qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    return path


def test_the_command_opens_it(page: CapturePage, window: MainWindow, qtbot: QtBot) -> None:
    page.view.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: bool(window.findChildren(ExportDialog)), timeout=60_000)


def test_a_capture_that_still_grows_is_not_exported(page: CapturePage, window: MainWindow) -> None:
    page.document.live_edge = LiveEdge(0, 0)
    window.commands.run("file.export")
    assert not window.findChildren(ExportDialog)
    refusal = window.commands.commands["file.export"].refusal(window.context)
    assert refusal is not None
    assert "stop it first" in refusal


def test_a_key_copies_the_timeline_as_a_picture(page: CapturePage, window: MainWindow, qtbot: QtBot) -> None:
    page.view.setFocus()
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    qtbot.keyClick(window, Qt.Key.Key_C, modifiers)
    image = QGuiApplication.clipboard().image()
    shown = page.view.picture()
    assert image.size() == shown.size()
    assert image.convertToFormat(shown.format()) == shown


def test_the_selected_range_is_the_default_and_is_exported(
    dialog: ExportDialog, page: CapturePage, qtbot: QtBot
) -> None:
    assert dialog.ranges.selected.isChecked()
    capture = page.document.capture
    expected = count_events(capture, ExportSelection(20 * MS, 40 * MS))
    assert 0 < expected < len(capture.events)
    qtbot.waitUntil(lambda: f"{expected:,} events" in dialog.preview.text(), timeout=60_000)
    path = written(qtbot, dialog)
    with open_capture(path) as part:
        assert len(part.events) == expected
        assert part.span == (20 * MS, 40 * MS)


def test_success_is_shown_in_the_window(dialog: ExportDialog, window: MainWindow, qtbot: QtBot) -> None:
    path = written(qtbot, dialog)
    assert [str(path) in bar.text for bar in window.message_bars.bars] == [True]


def test_the_workspace_lists_an_export_while_it_runs(
    dialog: ExportDialog, window: MainWindow, qtbot: QtBot
) -> None:
    with qtbot.waitSignal(dialog.finished, timeout=60_000):
        qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
        assert [activity.title for activity in window.workspace.activities] == ["Export to part.h5"]
    assert not list(window.workspace.activities)


def test_exporting_shown_tracks_omits_hidden_ones(
    page: CapturePage, window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    page.document.state.set_hidden({"process/71.1"})
    qtbot.waitUntil(lambda: page.view.is_idle, timeout=60_000)
    dialog = show_export(window.workspace, page.view, window)
    assert dialog is not None
    dialog.shown_tracks.setChecked(True)
    dialog.file.setText(str(tmp_path / "shown.h5"))
    with open_capture(written(qtbot, dialog)) as part:
        assert part.tracks
        assert not [track.uri for track in part.tracks if track.uri.startswith("process/")]
        assert "kernel" in part.kinds


def test_pinned_tracks_are_checked_first(
    page: CapturePage, window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    uri = "gpu/0/process/71.1/context/1/stream/7"
    page.document.state.set_pins([uri])
    dialog = show_export(window.workspace, page.view, window)
    assert dialog is not None
    dialog.chosen_tracks.setChecked(True)
    assert dialog.tree.isVisible()
    capture = page.document.capture
    assert {capture.tracks[track].uri for track in dialog.tree.checked()} >= {uri}
    dialog.ranges.whole.setChecked(True)
    dialog.file.setText(str(tmp_path / "chosen.json"))
    document = json.loads(written(qtbot, dialog).read_bytes())
    assert {event["tid"] for event in document["traceEvents"] if event["ph"] == "X"} == {7}


def test_a_format_changes_the_suffix_and_a_name_without_suffix_is_refused(
    dialog: ExportDialog, qtbot: QtBot
) -> None:
    dialog.format.setCurrentIndex(dialog.format.findData(".json.gz"))
    assert dialog.path.name == "part.json.gz"
    assert dialog.compress.isHidden()
    dialog.file.setText(str(dialog.path.with_name("nothing")))
    qtbot.waitUntil(lambda: not dialog.start_button.isEnabled(), timeout=60_000)


def test_a_picture_begins_with_the_gpu(page: CapturePage) -> None:
    first: list[str] = []
    render(
        page.document.capture,
        Picture(size=(400, 300)),
        paint=lambda view: first.append(view.scene.layout.rows[0].row.role),
    )
    assert first == ["gpu"]


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_shows_the_selected_range_in_the_size_and_theme_that_are_chosen(
    dialog: ExportDialog, page: CapturePage, qtbot: QtBot, suffix: str
) -> None:
    view_before, shown = page.document.state.view, appearance().theme.name
    type_into(qtbot, dialog.file, str(dialog.path.with_suffix(suffix)))
    assert dialog.picture.isVisible()
    assert dialog.picture.scale.isEnabled() == (suffix == ".png")
    for field, text in ((dialog.picture.width_px, "800"), (dialog.picture.height_px, "500")):
        type_into(qtbot, field.lineEdit(), text)
    dialog.picture.theme.setFocus()
    qtbot.keyClicks(dialog.picture.theme, "Light")
    assert dialog.picture.theme.currentData() == "light"
    out = dialog.path
    dialog.file.setFocus()
    with qtbot.waitSignal(dialog.finished, timeout=60_000):
        qtbot.keyClick(dialog.file, Qt.Key.Key_Return)
    assert (page.document.state.view, appearance().theme.name) == (view_before, shown)
    # What `warpline render` makes of the same range, size and theme.
    picture = Picture((20 * MS, 40 * MS), (), (800, 500), 1.0, "light")
    expected = render(page.document.capture, picture, page.document.title)
    assert share_alike(read_picture(out, expected), expected) > (0.999 if suffix == ".png" else 0.95)


def test_the_fields_of_the_size_have_room_for_their_digits(dialog: ExportDialog, qtbot: QtBot) -> None:
    dialog.format.setCurrentIndex(dialog.format.findData(".png"))
    for field in (dialog.picture.width_px, dialog.picture.height_px):
        inner = field.findChild(QLineEdit)
        assert isinstance(inner, QLineEdit)
        qtbot.waitUntil(inner.isVisible, timeout=60_000)
        assert inner.contentsRect().width() >= inner.fontMetrics().horizontalAdvance("16384")
        assert inner.height() >= inner.fontMetrics().height()


def test_a_picture_has_no_scroll_bar_and_no_half_row(sample: Path) -> None:
    seen: list[tuple[int, int]] = []

    def look(view: TimelineView) -> None:
        scene = view.scene
        bottom = scene.scroll_px + view.canvas.height() - scene.layout.pinned_height
        assert not view.scroll_bar.isVisible()
        assert all(placed.bottom <= bottom for placed in scene.layout.between(scene.scroll_px, bottom))
        assert bottom < scene.layout.height  # there are more rows
        seen.append((view.width(), view.height()))

    with open_capture(sample) as capture:
        render(capture, Picture(size=(640, 237), theme="dark"), paint=look)
    assert seen == [(640, 237)]


def test_the_offered_height_of_a_picture_ends_with_a_whole_row(
    page: CapturePage, window: MainWindow, dialog: ExportDialog, qtbot: QtBot
) -> None:
    view = page.view
    scene = view.scene
    bottoms = [placed.bottom for placed in scene.layout.between(scene.scroll_px, scene.layout.height)]
    offered = PictureOptions(view, dialog).height_px.value()
    above = view.height() - view.canvas.height() + scene.layout.pinned_height - scene.scroll_px
    shown = scene.scroll_px + view.canvas.height() - scene.layout.pinned_height
    assert offered - above in bottoms or scene.layout.height <= shown


def test_dots_in_the_name_of_a_folder_are_no_suffix(
    page: CapturePage, window: MainWindow, tmp_path: Path
) -> None:
    source = tmp_path / "Qwen1.5-0.5B"
    source.mkdir()
    page.document.source = source
    made = show_export(window.workspace, page.view, window)
    assert made is not None
    assert made.path.name == "Qwen1.5-0.5B-part.h5"


def test_a_part_shows_the_times_of_the_whole_and_the_switch_is_there(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    with open_capture(sample) as capture:
        start = capture.span[0]
        first = ExportSelection(start + 10 * MS, start + 40 * MS)
        export_capture(capture, tmp_path / "part.h5", first)
    with open_capture(tmp_path / "part.h5") as capture:
        assert capture.span[0] == start + 10 * MS
        part = ExportSelection(start + 20 * MS, start + 30 * MS)
        export_capture(capture, tmp_path / "part-of-part.h5", part)
    page = open_page(tmp_path / "part-of-part.h5")
    state = page.document.state
    assert state.origin_ns == start
    state.set_cursor(state.span[0])
    assert window.status_line.text.startswith("20")
    assert page.view.corner.origin_text == "times as in the whole capture"
    assert window.commands.run("mark.origin_start")
    assert window.status_line.text.startswith("0 ns")
    assert page.view.corner.origin_text == ""
    assert window.commands.run("mark.origin_whole")
    assert state.origin_ns == start
    open_page(sample)
    assert window.commands.refusal("mark.origin_whole")


def test_a_picture_of_a_range_that_is_typed_has_four_times_the_pixels_at_twice_the_scale(
    page: CapturePage, window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    dialog = show_export(window.workspace, page.view, window)
    type_into(qtbot, dialog.file, str(tmp_path / "typed.png"))
    type_into(qtbot, dialog.ranges.first, "25 ms")
    assert dialog.ranges.from_to.isChecked(), "who types a time means it"
    type_into(qtbot, dialog.ranges.last, "24 ms")
    qtbot.waitUntil(lambda: not dialog.start_button.isEnabled(), timeout=60_000)
    assert dialog.preview.text() == "The range ends before it starts"
    qtbot.keyClick(dialog.ranges.last, Qt.Key.Key_Return)
    assert dialog.isVisible()
    assert not dialog.path.exists()
    type_into(qtbot, dialog.ranges.last, "30ms")
    dialog.picture.width_px.setValue(600)
    dialog.picture.height_px.setValue(400)
    dialog.picture.scale.setFocus()
    qtbot.keyClicks(dialog.picture.scale, "2")
    qtbot.waitUntil(lambda: dialog.preview.text().startswith("1200 × 800 pixels · about "), timeout=60_000)
    image = QImage(str(written(qtbot, dialog)))
    assert (image.width(), image.height()) == (1200, 800)
    picture = Picture((25 * MS, 30 * MS), (), (600, 400))
    small = render(page.document.capture, picture, page.document.title)
    finer = small.scaled(image.size(), mode=Qt.TransformationMode.SmoothTransformation)
    assert share_alike(image, finer) > 0.8, "the same, sharper"
    assert image != small.scaled(image.size()), "not blown up"


def test_cancelling_a_picture_keeps_the_dialog_and_leaves_no_file(
    dialog: ExportDialog, tmp_path: Path, qtbot: QtBot
) -> None:
    dialog.file.setText(str(tmp_path / "part.png"))
    dialog.start()
    assert not dialog.start_button.isEnabled()
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert dialog.start_button.isEnabled()
    assert list(tmp_path.glob("*part*")) == []
    dialog.reject()


def type_into(qtbot: QtBot, field: QLineEdit, text: str) -> None:
    """Replace the text of a field as a person does."""
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)


def read_picture(path: Path, like: QImage) -> QImage:
    """A picture from a file; of a drawing, what another program makes of it."""
    if path.suffix == ".png":
        return QImage(str(path))
    image = QImage(like.size(), QImage.Format.Format_RGB32)
    painter = QPainter(image)
    QSvgRenderer(str(path)).render(painter)
    painter.end()
    return image


def share_alike(one: QImage, other: QImage) -> float:
    """Of points spread over two pictures of one size, the share that has the same colour, but for rounding."""
    assert one.size() == other.size()
    points = [(x, y) for x in range(0, one.width(), 7) for y in range(0, one.height(), 5)]
    return sum(is_alike(one.pixelColor(x, y), other.pixelColor(x, y)) for x, y in points) / len(points)


def is_alike(one: QColor, other: QColor) -> bool:
    differences = (one.red() - other.red(), one.green() - other.green(), one.blue() - other.blue())
    return all(abs(difference) <= 8 for difference in differences)


def test_a_drawing_is_made_of_rectangles_and_text_and_looks_like_the_timeline(
    page: CapturePage, window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    page.document.state.set_view(10 * MS, 30 * MS)
    prepare_picture(page.view)  # pictures have no scroll bar and no half row
    qtbot.waitUntil(lambda: page.view.is_idle, timeout=60_000)
    before = page.view.picture()
    dialog = show_export(window.workspace, page.view, window)
    assert dialog is not None
    dialog.format.setCurrentIndex(dialog.format.findData(".svg"))
    dialog.ranges.visible.setChecked(True)
    dialog.shown_tracks.setChecked(True)
    dialog.file.setText(str(tmp_path / "timeline.svg"))
    qtbot.waitUntil(lambda: "rectangles" in dialog.preview.text(), timeout=60_000)
    shapes, size = drawing_size(page.view)
    assert f"{shapes:,} rectangles" in dialog.preview.text()
    path = written(qtbot, dialog)
    assert path.stat().st_size == pytest.approx(size, rel=0.5)
    root = ET.fromstring(path.read_bytes())
    tag = "{http://www.w3.org/2000/svg}"
    assert not list(root.iter(f"{tag}image"))
    assert shapes <= len(list(root.iter(f"{tag}rect"))) < 2 * shapes + 500
    texts = [element.text or "" for element in root.iter(f"{tag}text")]
    assert [text for text in texts if "step 0" in text]
    assert [text for text in texts if "MainThread" in text], "titles of rows too"
    # Drawn by something else it is the same picture, but for letters and the rounding of what shines through.
    assert share_alike(read_picture(path, before), before) > 0.95


def test_a_failure_stays_in_the_dialog(dialog: ExportDialog, tmp_path: Path, qtbot: QtBot) -> None:
    dialog.file.setText(str(tmp_path / "no" / "part.h5"))
    qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(dialog.problem.isVisible, timeout=60_000)
    assert "does not exist" in dialog.problem.text()
    assert dialog.start_button.isEnabled()
    dialog.reject()


def test_cancelling_a_running_export_keeps_the_dialog_and_leaves_no_file(
    dialog: ExportDialog, tmp_path: Path, qtbot: QtBot
) -> None:
    dialog.start()
    dialog.reject()
    qtbot.waitUntil(dialog.start_button.isEnabled, timeout=60_000)
    assert dialog.isVisible()
    assert list(tmp_path.glob("part*")) == []
    dialog.reject()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_command_draws_pictures_without_a_display(sample: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out{suffix}"
    command = [sys.executable, "-m", "warpline", "export", str(sample), str(out), "--range", "10ms:60ms"]
    run = subprocess.run(
        [*command, "--track", "gpu/*"], capture_output=True, text=True, timeout=100, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    if suffix == ".png":
        assert QImage(str(out)).width() == 1600
    else:
        text = out.read_text()
        assert "15 ms</text>" in text, "times on the ruler are text"
        assert len(text) < 2_000_000


@pytest.mark.parametrize("suffix", [".h5", ".png"])
def test_enter_in_the_file_field_exports_once(
    dialog: ExportDialog, window: MainWindow, qtbot: QtBot, tmp_path: Path, suffix: str
) -> None:
    type_into(qtbot, dialog.file, str(tmp_path / f"typed{suffix}"))
    with qtbot.waitSignal(dialog.finished, timeout=60_000):
        qtbot.keyClick(dialog.file, Qt.Key.Key_Return)
    assert (tmp_path / f"typed{suffix}").stat().st_size > 1_000
    assert len(window.message_bars.bars) == 1


def test_a_typed_suffix_chooses_the_format(dialog: ExportDialog, qtbot: QtBot, tmp_path: Path) -> None:
    dialog.compress.setChecked(True)
    for suffix, has_archive, is_picture in (
        (".json.gz", False, False),
        (".svg", False, True),
        (".h5", True, False),
        (".html", False, False),
    ):
        type_into(qtbot, dialog.file, str(tmp_path / f"typed{suffix}"))
        assert dialog.format.currentData() == suffix
        assert dialog.file.text() == str(tmp_path / f"typed{suffix}"), "what is typed stays as it is"
        assert dialog.compress.isHidden() != has_archive
        assert dialog.picture.isHidden() != is_picture
        assert dialog.ranges.isEnabled(), "every format takes a range"
