"""File → Attach…: choose a running program, see what can be recorded of it, and record it."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from warpline.i18n import tr, translated
from warpline.model.errors import UsageError
from warpline.model.progress import IsCancelled, Progress
from warpline.model.tracks import Source
from warpline.recording.process_list import ProcessList, RunningProcess, what_joins
from warpline.recording.sources.registry import asked_sources, choices, default_trace
from warpline_app.dialogs.dialog_form import cancel_or, make_form
from warpline_app.dialogs.process_table import ProcessTable
from warpline_app.dialogs.source_choice import SourceChoice
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import PlainLabel
from warpline_app.look.widgets import search_field, single_shot
from warpline_app.open.background import Job, Work
from warpline_app.open.workspace import Workspace
from warpline_app.recording.attach_request import (
    AttachRequest,
    attachable_choices,
    suggested_attach_output,
)
from warpline_app.recording.doctor_report import SourceReport, read_doctor
from warpline_app.recording.recording import Recording

SETTINGS_KEY = "attach/request"
REFRESH_MS = 2_000
FIRST_REFRESH_MS = 500
"""The load is known from the second reading on."""
_LOOK_MS = 150
_SIZE = (820, 640)
_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}


class AttachDialog(QDialog):
    """Lists the running processes; *Attach* records the selected one in the workspace."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Attach to a running program"))
        self._workspace = workspace
        self.recording: Recording | None = None
        """The recording that Attach began."""
        self._output_is_ours = True
        self._machine: dict[str, SourceReport] = {}
        self._joining: tuple[Source, ...] | None = None
        """What the sources say of the selected process; None while they are asked."""
        self._looked_at = 0
        self._jobs: set[Job] = set()
        self._list: ProcessList | None = None
        self._build()
        self._restore()
        self._refresh_timer = single_shot(self, FIRST_REFRESH_MS, self._refresh)
        self._look_timer = single_shot(self, _LOOK_MS, self._look)
        self.finished.connect(self._forget_jobs)
        self._begin(read_doctor, self._take_machine)
        self._refresh()
        self._choose(None, is_first=True)

    def _build(self) -> None:
        self.search = search_field(tr("Search by name, process id or user"))
        self.search.textChanged.connect(self._search)
        self.search.installEventFilter(self)
        self.table = ProcessTable()
        self.table.view.installEventFilter(self)
        self.table.chosen.connect(self._choose)
        self.table.activated.connect(self.start)
        self.subject = ElidedLabel()
        self.subject.setObjectName("subhead")
        shown = attachable_choices()
        self.sources = SourceChoice(shown)
        others = [translated(choice.title) for choice in choices() if choice not in shown]
        self.others = ElidedLabel(
            tr("Only at the start, with New capture: {names}", names=tr(", ").join(others))
        )
        self.others.setObjectName("muted")
        self.duration = QLineEdit()
        self.duration.setPlaceholderText(tr("until you stop it, or the program ends"))
        self.output = QLineEdit()
        self.output.textEdited.connect(self._output_edited)
        self.form = form = make_form()
        form.addRow(tr("Record"), self.sources)
        form.addRow("", self.others)
        form.addRow(tr("Stop after"), self.duration)
        form.addRow(tr("Write to"), self.output)
        self.problem = PlainLabel()
        self.problem.setObjectName("problem")
        self.problem.setWordWrap(True)
        self.problem.hide()
        buttons, self.attach_button = cancel_or(tr("Attach"))
        buttons.accepted.connect(self.start)
        buttons.rejected.connect(self.reject)
        note = ElidedLabel(tr("The program runs on unchanged, also after the recording."))
        note.setObjectName("muted")
        last = QHBoxLayout()
        last.addWidget(note, 1)
        last.addWidget(buttons)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 18, 18, 14)
        layout.setSpacing(10)
        layout.addWidget(self.search)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.subject)
        layout.addLayout(form)
        layout.addWidget(self.problem)
        layout.addLayout(last)
        self.resize(*_SIZE)

    def _restore(self) -> None:
        saved = self._workspace.settings.record_of(SETTINGS_KEY)
        trace, duration = saved.get("trace"), saved.get("duration")
        self.sources.set_chosen([str(name) for name in trace] if isinstance(trace, list) else default_trace())
        self.duration.setText(duration if isinstance(duration, str) else "")

    # -- reading processes ----------------------------------------------------------------------------------

    def _begin(self, work: Work, take: object, fail: Callable[[Exception], object] | None = None) -> None:
        job = Job(work, self)
        self._jobs.add(job)
        job.succeeded.connect(take)
        job.finished.connect(lambda: self._jobs.discard(job))
        if fail is not None:
            job.failed.connect(fail)
        job.launch()

    def _forget_jobs(self) -> None:
        self._refresh_timer.stop()
        self._look_timer.stop()
        for job in self._jobs:
            job.cancel()

    def _refresh(self) -> None:
        self._begin(self._read, self._take_processes, self._miss_processes)

    def _read(self, _progress: Progress, _is_cancelled: IsCancelled) -> list[RunningProcess]:
        if self._list is None:
            self._list = ProcessList()
        return self._list.read(without=(os.getpid(),))

    def _take_processes(self, processes: list[RunningProcess]) -> None:
        is_first = not self.table.model.rows
        self.table.show_processes(processes)
        self._refresh_timer.start(FIRST_REFRESH_MS if is_first else REFRESH_MS)

    def _miss_processes(self, error: Exception) -> None:
        self.table.show_problem(str(error))
        self._refresh_timer.start(REFRESH_MS)

    def _search(self, text: str) -> None:
        self.table.filter(text)

    # -- the selected process -------------------------------------------------------------------------------

    def _choose(self, process: RunningProcess | None, *, is_first: bool = False) -> None:
        pid = process.pid if process is not None else 0
        has_ended = self._looked_at not in {0, *(row.pid for row in self.table.model.rows)}
        if pid == self._looked_at and not is_first:
            return
        self._looked_at = pid
        self._joining = None
        self.problem.hide()
        self.attach_button.setEnabled(process is not None)
        if process is None:
            ended = tr("The process has ended. Choose another one.")
            self.subject.setText(ended if has_ended else tr("Choose a process."))
        else:
            self.subject.setText(tr("Process {pid}: {command}", pid=process.pid, command=process.command))
            self._look_timer.start()
            if self._output_is_ours:
                self.output.setText(str(suggested_attach_output(process.name, datetime.now())))
        self._show_sources()

    def _look(self) -> None:
        pid, names = self._looked_at, list(self.sources.boxes)
        if pid:
            self._begin(
                lambda _progress, _cancelled: (pid, what_joins(pid, names)),
                self._take_joining,
                partial(self._refuse, pid),
            )

    def _take_joining(self, answer: tuple[int, tuple[Source, ...]]) -> None:
        pid, joining = answer
        if pid == self._looked_at:
            self._joining = joining
            self._show_sources()

    def _refuse(self, pid: int, error: Exception) -> None:
        if pid != self._looked_at:
            return
        self.problem.setText(translated(str(error)))
        self.problem.show()
        self.attach_button.setEnabled(False)

    def _take_machine(self, reports: tuple[SourceReport, ...]) -> None:
        self._machine = {report.name: report for report in reports}
        self._show_sources()

    def _show_sources(self) -> None:
        joining = {source.name: source for source in self._joining or ()}
        reports = []
        for source in asked_sources(self.sources.boxes):
            machine = self._machine.get(source.name)
            joins = joining.get(source.name)
            reports.append(_report(source.name, source.choice.name, machine, joins))
        self.sources.show_reports(tuple(reports))

    # -- keys -----------------------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrows in the search field choose a process; letters typed in the table go to the search field."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        key = Qt.Key(event.key())
        if watched is self.search and key in _STEPS:
            self.table.step(_STEPS[key])
            return True
        if watched is self.search and key == Qt.Key.Key_Escape and self.search.text():
            self.search.clear()
            return True
        if watched is self.table.view and event.text().strip() and event.text().isprintable():
            self.search.setFocus()
            self.search.insert(event.text())
            return True
        if watched is self.table.view and key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.start()
            return True
        return super().eventFilter(watched, event)

    def _output_edited(self, text: str) -> None:
        self._output_is_ours = not text.strip()

    # -- start ----------------------------------------------------------------------------------------------

    @property
    def request(self) -> AttachRequest:
        """The request in the form."""
        process = self.table.current
        return AttachRequest(
            pid=process.pid if process is not None else 0,
            name=process.name if process is not None else "",
            command=process.command if process is not None else "",
            trace=self.sources.chosen,
            duration=self.duration.text().strip(),
            output=self.output.text().strip(),
        )

    def start(self) -> None:
        """Start recording, or show what is missing."""
        if not self.attach_button.isEnabled():
            return
        try:
            request = self.request.checked()
        except UsageError as error:
            self.problem.setText(str(error))
            self.problem.show()
            return
        settings = self._workspace.settings
        settings.set_record(SETTINGS_KEY, {"trace": list(request.trace), "duration": request.duration})
        settings.save()
        self.recording = Recording(request, self._workspace)
        self._workspace.begin(self.recording, has_tab=True)
        self.accept()


def _report(name: str, trace: str, machine: SourceReport | None, joins: Source | None) -> SourceReport:
    """What a source records of the process: what it says itself, else what the doctor says of this machine."""
    title = machine.title if machine is not None else name
    if joins is not None and not joins.enabled:
        return SourceReport(
            name=name, title=title, available=False, reason=translated(joins.reason),
            remedy=translated(joins.remedy), trace=trace,
        )  # fmt: skip
    if joins is not None and joins.reason:
        return SourceReport(
            name=name, title=title, available=True, trace=trace, remark=translated(joins.reason)
        )
    if machine is not None and trace != "python":
        return machine
    return SourceReport(name=name, title=title, available=True, trace=trace)


def show_attach(workspace: Workspace, parent: QWidget | None) -> AttachDialog:
    """Show the dialog."""
    dialog = AttachDialog(workspace, parent)
    dialog.open()
    dialog.search.setFocus()
    return dialog
