"""What a user can do: one list of commands, from which menus, toolbar, palette, help sheet, docs and tests are made.

A module that adds verbs exports a tuple of `WindowCommand`; `warpline_app.verbs.catalogue` joins the tuples. A command
does its work through the `CommandContext` it is handed, so the list itself needs no window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from warpline.frozen import frozen
from warpline.i18n import tr
from warpline_app.commands.context import CommandContext

Motion = Literal["in", "out", "left", "right"]


@frozen
class Need:
    """What must be so for a command to run, and what is said when it is not (English, translated where shown)."""

    is_met: Callable[[CommandContext], bool]
    refusal: str


A_CAPTURE = Need(lambda context: context.workspace.current is not None, "Open a capture first")


@frozen
class WindowCommand:
    """One verb.

    ``title`` and ``category`` are English and are translated where they are shown (``text``, ``category_text``);
    a title ends in ``…`` when the command asks for more before it acts. ``category`` is the menu: File, View,
    Navigate, Analyze, Help. ``keys`` are portable key sequences (``Ctrl+O``, ``F``, ``Shift+/``), the first one is
    shown in the menu. ``group`` separates: a menu draws a line where it changes from one command to the next.

    ``needs`` are asked in their order; the first that is not met is the reason why the command is greyed out, and is
    said when it is asked for all the same. With ``checked`` the command is a switch and the function tells its
    position. With ``in_menu`` false it is in palette and help sheet only.

    With ``motion`` the keys act for as long as they are held down: the timeline in front moves by itself then, and
    ``callback`` is one step of it, for menus and the palette. No shortcut is made of such keys.
    """

    id: str
    title: str
    category: str
    callback: Callable[[CommandContext], None]
    keys: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    checked: Callable[[CommandContext], bool] | None = None
    motion: Motion | None = None
    group: str = ""
    in_menu: bool = True
    hint: str = ""

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
        """One sentence more about it in the user's language, or nothing."""
        return tr(self.hint, "command") if self.hint else ""

    def refusal(self, context: CommandContext) -> str | None:
        """Why it cannot be used now, in the user's language; None when it can."""
        missing = next((need for need in self.needs if not need.is_met(context)), None)
        return None if missing is None else tr(missing.refusal, "command")


def run(command: WindowCommand, context: CommandContext, *, is_held: bool = False) -> bool:
    """The one way in which a command runs, whatever asked for it; False when it cannot be used now.

    Then the reason is told in the workspace, which the status line shows. With ``is_held`` a key was pressed that
    acts for as long as it is down.
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
