"""The source of what ran or waited: the file as it is on disk, with the time of each line beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QComboBox, QMenu, QToolButton, QWidget

from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.line_times import LineTime, SourceTimes, source_times
from warpline.i18n import tr
from warpline.model.frames import StackFrame
from warpline.model.progress import IsCancelled
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.theme import Theme
from warpline_app.open.document import Document
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.scope import scope_suffix, selection_of
from warpline_app.panels.source.reading import SourceText, read_source
from warpline_app.panels.source.view import CodeView, line_text

FILES_SHOWN = 60
_TOOLTIP = Qt.ItemDataRole.ToolTipRole
_LINES_TOLD = 12


@dataclass(frozen=True)
class SourceRequest:
    """Which file (empty: the one that costs most), about what."""

    file: str
    selection: Selection
    native: StackFrame | None = None
    """The native function that was asked for, which has no line."""


@dataclass(frozen=True)
class SourceAnswer:
    """A file and what is known of it; ``file`` is empty where no stack names one."""

    file: str
    text: SourceText | None
    times: SourceTimes


class SourcePanel(ComputedPanel):
    """Shows the line somebody clicked anywhere; the range selection tells whose time stands beside the lines."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self._frame = StackFrame("")
        self.answer: SourceAnswer | None = None
        self.files = QComboBox()
        self.files.setAccessibleName(tr("File"))
        self.files.setToolTip(
            tr("Files of sampled and waiting stacks, the program's own and the costly ones first")
        )
        self.files.setMinimumWidth(220)
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
        self.arrange((self.files, self.previous, self.next, self.note), self.code)
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.track_selection_changed.connect(self.mark_stale)

    @staticmethod
    def _button(text: str, tip: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        return button

    def show_source(self, frame: StackFrame) -> None:
        """Show a line."""
        same = self.answer is not None and self.answer.file == frame.file
        self._frame = frame
        if same:
            self.code.go_to_line(frame.line)
        self.mark_stale()

    def request(self) -> SourceRequest:
        """The file that was asked for, and whose time counts."""
        chosen = selection_of(self.document.capture, self.state)
        native = self._frame if self._frame.is_native else None
        return SourceRequest(self._frame.file, replace(chosen, names=None), native)

    def compute(self, request: SourceRequest, is_cancelled: IsCancelled) -> SourceAnswer:
        """Read the file and add up its lines."""
        capture = self.document.capture
        view = View(capture, request.selection, is_cancelled)
        times = source_times(view, request.file)
        file = request.file
        if not file and times.files:
            file = times.files[0].file
            times = source_times(view, file)
        return SourceAnswer(file, read_source(capture, file) if file else None, times)

    def show_result(self, request: SourceRequest, answer: SourceAnswer) -> None:
        """Show the file, or say why there is none."""
        is_other = self.answer is None or self.answer.file != answer.file
        self.answer = answer
        self._fill_files(answer)
        if request.native is not None:
            self.answer = SourceAnswer("", None, answer.times)
            self.note.setText("")
            self.say_missing(why_no_line(request.native))
            return
        if answer.text is None:
            self.say_missing(
                tr(
                    "No line is known: click one in Details, in the flame graph or in a table of waits. Stacks come "
                    "with --trace osrt,python, or with a framework's trace that was made with stacks."
                )
            )
            return
        where = (
            tr("in the whole capture") if request.selection.start_ns is None else tr("in the selected range")
        )
        if answer.text.lines is None:
            self.say_missing("\n".join((answer.text.problem, "", *self._lines_told(answer.times))))
        else:
            self.show_content()
            self.code.show_text(answer.text.lines, answer.times.lines)
            if is_other:
                self.code.go_to_line(self._line_wanted(answer))
        self.note.setText(answer.text.note)
        self.note.setToolTip(f"{answer.text.path}\n{answer.text.note}")
        self.note.setStyleSheet(f"color: {self.theme.warning};" if answer.text.is_doubtful else "")
        self.set_scope(f"{answer.text.path} · {where}{scope_suffix(self.document.capture, self.state)}")

    def _line_wanted(self, answer: SourceAnswer) -> int:
        if self._frame.file == answer.file and self._frame.line:
            return self._frame.line
        return max(answer.times.lines.values(), key=_cost).line if answer.times.lines else 1

    @staticmethod
    def _lines_told(times: SourceTimes) -> list[str]:
        """What is known of the lines of a file that is not there."""
        costly = sorted(times.lines.values(), key=_cost, reverse=True)[:_LINES_TOLD]
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
        known = [found.file for found in answer.times.files[:FILES_SHOWN]]
        for file in known if answer.file in known or not answer.file else [answer.file, *known]:
            self.files.addItem(file.replace("\\", "/").rpartition("/")[2], file)
            self.files.setItemData(self.files.count() - 1, file, _TOOLTIP)
        self.files.setCurrentIndex(self.files.findData(answer.file))
        self.files.setEnabled(self.files.count() > 0)
        for button in (self.previous, self.next):
            button.setEnabled(bool(answer.times.lines))

    def _file_chosen(self, index: int) -> None:
        self._frame = StackFrame("", str(self.files.itemData(index)))
        self.mark_stale()

    def step(self, direction: int) -> None:
        """Go to the next (1) or previous (-1) line that cost something, round the ends."""
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
            menu.addAction(
                tr("Open with the desktop's editor"),
                lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(path)),
            )
        return menu

    def apply_theme(self, theme: Theme) -> None:
        """The gutter keeps colours."""
        self.code.set_theme(theme)


def why_no_line(frame: StackFrame) -> str:
    """What is known of a native function, and why its source cannot be shown."""
    if frame.module == "kernel":
        return tr(
            "{function}: a function of the kernel, known by its symbol, which names no line of a source. The lines of "
            "Python that led there are above it in the flame graph; choose their file here.",
            function=frame.function or frame.module,
        )
    if not frame.function:
        return tr("{module}: this code is in no file, so there is nothing to show", module=frame.module)
    return tr(
        "{function}, a function of {module}: native functions are known by the symbols of their file, which name no "
        "line of a source. The lines of Python that led there are above it in the flame graph; choose their file here.",
        function=frame.function,
        module=frame.module,
    )


def _cost(time: LineTime) -> tuple[int, int]:
    return time.waiting_ns, time.running
