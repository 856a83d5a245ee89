"""Source files with the time of each line."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QComboBox, QMenu, QToolButton, QWidget

from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.line_times import LineTime, SourceTimes, source_times
from warpline.i18n import tr
from warpline.model.frames import StackFrame, file_name
from warpline.model.progress import IsCancelled, check_cancelled
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme
from warpline_app.open.document import Document
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.scope import scope_suffix, selection_of
from warpline_app.panels.source.reading import SourceText, far_host, fetch_source, read_source
from warpline_app.panels.source.view import CodeView, line_text

FILES_SHOWN = 60
_TOOLTIP = Qt.ItemDataRole.ToolTipRole
_LINES_LISTED = 12


@dataclass(frozen=True)
class SourceRequest:
    """Which file (empty: the costliest), over which selection."""

    file: str
    selection: Selection
    is_fetched: bool = False
    """Whether the user wants files of the machine that was recorded."""
    native: StackFrame | None = None
    """A requested native function, which has no source line."""


@dataclass(frozen=True)
class SourceAnswer:
    """A file and its line times; ``file`` is empty if no stack names one."""

    file: str
    text: SourceText | None
    times: SourceTimes


class SourcePanel(ComputedPanel):
    """Shows a clicked source line; the selected range limits the times beside the lines."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self._frame = StackFrame("")
        self.answer: SourceAnswer | None = None
        self.files = QComboBox()
        self.files.setAccessibleName(tr("File"))
        self.files.setToolTip(
            tr("Files in sampled and waiting stacks: the program's own and the costliest first")
        )
        self.files.setMinimumWidth(150)
        self.files.activated.connect(self._file_chosen)
        self.previous = self._button("▲", tr("Previous line with time"))
        self.previous.clicked.connect(lambda: self.step(-1))
        self.next = self._button("▼", tr("Next line with time"))
        self.next.clicked.connect(lambda: self.step(1))
        self.note = ElidedLabel()
        self.note.setObjectName("muted")
        self.code = CodeView(self.theme)
        self.code.customContextMenuRequested.connect(
            lambda point: self._menu().popup(self.code.viewport().mapToGlobal(point))
        )
        self.code.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.fetch = QToolButton()
        self.fetch.hide()
        self.fetch.clicked.connect(self._fetch)
        self._is_fetching = False
        self._fetched: dict[str, SourceText] = {}
        self.arrange((self.files, self.previous, self.next, self.fetch, self.note), self.code)
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.track_selection_changed.connect(self.mark_stale)

    @staticmethod
    def _button(text: str, tip: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setToolTip(plain(tip))
        button.setAccessibleName(tip)
        return button

    def show_source(self, frame: StackFrame) -> None:
        """Show a source line."""
        same = self.answer is not None and self.answer.file == frame.file
        self._frame = frame
        if same:
            self.code.go_to_line(frame.line)
        self.mark_stale()

    def request(self) -> SourceRequest:
        """The requested file and selection."""
        chosen = selection_of(self.document.capture, self.state)
        native = self._frame if self._frame.is_native else None
        return SourceRequest(self._frame.file, replace(chosen, names=None), self._is_fetching, native)

    def compute(self, request: SourceRequest, is_cancelled: IsCancelled) -> SourceAnswer:
        """Read the file and sum the time of its lines."""
        capture = self.document.capture
        view = View(capture, request.selection, is_cancelled)
        times = source_times(view, request.file)
        file = request.file
        if not file and times.files:
            file = times.files[0].file
            times = source_times(view, file)
        text = read_source(capture, file) if file else None
        if text is not None and text.host and request.is_fetched:
            text = self._fetched.get(file) or fetch_source(
                capture, file, lambda: check_cancelled(is_cancelled)
            )
            if text.lines is not None:
                self._fetched[file] = text
        return SourceAnswer(file, text, times)

    def _fetch(self) -> None:
        """From now on, show files of the machine that was recorded."""
        self._is_fetching = True
        self.note.setText(tr("connecting"))
        self.mark_stale()

    def show_result(self, request: SourceRequest, answer: SourceAnswer) -> None:
        """Show the file, or why there is none."""
        is_other = self.answer is None or self.answer.file != answer.file
        self.answer = answer
        self._fill_files(answer)
        host = answer.text.host if answer.text is not None and answer.text.lines is None else ""
        self.fetch.setText(tr("Fetch from {host}", host=plain(host)))
        self.fetch.setVisible(bool(host) and request.native is None)
        if request.native is not None:
            self.answer = SourceAnswer("", None, answer.times)
            self.note.setText("")
            self.say_missing(why_no_line(request.native))
            return
        if answer.text is None:
            self.say_missing(
                tr(
                    "No source line selected: click one in Details, in the flame graph or in a table of waits. Record "
                    "stacks with --trace osrt,python, or import a framework's trace that contains them."
                )
            )
            return
        where = (
            tr("in the whole capture") if request.selection.start_ns is None else tr("in the selected range")
        )
        if answer.text.lines is None:
            self.say_missing("\n".join((answer.text.problem, "", *self._costly_lines(answer.times))))
        else:
            self.show_content()
            self.code.show_text(answer.text.lines, answer.times.lines)
            if is_other:
                self.code.go_to_line(self._first_line(answer))
        self.note.setText(answer.text.note)
        self.note.setToolTip(plain(f"{answer.text.path}\n{answer.text.note}"))
        self.note.setStyleSheet(f"color: {self.theme.warning};" if answer.text.is_doubtful else "")
        self.set_scope(f"{answer.text.path} · {where}{scope_suffix(self.document.capture, self.state)}")

    def _first_line(self, answer: SourceAnswer) -> int:
        if self._frame.file == answer.file and self._frame.line:
            return self._frame.line
        return max(answer.times.lines.values(), key=_cost).line if answer.times.lines else 1

    @staticmethod
    def _costly_lines(times: SourceTimes) -> list[str]:
        """The costliest lines of a file that cannot be shown."""
        costly = sorted(times.lines.values(), key=_cost, reverse=True)[:_LINES_LISTED]
        return [
            tr(
                "line {line} in {function}: {costs}",
                line=time.line,
                function=time.function,
                costs=line_text(time),
            )
            for time in sorted(costly, key=lambda time: time.line)
        ]

    def _fill_files(self, answer: SourceAnswer) -> None:
        self.files.clear()
        listed = [found.file for found in answer.times.files[:FILES_SHOWN]]
        for file in listed if answer.file in listed or not answer.file else [answer.file, *listed]:
            self.files.addItem(file_name(file), file)
            self.files.setItemData(self.files.count() - 1, plain(file), _TOOLTIP)
        self.files.setCurrentIndex(self.files.findData(answer.file))
        self.files.setEnabled(self.files.count() > 0)
        for button in (self.previous, self.next):
            button.setEnabled(bool(answer.times.lines))

    def _file_chosen(self, index: int) -> None:
        self._frame = StackFrame("", str(self.files.itemData(index)))
        self.mark_stale()

    def step(self, direction: int) -> None:
        """Go to the next (1) or previous (-1) line with time, wrapping around."""
        lines = sorted(self.answer.times.lines) if self.answer is not None else []
        if lines:
            ahead = [line for line in lines[::direction] if (line - self.code.line) * direction > 0]
            self.code.go_to_line(ahead[0] if ahead else lines[::direction][0])

    def _menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(tr("Copy"), self.code.copy)
        copy.setEnabled(self.code.textCursor().hasSelection())
        text = self.answer.text if self.answer is not None else None
        if text is not None:
            place = f"{text.path}:{self.code.line or 1}"
            menu.addAction(tr("Copy path and line"), lambda: QGuiApplication.clipboard().setText(place))
            path = str(text.path)
            editor = menu.addAction(
                tr("Open in default editor"),
                lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(path)),
            )
            # A file of that name on this machine is a different one.
            editor.setEnabled(not far_host(self.document.capture))
        return menu

    def apply_theme(self, theme: Theme) -> None:
        self.code.set_theme(theme)


def why_no_line(frame: StackFrame) -> str:
    """Explains why a native function has no source to show."""
    if frame.module == "kernel":
        return tr(
            "{function} is a kernel function. Only its symbol is known, not a source line. The calling Python lines "
            "are above it in the flame graph; select their file here.",
            function=frame.function or frame.module,
        )
    if not frame.function:
        return tr("{module}: this code does not come from a file", module=frame.module)
    return tr(
        "{function} in {module} is a native function. Only its symbol is known, not a source line. The calling "
        "Python lines are above it in the flame graph; select their file here.",
        function=frame.function,
        module=frame.module,
    )


def _cost(time: LineTime) -> tuple[int, int]:
    return time.waiting_ns, time.running
