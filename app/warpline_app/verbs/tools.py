"""How a verb of the timeline becomes a command: it acts on the view of the context, if there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from warpline_app.commands.command import Command
from warpline_app.commands.context import Context

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.view import TimelineView

Action = Callable[["TimelineView"], None]
Test = Callable[["TimelineView"], bool]


def on_view(action: Action) -> Callable[[Context], None]:
    """What the command does with its context."""

    def run(context: Context) -> None:
        if context.view is not None:
            action(context.view)

    return run


def if_view(test: Test) -> Callable[[Context], bool]:
    """Whether the command can be used, asked of the view."""

    def ask(context: Context) -> bool:
        return context.view is not None and test(context.view)

    return ask


def always_with_view(_view: TimelineView) -> bool:
    """Whenever a capture is open."""
    return True


def has_selection(view: TimelineView) -> bool:
    """While an event is selected."""
    return view.state.selection is not None


def has_range(view: TimelineView) -> bool:
    """While a range is selected."""
    return view.state.range_selection is not None


def has_row(view: TimelineView) -> bool:
    """While a row is meant."""
    return view.focus_row() is not None


def has_found(view: TimelineView) -> bool:
    """While a search has found something."""
    return len(view.search.found.rows) > 0


def timeline_command(
    command_id: str,
    title: str,
    category: str,
    action: Action,
    keys: tuple[str, ...] = (),
    *,
    enabled: Test = always_with_view,
    checked: Test | None = None,
    held: bool = False,
    group: str = "",
    in_menu: bool = True,
    hint: str = "",
) -> Command:
    """A command on the timeline in front."""
    return Command(
        command_id,
        title,
        category,
        on_view(action),
        keys,
        enabled=if_view(enabled),
        checked=None if checked is None else if_view(checked),
        held=held,
        group=group,
        in_menu=in_menu,
        hint=hint,
    )
