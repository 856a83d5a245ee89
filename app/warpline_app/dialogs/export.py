"""File → Export…: choose the part, the format and the file; shows the expected size and progress."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr, tr_n
from warpline.interchange.export.exporter import Exporter, ExportOptions
from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.preview import estimate
from warpline.interchange.export.registry import exporter_for, exporters
from warpline.interchange.export.selection import ExportSelection
from warpline.model.errors import UsageError, WarplineError
from warpline.model.progress import IsCancelled, Progress
from warpline.model.sizes import format_bytes
from warpline_app.dialogs.dialog_form import lay_out, make_form
from warpline_app.dialogs.export_picture import PICTURES, PictureOptions
from warpline_app.dialogs.export_range import RangeChoice
from warpline_app.dialogs.track_choice import TrackChoice, tracks_pinned, tracks_shown
from warpline_app.look.file_dialog import FileDialog
from warpline_app.look.files_there import typed_path
from warpline_app.look.plain import PlainLabel
from warpline_app.open.activity import Activity
from warpline_app.open.background import Job
from warpline_app.open.workspace import Workspace
from warpline_app.open.written_files import show_written
from warpline_app.pictures.drawing import PictureDrawing

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.view import TimelineView

_PREVIEW_MS = 60


class ExportDialog(QDialog):
    """Collects an `ExportSelection` and a file name; *Export* writes in the background."""

    def __init__(self, workspace: Workspace, view: TimelineView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Export"))
        self._workspace, self._view = workspace, view
        self._capture = view.document.capture
        self._state = view.document.state
        self._shown = tracks_shown(view)
        self._job: Job | None = None
        self._drawing: PictureDrawing | None = None
        self._preview_timer = QTimer(self)
        self._preview_timer.setSingleShot(True)
        self._preview_timer.setInterval(_PREVIEW_MS)
        self._preview_timer.timeout.connect(self.show_preview)
        self._build()
        self._connect()
        self._format_chosen()
        self.show_preview()

    # -- the form -------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.format = QComboBox()
        for exporter in exporters():
            for suffix in exporter.suffixes:
                self.format.addItem(f"{exporter.title}  {suffix}", suffix)
        self.file = QLineEdit()
        self.browse = QPushButton(tr("Choose…"))
        self.browse.setAutoDefault(False)
        self.browse.clicked.connect(self._choose)
        file_row = QHBoxLayout()
        file_row.setSpacing(8)
        file_row.addWidget(self.file, 1)
        file_row.addWidget(self.browse)
        self.ranges = RangeChoice(self._state)
        self.picture = PictureOptions(self._view)
        self._build_tracks()
        self.compress = QCheckBox(tr("Compress: smaller, slower to open"))
        self.anonymize = QCheckBox(tr("Pseudonyms for paths, hosts, users and programs"))
        self.anonymize.setToolTip(
            tr("Names of functions, kernels and ranges stay. Notes and the command line are left out.")
        )
        self.preview = PlainLabel()
        self.preview.setObjectName("preview")
        self.note = PlainLabel()
        self.note.setObjectName("muted")
        self.note.setWordWrap(True)
        self.problem = PlainLabel()
        self.problem.setObjectName("problem")
        self.problem.setWordWrap(True)
        self.problem.hide()
        self.progress = QProgressBar()
        self.progress.setRange(0, 1000)
        self.progress.setTextVisible(False)
        self.progress.hide()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.start_button = self.buttons.addButton(tr("Export"), QDialogButtonBox.ButtonRole.AcceptRole)
        # Return in a field means Export, never Cancel.
        self.buttons.button(QDialogButtonBox.StandardButton.Cancel).setAutoDefault(False)
        self.start_button.setDefault(True)
        form = make_form()
        form.addRow(tr("Format"), self.format)
        form.addRow(tr("File"), file_row)
        form.addRow(tr("Time"), self.ranges)
        form.addRow(tr("Tracks"), _column(*self.tracks.buttons(), self.tree))
        form.addRow("", self.compress)
        form.addRow("", self.anonymize)
        form.addRow(tr("Picture"), self.picture)
        self._form = form
        form.addRow(tr("Contents"), self.preview)
        lay_out(self, form, (self.progress, self.buttons), width_px=560, notes=(self.note, self.problem))

    def _build_tracks(self) -> None:
        self.tracks = QButtonGroup(self)
        self.all_tracks = QRadioButton(tr_n("All ({count})", "All ({count})", len(self._capture.tracks)))
        self.shown_tracks = QRadioButton(
            tr_n("Visible in the timeline ({count})", "Visible in the timeline ({count})", len(self._shown))
        )
        self.chosen_tracks = QRadioButton(tr("Selected:"))
        for button in (self.all_tracks, self.shown_tracks, self.chosen_tracks):
            self.tracks.addButton(button)
        self.all_tracks.setChecked(True)
        self.tree = TrackChoice(self._capture, tracks_pinned(self._view))
        self.tree.setMinimumHeight(150)
        self.tree.setVisible(False)

    def _connect(self) -> None:
        self.format.currentIndexChanged.connect(self._format_chosen)
        self.file.textChanged.connect(self._follow_name)
        self.tracks.buttonToggled.connect(self._preview_timer.start)
        for part in (self.ranges, self.picture):
            part.changed.connect(self._preview_timer.start)
        self.chosen_tracks.toggled.connect(self.tree.setVisible)
        self.tree.changed.connect(self._preview_timer.start)
        self.compress.toggled.connect(self._preview_timer.start)
        self.buttons.accepted.connect(self.start)
        self.buttons.rejected.connect(self.reject)
        self.finished.connect(self._stop)

    # -- selection ------------------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        """The output file."""
        return typed_path(self.file.text())

    def exporter(self) -> Exporter | None:
        """The format of the file name's suffix; None for an unknown suffix."""
        try:
            return exporter_for(self.path)
        except UsageError:
            return None

    def selection(self) -> ExportSelection:
        """The chosen part. Raises ValueError when the typed times are not a range."""
        bounds = self.ranges.bounds()
        tracks: frozenset[int] | None = None
        if self.shown_tracks.isChecked():
            tracks = self._shown
        elif self.chosen_tracks.isChecked():
            tracks = self.tree.checked()
        return ExportSelection(*bounds, tracks)

    def _format_chosen(self) -> None:
        suffix = str(self.format.currentData())
        source = self._view.document.source
        stem = self.path if self.file.text().strip() else source.with_name(f"{_name_of(source)}-part")
        name = stem.name
        for known in sorted((s for e in exporters() for s in e.suffixes), key=len, reverse=True):
            if name.lower().endswith(known):
                name = name[: -len(known)]
                break
        self.file.setText(str(stem.with_name(name + suffix)))
        self._offer_options()

    def _follow_name(self) -> None:
        """Choose the format of a typed suffix."""
        name = self.path.name.lower()
        suffixes = [str(self.format.itemData(index)) for index in range(self.format.count())]
        typed = max((suffix for suffix in suffixes if name.endswith(suffix)), key=len, default="")
        if typed and typed != self.format.currentData():
            self.format.blockSignals(True)
            self.format.setCurrentIndex(suffixes.index(typed))
            self.format.blockSignals(False)
        self._offer_options()

    def _offer_options(self) -> None:
        """Show only the options that the format supports."""
        exporter = self.exporter()
        name = "" if exporter is None else exporter.name
        self._form.setRowVisible(self.picture, name in PICTURES)
        self.picture.offer_for(name)
        has_archive = exporter is not None and exporter.name == "capture"
        self.compress.setVisible(has_archive)
        self._form.setRowVisible(self.anonymize, name not in PICTURES)
        self._preview_timer.start()

    def show_preview(self) -> None:
        """Show how much the chosen part contains."""
        exporter = self.exporter()
        if exporter is None:
            self.preview.setText(tr("The file name has no known format"))
            self.start_button.setEnabled(False)
            return
        try:
            selection = self.selection()
        except ValueError as error:
            self.preview.setText(str(error))
            self.start_button.setEnabled(False)
            return
        if exporter.name in PICTURES:
            stands = self.ranges.visible.isChecked() and self.shown_tracks.isChecked()
            self.preview.setText(self.picture.expected(exporter.name, is_as_it_stands=stands))
            self.start_button.setEnabled(not self._is_busy)
            return
        is_packed = self.path.name.endswith(".gz") or (
            exporter.name == "capture" and self.compress.isChecked()
        )
        expected = estimate(self._capture, selection, exporter, is_packed=is_packed)
        parts = [tr_n("{count:,} event", "{count:,} events", expected.events)]
        if expected.samples:
            parts.append(
                tr_n("{count:,} value of counters", "{count:,} values of counters", expected.samples)
            )
        parts.append(tr("about {size}", size=format_bytes(expected.size_bytes)))
        self.preview.setText(" · ".join(parts))
        self.start_button.setEnabled(not self._is_busy and expected.events + expected.samples > 0)

    def _choose(self) -> None:
        dialog = FileDialog(self, tr("Export to"), str(self.path.parent))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(self.path.name)
        dialog.fileSelected.connect(self.file.setText)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    # -- export ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Write the file; the dialog stays open until then."""
        path = self.path
        is_archive = self.compress.isChecked() and path.suffix.lower() == ".h5"
        options = ExportOptions(
            compress=is_archive,
            anonymize=self.anonymize.isChecked(),
            notes=self._state.notes,
            rows=self._view.document.derived.shown,
        )
        exporter = self.exporter()
        if exporter is None or self._is_busy:
            return
        self.show_preview()
        if not self.start_button.isEnabled():
            return
        capture, selection = self._capture, self.selection()
        self.problem.hide()
        if exporter.name in PICTURES:
            self._draw(exporter.name, selection, path)
            return

        def work(progress: Progress, is_cancelled: IsCancelled) -> Path:
            return export_capture(capture, path, selection, options, progress, is_cancelled)

        self._job = Job(work, self)
        self._job.progressed.connect(self._progressed)
        self._job.succeeded.connect(self._done)
        self._job.failed.connect(self._failed)
        self._job.cancelled.connect(self._ended)
        self.progress.setRange(0, 1000)
        self.progress.setValue(0)
        self.progress.show()
        self._enable(on=False)
        self._workspace.begin(Activity(tr("Export to {name}", name=path.name), self._job, self._workspace))

    def _draw(self, name: str, selection: ExportSelection, path: Path) -> None:
        # Drawn in this thread: only Qt's main thread may draw widgets. Events are processed between parts.
        as_shown = self.shown_tracks.isChecked()
        if as_shown:
            selection = replace(selection, tracks=None)
        try:
            self._drawing = PictureDrawing(
                self._view, self.picture.picture(name, selection), path, is_as_shown=as_shown, parent=self
            )
        except WarplineError as error:
            self._failed(error)
            return
        self._drawing.drawn.connect(self._done)
        self._drawing.failed.connect(self._failed)
        self.progress.setRange(0, 0)
        self.progress.show()
        self._enable(on=False)

    @property
    def _is_busy(self) -> bool:
        return self._job is not None or self._drawing is not None

    def _enable(self, *, on: bool) -> None:
        for widget in (
            *(self.format, self.file, self.browse, self.ranges, self.compress, self.anonymize, self.picture),
            *(*self.tracks.buttons(), self.tree, self.start_button),
        ):
            widget.setEnabled(on)
        if on:
            self._offer_options()

    def _progressed(self, fraction: float, text: str) -> None:
        self.progress.setValue(round(1000 * fraction))
        self.note.setText(text)

    def _done(self, path: Path) -> None:
        self._job = self._drawing = None
        size = path.stat().st_size if path.is_file() else sum(file.stat().st_size for file in path.iterdir())
        text = tr("Exported {path} ({size})", path=path, size=format_bytes(size))
        opens_here = path.suffix in {".h5", ".json"} or path.name.endswith(".json.gz")
        show_written(self._workspace.messages, path, text, self._workspace.open_file if opens_here else None)
        self.accept()

    def _failed(self, error: Exception) -> None:
        self._ended()
        self.problem.setText(str(error) if isinstance(error, WarplineError) else repr(error))
        self.problem.show()

    def _ended(self) -> None:
        self._job = self._drawing = None
        self.progress.hide()
        self.note.setText("")
        self._enable(on=True)
        self.show_preview()

    def reject(self) -> None:
        """Cancel the running export, else close the dialog."""
        if self._job is not None:
            self._job.cancel()
            self.note.setText(tr("Stopping…"))
            return
        if self._drawing is not None:
            self._drawing.stop()
            self._ended()
            return
        super().reject()

    def _stop(self) -> None:
        if self._job is not None:
            self._job.cancel()
        if self._drawing is not None:
            self._drawing.stop()


def _name_of(source: Path) -> str:
    """The name of a trace without its suffix; dots in the name of a folder are no suffix."""
    return source.name if source.is_dir() else Path(source.name.removesuffix(".gz")).stem


def _column(*widgets: QWidget) -> QVBoxLayout:
    layout = QVBoxLayout()
    layout.setSpacing(4)
    for widget in widgets:
        layout.addWidget(widget)
    return layout


def show_export(workspace: Workspace, view: TimelineView, parent: QWidget | None) -> ExportDialog:
    """Show the dialog for a timeline's capture."""
    dialog = ExportDialog(workspace, view, parent)
    dialog.open()
    return dialog
