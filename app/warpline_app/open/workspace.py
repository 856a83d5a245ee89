"""The workspace: open items, the one in front, activities and messages, without widgets.

Commands and dialogs act on it; the window shows it and reports what the user does to its tabs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from warpline.library.opening import SPOOL_SUFFIX, Opened
from warpline_app.open.activity import Activity
from warpline_app.open.alignment import ClockShifts, load_shifts, save_shifts, with_shifts
from warpline_app.open.comparing import ComparedFiles, ComparedPair, Comparing, compare_job
from warpline_app.open.document import Document
from warpline_app.open.job.board import JobBoard
from warpline_app.open.job.opening import JobOpening
from warpline_app.open.live_document import LiveDocument
from warpline_app.open.messages import MessageList
from warpline_app.open.opening import Opening, open_job, problem_of
from warpline_app.remembered.dismissals import Dismissals
from warpline_app.remembered.hints import HintCount
from warpline_app.remembered.queries import RememberedQueries
from warpline_app.remembered.saved_layout import LayoutStore
from warpline_app.remembered.settings import Settings

if TYPE_CHECKING:
    from warpline.library.jobs import TrainingJob
    from warpline.storage import Capture

Item = Document | Activity | ComparedPair | JobBoard
"""An item with a tab: a capture, two compared captures, the ranks of a job, or an activity that becomes one of
these.
"""


class Workspace(QObject):
    """Owns the documents and activities of one window, with one signal per field."""

    item_added = Signal(object)
    """an Item, now the last"""
    item_replaced = Signal(object, object)
    """an Item, and the one that replaces it"""
    item_removed = Signal(object)
    """an Item"""
    front_changed = Signal(object)
    """the Item in front, or None"""
    current_changed = Signal(object)
    """the Document in front, or None"""
    document_opened = Signal(object)
    """a Document opened from a file"""
    document_leaving = Signal(object)
    """a Document that no view may show any more: its file may be closed right after"""
    open_failed = Signal(object)
    """an OpenProblem"""
    activities_changed = Signal()
    """An activity started or ended."""
    told = Signal(str)
    """a sentence for the status line, such as why a command cannot run"""

    def __init__(
        self,
        settings: Settings | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.settings: Settings = settings or Settings()
        self.layouts = LayoutStore(self.settings)
        self.messages = MessageList(self)
        self._items: list[Item] = []
        self._front: Item | None = None
        self._current: Document | None = None
        self._activities: list[Activity] = []

    # -- what is open ---------------------------------------------------------------------------------------

    @property
    def items(self) -> tuple[Item, ...]:
        """All items, in the order of their tabs."""
        return tuple(self._items)

    @property
    def documents(self) -> tuple[Document, ...]:
        """The open captures, in the order of their tabs."""
        return tuple(item for item in self._items if isinstance(item, Document))

    @property
    def front(self) -> Item | None:
        """The item in front; None while nothing is open."""
        return self._front

    @property
    def current(self) -> Document | None:
        """The capture in front, or the active one of two compared captures; else None."""
        return self._current

    @property
    def activities(self) -> tuple[Activity, ...]:
        """Running activities: files being opened, exports, recordings."""
        return tuple(self._activities)

    @property
    def is_opening(self) -> bool:
        """Whether a file is being opened."""
        return any(isinstance(activity, Opening) for activity in self._activities)

    def document_of(self, source: Path) -> Document | None:
        """The open capture of a file the user opened."""
        return next((document for document in self.documents if document.source == source), None)

    def bring_to_front(self, item: Item) -> None:
        """Bring an item to the front. Raises ValueError when it is not open."""
        if item not in self._items:
            raise ValueError(f"not open: {item.title}")
        self._set_front(item)

    def step(self, by: int) -> None:
        """Move some items forward in tab order, wrapping around."""
        if self._front is not None:
            at = self._items.index(self._front)
            self._set_front(self._items[(at + by) % len(self._items)])

    def move(self, start: int, stop: int) -> None:
        """Move an item in the list; emits nothing, because the tabs have moved already."""
        self._items.insert(stop, self._items.pop(start))

    def tell(self, text: str) -> None:
        """Show a text in the status line; an empty text clears it."""
        self.told.emit(text)

    # -- opening --------------------------------------------------------------------------------------------

    def open_files(self, paths: list[Path]) -> None:
        """Open several files."""
        for path in paths:
            self.open_file(path)

    def open_file(self, path: Path, console_text: str = "", *, was_stopped: bool = False) -> Opening | None:
        """Open a file in the background, or a folder of ranks as a job. Returns None if it is open already: it comes to
        the front.

        Of a recording that has just ended, ``console_text`` is the program's output; ``was_stopped`` if the user ended
        the program.
        """
        path = path.absolute()
        known = self.document_of(path)
        if known is not None and not console_text:
            self._set_front(known)
            return None
        if path.is_dir() and path.suffix != SPOOL_SUFFIX:
            return self.open_ranks([path], is_surely_job=False)
        opening = Opening(path, open_job(path, self), console_text, self)
        opening.was_stopped = was_stopped
        self.watch_opening(opening)
        return opening

    def open_location(self, location: str) -> Opening:
        """Fetch a file from another machine (``ssh://HOST/PATH``) in the background, and open it."""
        from warpline_app.open.location import location_opening

        opening = location_opening(location, self)
        self.watch_opening(opening)
        return opening

    def open_ranks(
        self, paths: Sequence[Path], *, is_surely_job: bool = True, scheduler: str | None = None
    ) -> JobOpening | None:
        """Open the ranks in folders and files as a job, in the background; None if it is open already.

        ``scheduler`` is the address of a Dask scheduler whose workers compute the ranks; None computes them on this
        computer. With ``is_surely_job`` False, a folder without ranks is opened like any other.
        """
        wanted = tuple(path.absolute() for path in paths)
        known = next(
            (item for item in self._items if isinstance(item, JobBoard) and item.paths == wanted), None
        )
        if known is not None:
            self._set_front(known)
            return None
        opening = JobOpening(
            wanted,
            is_surely_job=is_surely_job,
            scheduler=scheduler,
            parent=self,
        )
        job = opening.opening_job
        job.succeeded.connect(lambda result: self._ranks_opened(opening, result))
        job.failed.connect(lambda error: self._failed(opening, error))
        self.begin(opening, has_tab=True)
        return opening

    def _ranks_opened(self, opening: JobOpening, result: TrainingJob | Opened) -> None:
        if isinstance(result, Opened):
            self._opened(opening, result)
        elif opening in self._items:
            if len(opening.paths) == 1:
                self.settings.add_recent_file(opening.paths[0])
            self._replace(opening, JobBoard(result, opening.paths, self.settings, self))

    def watch_opening(self, opening: Opening) -> None:
        """Start an opening; its capture will replace it."""
        job = opening.opening_job
        job.succeeded.connect(lambda opened: self._opened(opening, opened))
        job.failed.connect(lambda error: self._failed(opening, error))
        self.begin(opening, has_tab=True)

    def compare(self, a: Path, b: Path) -> Comparing:
        """Compare two files in a tab; ``a`` is the earlier one."""
        a, b = a.absolute(), b.absolute()
        comparing = Comparing(a, b, compare_job(a, b, self), self)
        job = comparing.opening_job
        job.succeeded.connect(lambda files: self._compared(comparing, files))
        job.failed.connect(lambda error: self._failed(comparing, error))
        self.begin(comparing, has_tab=True)
        return comparing

    def _compared(self, comparing: Comparing, files: ComparedFiles) -> None:
        if comparing not in self._items:
            files.close()
            return
        pair = ComparedPair(files, self)
        for document in pair.documents:
            document.messages = self.messages.of(pair)
            self.settings.add_recent_file(document.source)
        pair.active_changed.connect(lambda _document: self.follow_front())
        self._replace(comparing, pair)

    def show(self, document: Document) -> None:
        """Show a capture that is open already; the workspace closes it."""
        document.messages = self.messages.of(document)
        self._add(document)

    def _opened(self, opening: Opening, opened: Opened) -> None:
        if opening not in self._items:
            opened.capture.close()
            return
        shifts = load_shifts(opened.capture, self.settings)
        capture = with_shifts(opened.capture, shifts.shifts) if shifts.shifts else opened.capture
        document = self._document(capture, opening.document_title or opened.source.name, opened.source)
        document.alignment, document.console_text = shifts, opening.console_text
        document.was_stopped = opening.was_stopped
        if not (opening.document_title or opening.location):
            self.settings.add_recent_file(opened.source)
        self._replace(opening, document)
        self.document_opened.emit(document)

    def _failed(self, opening: Opening, error: Exception) -> None:
        if opening not in self._items:
            return
        problem = problem_of(opening.path, error)
        self._remove(opening)
        self.messages.show(problem.text, "error", problem.details)
        self.open_failed.emit(problem)

    def _document(self, capture: Capture, title: str, source: Path) -> Document:
        document = Document(capture, title, self, source=source)
        document.messages = self.messages.of(document)
        self.layouts.load(capture.uuid, document.state)
        self._furnish(document)
        return document

    def _furnish(self, document: Document) -> None:
        """Give a document what is remembered of its capture; notes made before stay."""
        capture, made = document.capture, document.state.notes
        document.dismissals = Dismissals(self.settings, capture.uuid, document)
        document.hints = HintCount(self.settings)
        document.queries = RememberedQueries(self.settings, document)
        for explored in (document.state.selection_changed, document.state.gap_changed):
            explored.connect(document.hints.count_use)
        document.derived.remember_in(self.settings)
        # Loaded with the first capture, not with the window.
        from warpline_app.open.kept_notes import KeptNotes

        document.notes = KeptNotes(
            document.source, capture.uuid, document.state, self.settings, document.messages, document
        )
        document.derived.ask_for_foreign(document.messages)
        if made:
            with document.state.unrecorded():
                document.state.set_notes((*document.state.notes, *made))

    def _save(self, document: Document) -> None:
        self.layouts.save(document.capture.uuid, document.state)
        if document.notes is not None:
            document.notes.write_now()

    def settle(self, activity: Activity, path: Path) -> None:
        """Show the finished capture of a recording under the view of its live document, in place of its tab."""
        job = open_job(path, self)
        job.succeeded.connect(lambda opened: self._settled(activity, opened))
        job.failed.connect(lambda error: self._not_settled(activity, path, error))
        job.launch()

    def _settled(self, activity: Activity, opened: Opened) -> None:
        document = activity.document
        if activity not in self._items or not isinstance(document, LiveDocument):
            opened.capture.close()
            return
        document.finish(opened.capture, opened.source.name, opened.source)
        document.messages = self.messages.of(document)
        self._furnish(document)
        document.tell_finished()
        self.settings.add_recent_file(opened.source)
        if activity.asks_before_closing:  # the program outlives its recording
            self._add(document)
            activity.let_go()
        else:
            self._replace(activity, document)
            activity.let_go()
            activity.ended.emit()
        self.document_opened.emit(document)

    def _not_settled(self, activity: Activity, path: Path, error: Exception) -> None:
        if activity in self._items:
            self._remove(activity)
            problem = problem_of(path, error)
            self.messages.show(problem.text, "error", problem.details)
            self.open_failed.emit(problem)

    def realign(self, document: Document, shifts: ClockShifts) -> Document:
        """Show a document's file with shifted clocks, without importing again, and save the shifts.

        View and selection are kept. Returns the document that replaces the former one.
        """
        save_shifts(document.capture, shifts.shifts, self.settings)
        self._save(document)
        made = self._document(with_shifts(document.capture, shifts.shifts), document.title, document.source)
        made.alignment, made.console_text = shifts, document.console_text
        made.state.take_over(document.state)
        self._replace(document, made)
        self.document_leaving.emit(document)
        return made

    # -- activities -----------------------------------------------------------------------------------------

    def begin(self, activity: Activity, *, has_tab: bool = False) -> None:
        """Launch an activity and list it until it ends."""
        self._activities.append(activity)
        activity.ended.connect(lambda: self._ended(activity))
        if has_tab:
            self._add(activity)
        self.activities_changed.emit()
        activity.launch()

    def _ended(self, activity: Activity) -> None:
        # A cancelled activity ends after its thread does; its tab is gone by then.
        if activity in self._items and not isinstance(activity, Opening):
            self._remove(activity)
        self._forget(activity)

    def _forget(self, activity: Activity) -> None:
        if activity in self._activities:
            self._activities.remove(activity)
            self.activities_changed.emit()
        if isinstance(activity, Opening):
            # A child of the workspace would live as long as the window: thousands in a week.
            activity.deleteLater()

    # -- closing --------------------------------------------------------------------------------------------

    def close(self, item: Item) -> None:
        """Close a capture, or stop an activity; a recording closes when it has ended."""
        if isinstance(item, Document):
            self._remove(item)
            self._save(item)
            self.document_leaving.emit(item)
            item.close()
        elif isinstance(item, ComparedPair):
            self._remove(item)
            item.close()
        elif isinstance(item, JobBoard):
            self._remove(item)
            item.deleteLater()
        elif item.close_tab():
            self._remove(item)

    def close_all(self) -> None:
        """Close everything except recordings of this window, which continue on their own."""
        for activity in self.activities:
            if not activity.asks_before_closing:
                activity.close_tab()
        for item in self.items:
            if not (isinstance(item, Activity) and item.asks_before_closing):
                self.close(item)

    # -- the list -------------------------------------------------------------------------------------------

    def _add(self, item: Item) -> None:
        self._items.append(item)
        self.item_added.emit(item)
        self._set_front(item)

    def _replace(self, old: Item, new: Item) -> None:
        self._items[self._items.index(old)] = new
        self.messages.pass_on(old, new)
        if isinstance(old, Activity):
            self._forget(old)
        self.item_replaced.emit(old, new)
        if self._front is old:
            self._set_front(new)

    def _remove(self, item: Item) -> None:
        at = self._items.index(item)
        del self._items[at]
        self.messages.drop(item)
        if isinstance(item, Activity):
            self._forget(item)
        self.item_removed.emit(item)
        live = item.document if isinstance(item, Activity) else None
        if self._front is item:
            # Its right neighbour, else the last item.
            self._set_front(self._items[min(at, len(self._items) - 1)] if self._items else None)
        if live is not None:
            self.document_leaving.emit(live)
            live.close()

    def _set_front(self, item: Item | None) -> None:
        if item is self._front:
            return
        self._front = item
        self.messages.bring_to_front(item)
        self.front_changed.emit(item)
        self.follow_front()

    def follow_front(self) -> None:
        """Update the current document: the one in front, the active one of a pair, or a running recording's."""
        front = self._front
        current = (
            front.active
            if isinstance(front, ComparedPair)
            else front
            if isinstance(front, Document)
            else front.document
            if isinstance(front, Activity)
            else None
        )
        if current is not self._current:
            self._current = current
            self.current_changed.emit(current)
