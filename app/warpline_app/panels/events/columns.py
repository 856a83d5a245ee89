"""Columns of the event table: time, duration, name, track; for a single kind also its attributes and context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.kernel_names import short_kernel_name
from warpline.i18n import tr, translated
from warpline.model.times import format_duration, format_time
from warpline_app.look.theme import Theme
from warpline_app.panels.events.query import capture_starts
from warpline_app.panels.facts.attribute_facts import attribute_text
from warpline_app.panels.facts.event_context import context_columns
from warpline_app.panels.frame.scope import track_title
from warpline_app.panels.table.content import TableColumn, frame_of, text_ranks
from warpline_app.timeline.draw.name_colors import NameColors

if TYPE_CHECKING:
    from warpline.storage import Capture


_SHOWN_FIRST = {name: place for place, name in enumerate(("reason", "wait", "place", "object"))}
"""Attributes shown first; the others follow in the capture's order."""
_PLACES = frozenset(("place", "holder_place"))
"""Attributes that name source locations."""


def event_columns(capture: Capture, kind: str, origin_ns: int, theme: Theme) -> list[TableColumn]:
    """Start, duration, name, kind and track; for a single kind also its attributes."""
    events = capture.events

    def start(row: int) -> int:
        return capture.event_span(row)[0]

    def track_text(row: int) -> str:
        return track_title(capture, capture.track_of_row(row))

    def short_name(row: int) -> str:
        return short_kernel_name(shown_name(row)) if int(events.kind[row]) == kernel else shown_name(row)

    def shown_name(row: int) -> str:
        name = capture.strings[int(events.name[row])]
        return translated(name) if int(events.kind[row]) == state else name

    def names() -> tuple[npt.NDArray[Any], list[str]]:
        texts = list(capture.strings.all())
        if state >= 0:
            for code in np.unique(events.name[capture.kinds["thread_state"].index_rows]).tolist():
                texts[code] = translated(texts[code])
        return events.name, texts

    def kinds() -> tuple[npt.NDArray[Any], list[str]]:
        return events.kind, [titles.get(code, "") for code in range(max(titles, default=0) + 1)]

    def tracks() -> tuple[npt.NDArray[Any], list[str]]:
        return track_values(), [track_title(capture, index) for index in range(len(capture.tracks))]

    kernel, state = (
        capture.kinds[kind].code if kind in capture.kinds else -1 for kind in ("kernel", "thread_state")
    )

    def name_values() -> npt.NDArray[Any]:
        return text_ranks(capture.strings.all())[np.minimum(events.name, max(0, len(capture.strings) - 1))]

    def track_values() -> npt.NDArray[Any]:
        return np.repeat(capture.lanes.track, capture.lanes.count)

    colors = NameColors(capture, theme)
    titles = {table.code: translated(table.spec.title) for table in capture.kinds.values()}
    columns = [
        TableColumn(
            tr("Start"),
            lambda row: format_time(start(row) - origin_ns),
            sort_values=lambda: capture_starts(capture),
            raw=lambda row: str(start(row) - capture.span[0]),
            is_number=True,
            width=130,
            description=tr("Time since the start of the capture; copied in nanoseconds"),
            key="start",
            origin=origin_ns,
        ),
        TableColumn(
            tr("Duration"),
            lambda row: format_duration(int(events.duration[row])),
            sort_values=lambda: events.duration,
            raw=lambda row: str(int(events.duration[row])),
            is_number=True,
            width=100,
            description=tr("Copied in nanoseconds"),
            key="duration",
        ),
        TableColumn(
            tr("Name"),
            short_name,
            sort_values=name_values,
            raw=lambda row: capture.strings[int(events.name[row])],
            color=colors.of_event,
            width=380,
            stretches=not kind,
            tooltip=shown_name,
            key="name",
            choices=names,
        ),
    ]
    if not kind:
        columns.append(
            TableColumn(
                tr("Kind"),
                lambda row: titles.get(int(events.kind[row]), ""),
                sort_values=lambda: events.kind,
                width=130,
                key="kind",
                choices=kinds,
            )
        )
    columns.append(
        TableColumn(
            tr("Track"),
            track_text,
            sort_values=track_values,
            raw=lambda row: capture.tracks[capture.track_of_row(row)].uri,
            width=210,
            tooltip=lambda row: capture.tracks[capture.track_of_row(row)].uri,
            key="track",
            choices=tracks,
        )
    )
    if kind not in capture.kinds:
        return columns
    return columns + context_columns(capture, kind) + _attribute_columns(capture, kind)


def _attribute_columns(capture: Capture, kind: str) -> list[TableColumn]:
    table = capture.kinds[kind]
    columns: list[TableColumn] = []
    for spec in sorted(
        table.spec.attributes, key=lambda spec: _SHOWN_FIRST.get(spec.name, len(_SHOWN_FIRST))
    ):
        values, valid = table.column(spec.name)
        # A column without values would only show dashes.
        if spec.dtype == "stack" or not np.any(valid):
            continue
        is_number = spec.dtype != "string" and not spec.enum

        def value_of(row: int, values: Any = values, valid: Any = valid) -> Any:
            place = table.place_of(row)
            return values[place].item() if place >= 0 and valid[place] else None

        def text(row: int, spec: Any = spec, value_of: Any = value_of) -> str:
            value = value_of(row)
            return "–" if value is None else attribute_text(capture, spec, value).partition("  (")[0]

        def raw(row: int, spec: Any = spec, value_of: Any = value_of) -> str:
            value = value_of(row)
            if value is None:
                return ""
            return attribute_text(capture, spec, value) if spec.dtype == "string" or spec.enum else str(value)

        def choices(
            spec: Any = spec, values: Any = values, valid: Any = valid
        ) -> tuple[npt.NDArray[Any], list[str]]:
            whole = np.full(len(capture.events), -1, np.int64)
            whole[table.index_rows] = np.where(valid, values, -1)
            if spec.dtype == "string":
                return whole, capture.strings.all()
            highest = max((int(code) for code in spec.enum), default=-1)
            return whole, [attribute_text(capture, spec, code) for code in range(highest + 1)]

        def sort_values(spec: Any = spec, values: Any = values, valid: Any = valid) -> npt.NDArray[Any]:
            known = values
            if spec.dtype == "string":
                ranks = text_ranks(capture.strings.all())
                known = ranks[np.minimum(values, max(0, len(capture.strings) - 1))]
            whole = np.full(len(capture.events), np.nan)
            whole[table.index_rows] = np.where(valid, known, np.nan)
            return whole

        unit = (
            f" ({translated(spec.unit)})" if spec.unit and spec.unit not in {"ns", "bytes", "ratio"} else ""
        )
        columns.append(
            TableColumn(
                translated(spec.title) + unit,
                text,
                sort_values=sort_values,
                raw=raw,
                is_number=is_number,
                width=120,
                tooltip=None if is_number else text,
                key=f"{kind}.{spec.name}",
                choices=None if is_number else choices,
                frame=frame_of(text) if spec.name in _PLACES else None,
            )
        )
    return columns
