"""Commands on rows that queries derived: run a query that somebody else wrote, rename, remove."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline_app.commands.command import Need, WindowCommand
from warpline_app.verbs.timeline_command import if_timeline, timeline_command

if TYPE_CHECKING:
    from warpline.model.derived_rows import DerivedRow
    from warpline_app.timeline.widgets.navigator import Navigator


def _derived(nav: Navigator) -> DerivedRow | None:
    """The derived row that commands act on."""
    from warpline_app.timeline.model.derived_rows import derived_id

    row = nav.focus_row()
    wanted = "" if row is None else derived_id(row.key)
    return next((known for known in nav.state.derived_rows if known.id == wanted), None)


def _is_empty(nav: Navigator) -> bool:
    """Whether the query was not run, or failed."""
    row = _derived(nav)
    return row is not None and bool(nav.document.derived.problem(row))


def _run(nav: Navigator) -> None:
    row = _derived(nav)
    if row is not None:
        nav.document.derived.allow(row.sql)


def _rename(nav: Navigator) -> None:
    row = _derived(nav)
    if row is None:
        return
    title = nav.ask_text(tr("Rename row", "timeline"), tr("Title of the row:", "timeline"), row.title)
    if title is not None and title.strip():
        nav.state.put_derived_row(replace(row, title=title.strip(), changed_ns=time.time_ns()))


def _remove(nav: Navigator) -> None:
    row = _derived(nav)
    if row is not None:
        nav.state.remove_derived_row(row.id)


A_DERIVED_ROW = Need(
    if_timeline(lambda nav: _derived(nav) is not None), "Point at a row that a query derived first"
)
DERIVED_COMMANDS: tuple[WindowCommand, ...] = (
    timeline_command(
        "derived.run",
        "Run the query of this row",
        "View",
        _run,
        needs=(A_DERIVED_ROW, Need(if_timeline(_is_empty), "The query of this row has run")),
        group="derived",
        in_menu=False,
        hint="For a query that somebody else wrote, or that failed; it reads this capture and nothing else",
    ),
    timeline_command(
        "derived.rename",
        "Rename derived row…",
        "View",
        _rename,
        needs=(A_DERIVED_ROW,),
        group="derived",
        in_menu=False,
    ),
    timeline_command(
        "derived.remove",
        "Remove derived row",
        "View",
        _remove,
        needs=(A_DERIVED_ROW,),
        group="derived",
        in_menu=False,
    ),
)
