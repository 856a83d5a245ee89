"""Commands: the single list that menus, toolbar, palette, help sheet, docs and tests are built from.

A verb module exports a tuple of `WindowCommand`; `warpline_app.verbs.catalogue` joins them. A command acts through the
`CommandContext` passed to it, so the list itself needs no window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from warpline.i18n import tr
from warpline_app.commands.context import CommandContext

Motion = Literal["in", "out", "left", "right"]


@dataclass(frozen=True)
class Need:
    """A condition for running a command, and the reason shown when it fails (English, translated for display)."""

    is_met: Callable[[CommandContext], bool]
    refusal: str


A_CAPTURE = Need(lambda context: context.workspace.current is not None, "Open a capture first")


@dataclass(frozen=True)
class WindowCommand:
    """One command.

    ``title`` and ``category`` are English; ``text`` and ``category_text`` translate them. A title ends in ``…`` when
    the command asks for input first. ``category`` is the menu: File, View, Navigate, Analyze, Help. ``keys`` are
    portable key sequences (``Ctrl+O``, ``F``, ``Shift+/``); menus show the first. Menus draw a separator where
    ``group`` changes.

    The first unmet condition in ``needs`` disables the command and gives the reason. A command with ``checked`` is a
    switch; the function returns its position. With ``in_menu`` False it appears only in the palette and the help sheet.

    The keys of a command with ``motion`` act for as long as they are held: the timeline in front moves by itself.
    ``callback`` is a single step, for menus and the palette. Such keys get no shortcut.

    ``words`` are other words that people search for (``bookmark``); English, translated for the search.

    ``title_now`` gives a more exact title for menus (``Undo zoom``), in the user's language; empty for the usual one.
    """

    id: str
    title: str
    category: str
    callback: Callable[[CommandContext], None]
    keys: tuple[str, ...] = ()
    _: KW_ONLY
    needs: tuple[Need, ...] = ()
    checked: Callable[[CommandContext], bool] | None = None
    motion: Motion | None = None
    group: str = ""
    in_menu: bool = True
    hint: str = ""
    words: str = ""
    title_now: Callable[[CommandContext], str] | None = None

    @property
    def checkable(self) -> bool:
        """Whether it is a switch."""
        return self.checked is not None

    @property
    def text(self) -> str:
        """The title in the user's language."""
        return tr(self.title, "command")

    @property
    def category_text(self) -> str:
        """The menu's name in the user's language."""
        return tr(self.category, "command")

    @property
    def hint_text(self) -> str:
        """The hint in the user's language, or an empty text."""
        return tr(self.hint, "command") if self.hint else ""

    @property
    def words_text(self) -> str:
        """Other words for the search, in English and in the user's language."""
        return f"{self.words} {tr(self.words, 'command')}" if self.words else ""

    def refusal(self, context: CommandContext) -> str | None:
        """Why the command cannot run now, in the user's language; None when it can."""
        missing = next((need for need in self.needs if not need.is_met(context)), None)
        return None if missing is None else tr(missing.refusal, "command")


def run(command: WindowCommand, context: CommandContext, *, is_held: bool = False) -> bool:
    """Run a command, whatever invoked it; False when it cannot run now, and then the status line says why.

    ``is_held`` is for a key that acts for as long as it is held down.
    """
    refusal = command.refusal(context)
    if refusal is not None:
        context.workspace.tell(tr("{command}: {reason}", command=command.text.rstrip("…"), reason=refusal))
        return False
    context.workspace.tell("")
    if is_held and command.motion is not None and context.navigator is not None:
        context.navigator.hold(command.motion)
    else:
        command.callback(context)
    return True
