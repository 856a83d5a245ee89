"""What is done with two captures side by side."""

from __future__ import annotations

from collections.abc import Callable

from warpline_app.commands.command import A_CAPTURE, Need, WindowCommand
from warpline_app.commands.context import CommandContext
from warpline_app.open.comparing import ComparedPair
from warpline_app.state.view_lock import LockMode


def _pair(context: CommandContext) -> ComparedPair | None:
    front = context.workspace.front
    return front if isinstance(front, ComparedPair) else None


A_COMPARISON = Need(lambda context: _pair(context) is not None, "Compare two captures first")


def _compare_with(context: CommandContext) -> None:
    from warpline_app.dialogs.compare_with import show_compare_with

    show_compare_with(context.workspace, context.shell.widget)


def _share(context: CommandContext) -> None:
    from warpline_app.dialogs.share_comparison import show_share_comparison

    if context.navigator is not None:
        show_share_comparison(context.workspace, context.navigator.view, context.shell.widget)


def _swap(context: CommandContext) -> None:
    pair = _pair(context)
    if pair is not None:
        context.workspace.compare(pair.b.source, pair.a.source)


def _show_windows(context: CommandContext) -> None:
    pair = _pair(context)
    if pair is not None:
        pair.show_windows()


def _align(mode: LockMode) -> Callable[[CommandContext], None]:
    def act(context: CommandContext) -> None:
        pair = _pair(context)
        if pair is not None:
            pair.lock.set_mode(mode)

    return act


def _is_aligned(mode: LockMode) -> Callable[[CommandContext], bool]:
    def ask(context: CommandContext) -> bool:
        pair = _pair(context)
        return pair is not None and pair.lock.mode is mode

    return ask


def _can_align(mode: LockMode) -> Callable[[CommandContext], bool]:
    def ask(context: CommandContext) -> bool:
        pair = _pair(context)
        return pair is not None and pair.lock.can(mode)

    return ask


_HAS_STEPS = Need(_can_align(LockMode.STEP), "No steps were recorded in both")
_HAS_MARKS = Need(_can_align(LockMode.MARK), "Set a mark in both first")

COMPARE_COMMANDS: tuple[WindowCommand, ...] = (
    WindowCommand(
        "file.compare_with",
        "Compare With…",
        "File",
        _compare_with,
        ("Ctrl+Shift+D",),
        needs=(A_CAPTURE,),
        group="compare",
        hint="See where the difference to another capture lies",
    ),
    WindowCommand(
        "file.export_comparison",
        "Export Comparison…",
        "File",
        _share,
        needs=(A_COMPARISON,),
        group="compare",
        hint="Write a page or a picture for somebody who has no Warpline",
    ),
    WindowCommand(
        "compare.swap",
        "Swap A and B",
        "Analyze",
        _swap,
        needs=(A_COMPARISON,),
        group="compare",
    ),
    WindowCommand(
        "compare.show",
        "Show What Is Compared",
        "Analyze",
        _show_windows,
        needs=(A_COMPARISON,),
        group="compare",
    ),
    WindowCommand(
        "compare.by_step",
        "Align by Step",
        "Analyze",
        _align(LockMode.STEP),
        needs=(A_COMPARISON, _HAS_STEPS),
        checked=_is_aligned(LockMode.STEP),
        group="compare",
    ),
    WindowCommand(
        "compare.by_mark",
        "Align by Mark",
        "Analyze",
        _align(LockMode.MARK),
        needs=(A_COMPARISON, _HAS_MARKS),
        checked=_is_aligned(LockMode.MARK),
        group="compare",
        hint="The first mark of each, or the first that have the same text, stand under each other",
    ),
    WindowCommand(
        "compare.at_start",
        "Align at the Start",
        "Analyze",
        _align(LockMode.START),
        needs=(A_COMPARISON,),
        checked=_is_aligned(LockMode.START),
        group="compare",
    ),
    WindowCommand(
        "compare.freely",
        "Move Each Alone",
        "Analyze",
        _align(LockMode.FREE),
        needs=(A_COMPARISON,),
        checked=_is_aligned(LockMode.FREE),
        group="compare",
    ),
)
