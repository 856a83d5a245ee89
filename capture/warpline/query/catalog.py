"""Everything that SQL can name in one capture, each made when a query first names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from warpline.model import NotRecordedError
from warpline.query.definitions import REPORT, Definition, TableView
from warpline.query.dialects import nsys, perfetto
from warpline.query.event_views import EventViews, view_name
from warpline.query.macros import MACROS
from warpline.query.raw_tables import Keys
from warpline.query.small_tables import SmallTables

if TYPE_CHECKING:
    from warpline.query.analysis_tables import AnalysisTables
    from warpline.storage import Capture


class Catalog:
    """Views of a capture by their names in lower case. `schema` is where they are in SQL."""

    def __init__(self, capture: Capture, schema: str, keys: Keys) -> None:
        self.capture = capture
        self.schema = schema
        self._events = EventViews(capture, keys)
        self._small = SmallTables(capture, keys)
        self._keys = keys
        self._views: dict[str, TableView] = {}

    @cached_property
    def _analysis(self) -> AnalysisTables:
        # Imported late: most queries need no analysis, and it takes as long to import as DuckDB.
        from warpline.query.analysis_tables import AnalysisTables

        return AnalysisTables(self.capture, self._keys)

    def _computed(self, name: str) -> TableView:
        found: TableView = getattr(self._analysis, name)()
        return found

    @cached_property
    def makers(self) -> Mapping[str, Callable[[], TableView]]:
        """What makes each view over raw tables."""
        small = self._small
        found: dict[str, Callable[[], TableView]] = {
            "events": self._events.events,
            "strings": self._events.strings,
            **{name: partial(self._computed, name) for name in ("launches", "busy", "device_busy")},
            **{
                name: getattr(small, name)
                for name in (
                    "links", "tracks", "processes", "threads", "devices", "streams", "counters", "counter_samples",
                    "stacks", "sources", "kinds", "meta",
                )
            },
        }  # fmt: skip
        for kind in self.capture.kinds:
            found.setdefault(view_name(kind).casefold(), partial(self._events.kind, kind))
        return found

    @cached_property
    def definitions(self) -> Mapping[str, Definition]:
        """Views and macros over these views."""
        found = list(MACROS)
        states = self.capture.kinds.get("thread_state")
        if states is not None and "wait" in states.attributes:
            found.append(
                Definition(
                    "waits",
                    "thread states with a known reason for waiting",
                    "CREATE OR REPLACE VIEW {s}.waits AS SELECT * FROM {s}.thread_state WHERE wait IS NOT NULL",
                    ("thread_state",),
                )
            )
        if self.schema == "main":
            found += [*perfetto(self.capture), *nsys(self.capture)]
        return {definition.name.casefold(): definition for definition in found}

    @property
    def names(self) -> list[str]:
        """Everything that a query can name."""
        return [*self.makers, *self.definitions]

    def views(self) -> dict[str, TableView]:
        """Every view over raw tables, without what analysis finds nothing of."""
        found = {}
        for name in self.makers:
            try:
                found[name] = self.view(name)
            except NotRecordedError:
                continue
        return found

    def has_view(self, name: str) -> bool:
        """Whether a view over raw tables has that name, in lower case."""
        return name in self.makers or name.startswith(REPORT)

    def has_table(self, name: str) -> bool:
        """Whether a table of that name, in lower case, has rows of this capture; asks analysis where it must."""
        if name in self.definitions:
            definition = self.definitions[name]
            return not (definition.call or definition.schema)
        try:
            return self.has_view(name) and bool(self.view(name))
        except NotRecordedError:
            return False

    def view(self, name: str) -> TableView:
        """A view over raw tables. Raises NotRecordedError for what analysis finds nothing of."""
        if name not in self._views:
            is_report = name.startswith(REPORT)
            self._views[name] = (
                self._analysis.report(name.removeprefix(REPORT)) if is_report else self.makers[name]()
            )
        return self._views[name]
