"""What a user can do: one list of commands, from which menus, toolbar, palette, help sheet, docs and tests are made.

A module that adds verbs exports a tuple of `Command`; `warpline_app.verbs.catalogue` joins the tuples. A command does
its work through the `Context` it is handed, so the list itself needs no window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warpline.i18n import tr
from warpline_app.commands.context import Context


def always(_context: Context) -> bool:
    """The command can be used at any time."""
    return True


def with_capture(context: Context) -> bool:
    """The command can be used while a capture is open."""
    return context.state is not None


@dataclass(frozen=True)
class Command:
    """One verb.

    ``title`` and ``category`` are English and are translated where they are shown (``text``, ``category_text``);
    a title ends in ``…`` when the command asks for more before it acts. ``category`` is the menu: File, View,
    Navigate, Analyze, Help. ``keys`` are portable key sequences (``Ctrl+O``, ``F``, ``Shift+/``), the first one is
    shown in the menu. ``group`` separates: a menu draws a line where it changes from one command to the next.

    With ``held`` the timeline widget watches the keys itself (they act for as long as they are held down) and no
    shortcut is made; menus and help still show them. ``refusal`` says what is missing where the command is greyed
    out for a reason that cannot be seen. With ``checked`` the command is a switch and the function
    tells its position. With ``in_menu`` false it is in palette and help sheet only.
    """

    id: str
    title: str
    category: str
    callback: Callable[[Context], None]
    keys: tuple[str, ...] = ()
    enabled: Callable[[Context], bool] = always
    checked: Callable[[Context], bool] | None = None
    held: bool = False
    group: str = ""
    in_menu: bool = True
    hint: str = ""
    refusal: str = ""

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

    @property
    def refusal_text(self) -> str:
        """Why it cannot be used when it cannot, in the user's language, or nothing."""
        return tr(self.refusal, "command") if self.refusal else ""
