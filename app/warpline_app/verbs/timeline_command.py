"""Commands that act on the timeline in front, through the navigator of the context."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from warpline_app.commands.command import A_CAPTURE, Motion, Need, WindowCommand
from warpline_app.commands.context import CommandContext

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.navigator import Navigator

Action = Callable[["Navigator"], None]
Test = Callable[["Navigator"], bool]


def on_timeline(action: Action) -> Callable[[CommandContext], None]:
    """The callback of a command: calls the action with the navigator."""

    def act(context: CommandContext) -> None:
        if context.navigator is not None:
            action(context.navigator)

    return act


def if_timeline(test: Test) -> Callable[[CommandContext], bool]:
    """A test on the timeline in front; False when there is none."""

    def ask(context: CommandContext) -> bool:
        return context.navigator is not None and test(context.navigator)

    return ask


A_SELECTION = Need(if_timeline(lambda nav: nav.state.selection is not None), "Select an event first")
A_RANGE = Need(if_timeline(lambda nav: nav.state.range_selection is not None), "Select a time range first")
A_ROW = Need(if_timeline(lambda nav: nav.focus_row() is not None), "Point at a row first")
A_FIND = Need(if_timeline(lambda nav: len(nav.search.result.rows) > 0), "There are no search results")
A_NOTE = Need(if_timeline(lambda nav: bool(nav.state.notes)), "There are no notes or marks")


def timeline_command(
    command_id: str,
    title: str,
    category: str,
    action: Action,
    keys: tuple[str, ...] = (),
    *,
    needs: tuple[Need, ...] = (),
    checked: Test | None = None,
    motion: Motion | None = None,
    group: str = "",
    in_menu: bool = True,
    hint: str = "",
    words: str = "",
    title_now: Callable[[Navigator], str] | None = None,
) -> WindowCommand:
    """A command on the timeline in front: `WindowCommand` with an open capture as its first need."""

    def exact_title(context: CommandContext) -> str:
        return title_now(context.navigator) if title_now is not None and context.navigator is not None else ""

    return WindowCommand(
        command_id,
        title,
        category,
        on_timeline(action),
        keys,
        needs=(A_CAPTURE, *needs),
        checked=None if checked is None else if_timeline(checked),
        motion=motion,
        group=group,
        in_menu=in_menu,
        hint=hint,
        words=words,
        title_now=exact_title if title_now is not None else None,
    )
