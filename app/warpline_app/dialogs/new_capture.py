"""File → New capture…: choose the program, the Python interpreter and what to record."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QWidget,
)

from warpline.i18n import tr
from warpline.model.errors import UsageError
from warpline_app.dialogs.dialog_form import cancel_or, lay_out, make_form
from warpline_app.dialogs.source_choice import SourceChoice
from warpline_app.look.file_dialog import FileDialog
from warpline_app.look.files_there import is_folder, typed_path
from warpline_app.look.plain import PlainLabel
from warpline_app.open.background import Job
from warpline_app.open.workspace import Workspace
from warpline_app.recording.doctor_report import read_doctor, read_doctor_on
from warpline_app.recording.interpreters import find_interpreters
from warpline_app.recording.machines import machine_words, recent_machines, remember_machine, ssh_hosts
from warpline_app.recording.recording import Recording
from warpline_app.recording.request import RecordingRequest, suggested_output
from warpline_app.recording.script_arguments import arguments_of, remember_arguments

SETTINGS_KEY = "record/request"
_TYPING_MS = 600
"""A machine is checked when nothing was typed for this long."""
_BETWEEN = 8
"""Width of a label between two fields, in letters."""


class NewCaptureDialog(QDialog):
    """Collects a `RecordingRequest`; *Start* records it in the workspace."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAcceptDrops(True)
        self.setWindowTitle(tr("New capture"))
        self._workspace = workspace
        self.recording: Recording | None = None
        """The recording that Start began."""
        self._output_is_ours = True
        self._build()
        self._fill(RecordingRequest.from_json(workspace.settings.record_of(SETTINGS_KEY)))
        self._job: Job | None = None
        self.finished.connect(self._forget_check)
        self._check_machine()

    # -- the form -------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.where = QComboBox()
        self.where.setEditable(True)
        self.where.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.where.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.where.setMinimumContentsLength(20)
        self.where.setToolTip(
            tr(
                "Another machine: a host that your ssh reaches, or a command that runs programs"
                " there, such as: docker exec -i NAME"
            )
        )
        self.where.addItem(tr("This computer"), "")
        known = [*recent_machines(self._workspace.settings), *ssh_hosts()]
        for name in dict.fromkeys(known):
            self.where.addItem(name, name)
        self.script_mode = QRadioButton(tr("Python script"))
        self.command_mode = QRadioButton(tr("Command"))
        modes = QHBoxLayout()
        modes.setSpacing(16)
        modes.addWidget(self.script_mode)
        modes.addWidget(self.command_mode)
        modes.addStretch(1)
        self.attach_button = QPushButton(tr("Running program…"))
        self.attach_button.setToolTip(tr("Record a program that is already running"))
        self.attach_button.setAutoDefault(False)
        self.attach_button.clicked.connect(self._attach)
        modes.addWidget(self.attach_button)
        self.script = QLineEdit()
        self.script.setPlaceholderText("train.py")
        self.arguments = QLineEdit()
        self.arguments.setPlaceholderText("--epochs 2")
        self.interpreter = QComboBox()
        self.interpreter.setEditable(True)
        self.interpreter.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.interpreter.setMinimumContentsLength(20)
        self.command = QLineEdit()
        self.command.setPlaceholderText("torchrun --nproc-per-node 2 train.py")
        self.folder = QLineEdit()
        self.environment = QPlainTextEdit()
        self.environment.setPlaceholderText("NAME=value")
        self.environment.setTabChangesFocus(True)
        self.environment.setFixedHeight(52)
        self.sources = SourceChoice()
        self.delay = QLineEdit()
        self.delay.setPlaceholderText(tr("none"))
        self.duration = QLineEdit()
        self.duration.setPlaceholderText(tr("until it exits"))
        self.ring = QLineEdit()
        self.ring.setPlaceholderText(tr("everything"))
        self.ring.setToolTip(
            tr("Keep only the last part of the recording, such as 10m, to catch rare problems")
        )
        self.max_size = QLineEdit()
        self.max_size.setPlaceholderText(tr("any size"))
        self.max_size.setToolTip(tr("Stop recording at this size, such as 2G; the program continues"))
        self.max_duration = QLineEdit()
        self.max_duration.setPlaceholderText(tr("any length"))
        self.max_duration.setToolTip(
            tr("Stop recording after this time, such as 8h or 30m, pauses included; the program continues")
        )
        self.output = QLineEdit()
        self.form = make_form()
        self.form.addRow(tr("Where"), self.where)
        self.form.addRow(tr("Run"), modes)
        self._script_row = _with_button(self.script, self._choose_script)
        self.form.addRow(tr("Script"), self._script_row)
        self.form.addRow(tr("Command"), self.command)
        self.form.addRow(tr("Arguments"), self.arguments)
        self.form.addRow(tr("Interpreter"), self.interpreter)
        self._folder_row = _with_button(self.folder, self._choose_folder)
        self.form.addRow(tr("Working directory"), self._folder_row)
        self.form.addRow(tr("Environment"), self.environment)
        self.form.addRow(tr("Record"), self.sources)
        then, at = PlainLabel(tr("for")), PlainLabel(tr("or at", "end of a recording"))
        self.form.addRow(tr("Start after"), _side_by_side(self.delay, then, self.duration))
        self.form.addRow(tr("Keep the last"), _side_by_side(self.ring, PlainLabel(), PlainLabel()))
        self.form.addRow(tr("Stop after"), _side_by_side(self.max_duration, at, self.max_size))
        self.form.addRow(tr("Write to"), _with_button(self.output, self._choose_output))
        self.problem = PlainLabel()
        self.problem.setObjectName("problem")
        self.problem.setWordWrap(True)
        self.problem.hide()
        buttons, self.start_button = cancel_or(tr("Start"))
        buttons.accepted.connect(self.start)
        buttons.rejected.connect(self.reject)
        lay_out(self, self.form, (self.problem, buttons), width_px=620)
        self.resize(self._wanted_width(), 0)
        self.script_mode.toggled.connect(self._show_mode)
        self._look_at_machine = QTimer(self)
        self._look_at_machine.setSingleShot(True)
        self._look_at_machine.setInterval(_TYPING_MS)
        self._look_at_machine.timeout.connect(self._check_machine)
        self.where.currentTextChanged.connect(self._machine_changed)
        self._look_for_pythons = QTimer(self)
        self._look_for_pythons.setSingleShot(True)
        self._look_for_pythons.setInterval(200)
        self._look_for_pythons.timeout.connect(self._fill_interpreters)
        self.script.textChanged.connect(self._look_for_pythons.start)
        for field in (self.script, self.command, self.folder):
            field.textChanged.connect(self._program_changed)
        self.output.textEdited.connect(self._output_edited)
        self._script_of_arguments = self._arguments_shown = ""
        self.script.editingFinished.connect(self._script_chosen)

    def _wanted_width(self) -> int:
        """Wide enough for the descriptions of what is recorded, where the screen is."""
        titles_px = max(box.sizeHint().width() for box in self.sources.boxes.values())
        notes = self.sources.notes.values()
        notes_px = max(note.fontMetrics().horizontalAdvance(note.text()) for note in notes)
        items = (self.form.itemAt(row, QFormLayout.ItemRole.LabelRole) for row in range(self.form.rowCount()))
        labels = (item.widget() for item in items if item is not None)
        labels_px = max(label.sizeHint().width() for label in labels if label is not None)
        around_px = 38 + self.form.horizontalSpacing() + labels_px
        screen = self.screen().availableGeometry().width()
        return min(titles_px + 14 + notes_px + 8 + around_px, screen * 9 // 10)

    def _fill(self, request: RecordingRequest) -> None:
        index = self.where.findData(request.where)
        if index >= 0:
            self.where.setCurrentIndex(index)
        else:
            self.where.setEditText(request.where)
        (self.script_mode if request.mode == "script" else self.command_mode).setChecked(True)
        self.script.setText(request.script)
        self.command.setText(request.command)
        self.arguments.setText(request.arguments)
        self._script_of_arguments, self._arguments_shown = request.script, request.arguments
        self.folder.setText(request.working_directory)
        self.environment.setPlainText(request.environment)
        self.delay.setText(request.delay)
        self.duration.setText(request.duration)
        self.ring.setText(request.ring)
        self.max_size.setText(request.max_size)
        self.max_duration.setText(request.max_duration)
        self.sources.set_chosen(request.trace)
        self._fill_interpreters(request.interpreter)
        self._show_mode()
        self._program_changed()

    def _fill_interpreters(self, chosen: str = "") -> None:
        text = chosen or self._interpreter_path()
        script = self.script.text().strip()
        self.interpreter.clear()
        for entry in find_interpreters(typed_path(script).absolute().parent if script else None):
            self.interpreter.addItem(entry.text, str(entry.path))
        index = self.interpreter.findData(text) if text else 0
        if index >= 0:
            self.interpreter.setCurrentIndex(index)
        else:
            self.interpreter.setEditText(text)
        line = self.interpreter.lineEdit()
        if line is not None:
            line.setCursorPosition(0)  # show the start of the text: the Python version

    def _script_chosen(self) -> None:
        """Another script has its own arguments, unless the user has typed some."""
        script = self.script.text().strip()
        is_untouched = self.arguments.text() == self._arguments_shown
        if script and script != self._script_of_arguments and is_untouched:
            self._arguments_shown = arguments_of(self._workspace.settings, script)
            self.arguments.setText(self._arguments_shown)
        self._script_of_arguments = script

    def _interpreter_path(self) -> str:
        """The interpreter chosen from the list, or typed."""
        index = self.interpreter.currentIndex()
        text = self.interpreter.currentText().strip()
        if index >= 0 and self.interpreter.itemText(index) == text:
            return str(self.interpreter.itemData(index))
        return text

    @property
    def request(self) -> RecordingRequest:
        """The request in the form."""
        return RecordingRequest(
            where=self._machine(),
            mode="script" if self.script_mode.isChecked() else "command",
            interpreter=self._interpreter_path(),
            script=self.script.text().strip(),
            command=self.command.text().strip(),
            arguments=self.arguments.text().strip(),
            working_directory=self.folder.text().strip(),
            environment=self.environment.toPlainText(),
            trace=self.sources.chosen,
            duration=self.duration.text().strip(),
            delay=self.delay.text().strip(),
            ring=self.ring.text().strip(),
            max_size=self.max_size.text().strip(),
            max_duration=self.max_duration.text().strip(),
            output=self.output.text().strip(),
        )

    def _machine(self) -> str:
        """The machine that is chosen or typed; empty for this computer."""
        text = self.where.currentText().strip()
        index = self.where.findText(text)
        return str(self.where.itemData(index)) if index >= 0 else text

    def _machine_changed(self) -> None:
        self._forget_check()
        self._show_mode()
        self._look_at_machine.start()

    def _check_machine(self) -> None:
        """Ask the doctor of the machine what it can record."""
        self._look_at_machine.stop()
        self._forget_check()
        machine = self._machine()
        waiting = tr("looking at {machine} …", machine=machine) if machine else ""
        self.sources.show_waiting(waiting)
        read = partial(read_doctor_on, machine_words(machine)) if machine else read_doctor
        self._job = job = Job(read, self, again=self._check_machine)
        job.succeeded.connect(self.sources.show_reports)
        job.failed.connect(self.sources.show_failure)
        job.launch()

    def _forget_check(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _show_mode(self) -> None:
        is_script = self.script_mode.isChecked()
        is_here = not self._machine()
        for row in (self._script_row, self._folder_row):
            row.findChildren(QPushButton)[0].setVisible(is_here)  # a file dialog shows this computer
        self.form.setRowVisible(self._script_row, is_script)
        self.form.setRowVisible(self.interpreter, is_script and is_here)
        self.form.setRowVisible(self.command, not is_script)
        self._program_changed()

    def _program_changed(self, *_values: object) -> None:
        self.problem.hide()
        request = self.request
        self.folder.setPlaceholderText("~" if request.where else str(request.folder))
        if self._output_is_ours:
            self.output.setText(str(suggested_output(request, datetime.now())))

    def _output_edited(self, text: str) -> None:
        self._output_is_ours = not text.strip()

    def _attach(self) -> None:
        from warpline_app.dialogs.attach import show_attach

        self.reject()
        show_attach(self._workspace, self.parentWidget())

    # -- file dialogs ---------------------------------------------------------------------------------------

    def _choose_script(self) -> None:
        dialog = self._file_dialog(tr("Script"), QFileDialog.FileMode.ExistingFile, self.script)
        dialog.fileSelected.connect(lambda _name: self._script_chosen())
        dialog.setNameFilters([tr("Python scripts") + " (*.py *.pyw)", tr("All files") + " (*)"])
        dialog.open()

    def _choose_folder(self) -> None:
        self._file_dialog(tr("Working directory"), QFileDialog.FileMode.Directory, self.folder).open()

    def _choose_output(self) -> None:
        dialog = self._file_dialog(tr("Write to"), QFileDialog.FileMode.AnyFile, self.output)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters([tr("Captures") + " (*.h5)"])
        dialog.setDefaultSuffix("h5")
        dialog.fileSelected.connect(self._output_edited)
        dialog.open()

    def _file_dialog(self, title: str, mode: QFileDialog.FileMode, field: QLineEdit) -> QFileDialog:
        dialog = FileDialog(self, title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(mode)
        here = field.text() or field.placeholderText()
        if here:
            path = typed_path(here)
            dialog.setDirectory(str(path if is_folder(path) else path.parent))
        dialog.fileSelected.connect(field.setText)
        return dialog

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept a dropped script."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Use the first dropped file as the script."""
        files = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if files:
            event.acceptProposedAction()
            self.script_mode.setChecked(True)
            self.script.setText(files[0])
            self._script_chosen()

    # -- start ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start recording, or show what is missing."""
        try:
            request = self.request.checked()
        except UsageError as error:
            self.problem.setText(str(error))
            self.problem.show()
            return
        self._workspace.settings.set_record(SETTINGS_KEY, request.to_json())
        if request.mode == "script":
            remember_arguments(self._workspace.settings, request.script, request.arguments)
        if request.where:
            remember_machine(self._workspace.settings, request.where)
        self._workspace.settings.save()
        self.recording = Recording(request, self._workspace)
        self._workspace.begin(self.recording, has_tab=True)
        self.accept()


def _side_by_side(first: QWidget, between: QLabel, second: QWidget) -> QHBoxLayout:
    """Two fields of equal width, aligned across rows."""
    row = QHBoxLayout()
    row.setSpacing(10)
    row.addWidget(first, 1)
    between.setFixedWidth(between.fontMetrics().averageCharWidth() * _BETWEEN)
    row.addWidget(between)
    row.addWidget(second, 1)
    return row


def _with_button(field: QLineEdit, act: object) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(6)
    button = QPushButton(tr("Browse…"))
    button.setAutoDefault(False)
    button.clicked.connect(act)
    row.addWidget(field, 1)
    row.addWidget(button)
    holder.setFocusProxy(field)
    return holder


def show_new_capture(workspace: Workspace, parent: QWidget | None) -> NewCaptureDialog:
    """Show the dialog."""
    dialog = NewCaptureDialog(workspace, parent)
    dialog.open()
    dialog.script.setFocus()
    return dialog
