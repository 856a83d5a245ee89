"""Questions to the capture in SQL: an editor, and the rows of the answer beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QDialog,
    QInputDialog,
    QMenu,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr, tr_n
from warpline.model.derived_rows import DerivedRow
from warpline.model.errors import UsageError, WarplineError
from warpline.query.kept_rows import content_of
from warpline.query.session import QueryError, QueryResult, QuerySession, TableInfo
from warpline.query.watched_run import run_query
from warpline.storage.columns.derived_events import DerivedContent
from warpline.storage.notes_file import MAX_ROWS
from warpline_app.look.native_keys import native_keys
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import flat_column, muted_label
from warpline_app.look.wrapping_row import WrappingRow
from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.room import LEAST_TABLE_PX, SideBySide
from warpline_app.panels.query.editor import SqlEditor
from warpline_app.panels.query.examples import ExampleList
from warpline_app.panels.query.result_view import ResultView
from warpline_app.panels.query.row_dialog import RowDialog
from warpline_app.timeline.model.derived_rows import KEY

MOST_ROWS = 100_000
"""Rows that the table shows."""
_TICK_MS = 100
_LEAST_EDITOR_PX = 260
_MENU_CHARACTERS = 70
_TITLE_CHARACTERS = 40


class QueryPanel(Panel):
    """An editor with completion, history and saved queries, and the result. The query process stays running."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self._session: QuerySession | None = None
        self._path = ""
        self._shown = ""
        """The query whose result is shown."""
        self._job: Job | None = None
        self._begun = 0.0
        self._is_waiting = False
        """A query was asked before the process was ready."""
        self.run_button = QPushButton(tr("Run"))
        self.run_button.setObjectName("primary")
        self.run_button.setToolTip(plain(native_keys(tr("Run the query (Ctrl+Return)"))))
        self.run_button.clicked.connect(self.run)
        self.cancel_button = QPushButton(tr("Cancel"))
        self.cancel_button.setToolTip(tr("Stop the query (Esc)"))
        self.cancel_button.clicked.connect(self.cancel)
        self.cancel_button.hide()
        self.examples_button = self._choice(tr("Examples"), self._fill_examples)
        self.history_button = self._choice(tr("History"), self._fill_history)
        self.saved_button = self._choice(tr("Saved"), self._fill_saved)
        self.chart_button = self._choice(tr("Chart"))
        self.chart_button.setCheckable(True)
        self.chart_button.setToolTip(tr("Show two columns as a chart"))
        self.chart_button.toggled.connect(self._show_chart)
        self.row_button = self._choice(tr("Show as row…"))
        self.row_button.setToolTip(
            plain(
                tr(
                    "Show the result as a row of the timeline: events (id), times (ts, dur) or values (ts, value)"
                )
            )
        )
        self.row_button.clicked.connect(self.ask_row)
        self.row_button.setEnabled(False)
        self.progress = muted_label()
        row = WrappingRow()
        for widget in (
            self.run_button, self.cancel_button, self.examples_button, self.history_button, self.saved_button,
            self.chart_button, self.row_button, self.progress,
        ):  # fmt: skip
            row.add(widget, is_stretching=widget is self.progress)
        self.editor = SqlEditor(self.theme, self._names)
        self.editor.run_wanted.connect(self.run)
        self.editor.cancel_wanted.connect(self.cancel)
        self.problem = PlainLabel()
        self.problem.setObjectName("problem")
        self.problem.setWordWrap(True)
        self.problem.setContentsMargins(10, 4, 10, 6)
        self.problem.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.problem.hide()
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.editor, 1)
        column.addWidget(self.problem)
        self.examples = ExampleList()
        self.examples.chosen.connect(self.ask)
        self.answer = ResultView(self)
        self.right = QStackedWidget()
        self.right.addWidget(self.examples)
        self.right.addWidget(self.answer)
        split = SideBySide(left, self.right, shares=(40, 60), least_px=(_LEAST_EDITOR_PX, LEAST_TABLE_PX))
        layout = flat_column(self)
        layout.addLayout(row)
        layout.addWidget(split, 1)
        self.setFocusProxy(self.editor)
        self._clock = QTimer(self)
        self._clock.setInterval(_TICK_MS)
        self._clock.timeout.connect(self._tell_progress)
        self.state.origin_changed.connect(self.answer.show_origin)
        self._show_running(False)

    @staticmethod
    def _choice(title: str, fill: Callable[[QMenu], None] | None = None) -> QToolButton:
        button = QToolButton()
        button.setObjectName("choice")
        button.setText(title if fill is None else f"{title} ▾")
        button.setAccessibleName(title)
        if fill is not None:
            menu = QMenu(button)
            menu.setToolTipsVisible(True)
            menu.aboutToShow.connect(menu.clear)
            menu.aboutToShow.connect(partial(fill, menu))
            button.setMenu(menu)
            button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button

    @property
    def is_busy(self) -> bool:
        """Whether a query runs, or the query process is starting."""
        return self._job is not None

    def refresh(self) -> None:
        """Start the query process when the panel is first shown."""
        if not self.editor.tables and self._job is None:
            self._launch(lambda session, _is_cancelled: session.schema(), self._show_tables)

    # Running

    def ask(self, sql: str) -> None:
        """Put a query into the editor and run it."""
        self.editor.set_sql(sql)
        self.run()

    def run(self) -> None:
        """Run the query in the editor."""
        if not self.editor.sql.strip():
            self._fail(tr("Type a query first, or choose one of the examples"))
            return
        if self._clock.isActive():
            return
        self.document.queries.add(self.editor.sql.strip())
        self._fail("")
        if self._job is None:
            self._run_now()
        else:  # the process is starting
            self._is_waiting = True
            self._show_running(True)

    def cancel(self) -> None:
        """Stop the query that runs."""
        if self._is_waiting:
            self._is_waiting = False
            self._show_running(False)
            self._fail(tr("Stopped"))
        elif self._job is not None and self._clock.isActive():
            self._job.cancel()

    def _run_now(self) -> None:
        sql = self.editor.sql

        def work(session: QuerySession, is_cancelled: Callable[[], bool]) -> QueryResult:
            return run_query(session, sql, MOST_ROWS, is_cancelled)

        self._launch(work, lambda result: self._show_result(result, sql))
        self._show_running(self._job is not None)

    def _launch(
        self, work: Callable[[QuerySession, Callable[[], bool]], Any], done: Callable[[Any], None]
    ) -> None:
        """Run a job in the query process; the panel is busy until it ends."""
        try:
            session = self._session_now()
        except WarplineError as error:
            self._fail(str(error))
            return
        job = Job(lambda _progress, is_cancelled: work(session, is_cancelled), self)
        self._job = job
        job.succeeded.connect(lambda result: self._ended(partial(done, result)))
        job.failed.connect(lambda error: self._ended(partial(self._show_failure, error)))
        job.cancelled.connect(lambda: self._ended(partial(self._fail, tr("Stopped"))))
        job.launch()

    def _ended(self, then: Callable[[], None]) -> None:
        """Show the outcome of a job, then run a query that was waiting for the process to start."""
        self._job = None
        self._show_running(False)
        then()
        if self._is_waiting:
            self._is_waiting = False
            self._run_now()

    def _session_now(self) -> QuerySession:
        """The query process for the capture's file. Raises WarplineError without DuckDB."""
        if self.document.live_edge is not None:
            raise WarplineError(tr("Queries are answered once the recording has ended"))
        path = self.document.capture.path
        if self._session is None or self._path != str(path):
            if self._session is not None:
                self._session.close()
            self._session = QuerySession([path])
            self._path = str(path)
            # Not a method of this object, which is gone by then.
            self.destroyed.connect(self._session.cancel)
            self.destroyed.connect(self._session.close)
        return self._session

    # Showing

    def _show_running(self, on: bool) -> None:
        self.run_button.setVisible(not on)
        self.cancel_button.setVisible(on)
        self.editor.is_running = on
        if on:
            self._begun = time.monotonic()
            self._clock.start()
            self._tell_progress()
        else:
            self._clock.stop()
            self.progress.setText("")

    def _tell_progress(self) -> None:
        self.progress.setText(tr("running … {seconds:.1f} s", seconds=time.monotonic() - self._begun))

    def _show_tables(self, tables: Sequence[TableInfo]) -> None:
        self.editor.tables = tables

    def _show_result(self, result: QueryResult, sql: str) -> None:
        self.right.setCurrentWidget(self.answer)
        self.answer.show_result(result, sql, self.editor.tables)
        self._shown = sql
        self.row_button.setEnabled(True)
        count = tr_n("{count:,} row", "{count:,} rows", len(result))
        if result.has_more:
            count = tr("the first {count:,} rows; select fewer, or count them", count=len(result))
        self.set_scope(f"{count} · {tr('{ms:,.0f} ms', ms=result.seconds * 1000)}")

    def ask_row(self) -> QDialog | None:
        """Ask for the title and colour of a row that shows the result; None where it cannot."""
        result, capture = self.answer.result, self.document.capture
        if result is None:
            return None
        try:
            if len(self.state.derived_rows) >= MAX_ROWS:
                raise UsageError(
                    tr("a capture has at most {most} derived rows; remove one first", most=MAX_ROWS)
                )
            content = content_of(result, self._shown, self.editor.tables, capture)
        except WarplineError as error:
            self._fail(str(error))
            return None
        dialog = RowDialog(_one_line(self._shown, _TITLE_CHARACTERS), self)
        dialog.chosen.connect(partial(self._show_as_row, self._shown, None if result.has_more else content))
        dialog.open()
        return dialog

    def _show_as_row(self, sql: str, content: DerivedContent | None, title: str, color: str) -> None:
        row = DerivedRow(title=title, sql=sql, color=color)
        self.document.derived.show(row, content)
        self.state.reveal_row(KEY + row.id)

    def _show_failure(self, error: Exception) -> None:
        self._fail(str(error))
        if isinstance(error, QueryError):
            self.editor.mark(error.line, error.column)

    def _fail(self, text: str) -> None:
        """Say under the editor what is wrong; nothing with an empty text."""
        self.editor.mark(None, None)
        self.problem.setText(text)
        self.problem.setVisible(bool(text))

    def _show_chart(self, on: bool) -> None:
        self.answer.show_chart(on)
        if on and self.answer.result is not None:
            self.right.setCurrentWidget(self.answer)

    def _names(self, text: str, most: int) -> list[str]:
        """Names of events that contain a text."""
        strings = self.document.capture.strings
        return [strings[int(index)] for index in strings.find(text)[:most]]

    # Menus

    def _fill_examples(self, menu: QMenu) -> None:
        for text, sql, is_enabled in self.examples.entries():
            action = menu.addAction(text, partial(self.ask, sql))
            action.setEnabled(is_enabled)

    def _fill_history(self, menu: QMenu) -> None:
        asked = self.document.queries.asked
        for sql in asked:
            menu.addAction(_menu_text(sql), partial(self.editor.set_sql, sql)).setToolTip(plain(sql))
        if not asked:
            menu.addAction(tr("No queries yet")).setEnabled(False)
            return
        menu.addSeparator()
        menu.addAction(tr("Clear history"), self.document.queries.clear_asked)

    def _fill_saved(self, menu: QMenu) -> None:
        saved = self.document.queries.saved
        for name, sql in saved.items():
            menu.addAction(_menu_text(name), partial(self.editor.set_sql, sql)).setToolTip(plain(sql))
        if saved:
            menu.addSeparator()
        menu.addAction(tr("Save this query…"), self.ask_name).setEnabled(bool(self.editor.sql.strip()))
        if saved:
            below = menu.addMenu(tr("Delete"))
            for name in saved:
                below.addAction(_menu_text(name), partial(self.document.queries.forget, name))

    def ask_name(self) -> QInputDialog:
        """Ask for a name and save the query under it."""
        sql = self.editor.sql
        dialog = QInputDialog(self)
        dialog.setWindowTitle(tr("Save query"))
        dialog.setLabelText(tr("Name of the query"))
        dialog.textValueSelected.connect(
            lambda name: self.document.queries.save(name.strip(), sql) if name.strip() else None
        )
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
        return dialog

    def apply_theme(self, theme: Theme) -> None:
        self.editor.set_theme(theme)
        self.answer.set_theme(theme)


def _one_line(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _menu_text(text: str) -> str:
    """The text of a menu entry, in which ampersands stand for themselves."""
    return _one_line(text, _MENU_CHARACTERS).replace("&", "&&")
