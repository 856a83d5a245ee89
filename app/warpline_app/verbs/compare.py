"""Commands on two captures compared in one tab."""

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


def _with_pair(action: Callable[[ComparedPair], object]) -> Callable[[CommandContext], None]:
    def run(context: CommandContext) -> None:
        pair = _pair(context)
        if pair is not None:
            action(pair)

    return run


def _if_pair(test: Callable[[ComparedPair], bool]) -> Callable[[CommandContext], bool]:
    def ask(context: CommandContext) -> bool:
        pair = _pair(context)
        return pair is not None and test(pair)

    return ask


def _align_command(
    command_id: str, title: str, mode: LockMode, *needs: Need, hint: str = ""
) -> WindowCommand:
    """A switch that aligns the two timelines in a certain way."""
    return WindowCommand(
        command_id,
        title,
        "Analyze",
        _with_pair(lambda pair: pair.lock.set_mode(mode)),
        needs=(A_COMPARISON, *needs),
        checked=_if_pair(lambda pair: pair.lock.mode is mode),
        group="compare",
        hint=hint,
    )


_HAS_STEPS = Need(_if_pair(lambda pair: pair.lock.can(LockMode.STEP)), "Both captures need recorded steps")
_HAS_MARKS = Need(_if_pair(lambda pair: pair.lock.can(LockMode.MARK)), "Set a mark in both captures first")

COMPARE_COMMANDS: tuple[WindowCommand, ...] = (
    WindowCommand(
        "file.compare_with",
        "Compare with…",
        "File",
        _compare_with,
        ("Ctrl+Shift+D",),
        needs=(A_CAPTURE,),
        group="compare",
        hint="Show where this capture differs from another",
        words="diff difference",
    ),
    WindowCommand(
        "file.export_comparison",
        "Export comparison…",
        "File",
        _share,
        needs=(A_COMPARISON,),
        group="compare",
        hint="Write a web page or a picture for people without Warpline",
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
        "Show compared ranges",
        "Analyze",
        _with_pair(lambda pair: pair.show_windows()),
        needs=(A_COMPARISON,),
        group="compare",
    ),
    _align_command("compare.by_step", "Align by step", LockMode.STEP, _HAS_STEPS),
    _align_command(
        "compare.by_mark",
        "Align by mark",
        LockMode.MARK,
        _HAS_MARKS,
        hint="Align the first marks with the same text, or the first mark of each",
    ),
    _align_command("compare.at_start", "Align at start", LockMode.START),
    _align_command("compare.freely", "Scroll independently", LockMode.FREE),
)
