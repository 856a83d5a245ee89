"""What the window can do around a timeline: tabs, themes, search, help."""

from __future__ import annotations

from warpline_app.commands.command import A_CAPTURE, Need, WindowCommand
from warpline_app.commands.context import CommandContext
from warpline_app.look.appearance import appearance
from warpline_app.open.alignment import movable_clocks
from warpline_app.remembered.settings import ThemeChoice

_THEMES: tuple[tuple[ThemeChoice, str], ...] = (
    ("system", "Follow the system"),
    ("light", "Light"),
    ("dark", "Dark"),
    ("contrast", "High contrast, dark"),
    ("contrast-light", "High contrast, light"),
)


_TABS = Need(lambda context: len(context.workspace.items) > 1, "There is no other tab")


def _full_screen(context: CommandContext) -> None:
    context.shell.toggle_full_screen()


def _search(context: CommandContext) -> None:
    context.shell.focus_search()


def _focus_timeline(context: CommandContext) -> None:
    if context.navigator is not None:
        context.navigator.take_focus()


def _preferences(context: CommandContext) -> None:
    from warpline_app.dialogs.preferences import show_preferences

    show_preferences(context.workspace.settings, context.shell.widget)


def _palette(context: CommandContext) -> None:
    context.shell.show_palette()


def _has_ranks(context: CommandContext) -> bool:
    document = context.workspace.current
    return document is not None and bool(movable_clocks(document.capture))


def _align_ranks(context: CommandContext) -> None:
    from warpline_app.dialogs.align_ranks import show_align_ranks

    show_align_ranks(context.workspace, context.shell.widget)


def _help_sheet(context: CommandContext) -> None:
    context.shell.show_keys()


def _doctor(context: CommandContext) -> None:
    from warpline_app.dialogs.doctor import show_doctor

    show_doctor(context.shell.widget)


def _about(context: CommandContext) -> None:
    from warpline_app.dialogs.about import show_about

    show_about(context.shell.widget)


def _legend(context: CommandContext) -> None:
    settings = context.workspace.settings
    settings.shows_legend = not settings.shows_legend
    if context.navigator is not None:
        context.navigator.view.legend.set_wanted(settings.shows_legend)


def _critical_path(context: CommandContext) -> None:
    settings = context.workspace.settings
    settings.shows_critical_path = not settings.shows_critical_path
    if context.navigator is not None:
        context.navigator.view.path.set_wanted(settings.shows_critical_path)


def _theme_command(name: ThemeChoice, title: str) -> WindowCommand:
    def choose(context: CommandContext) -> None:
        appearance().choose(name)
        context.workspace.settings.theme = name

    return WindowCommand(
        f"theme.{name}",
        f"Theme: {title}",
        "View",
        choose,
        checked=lambda _context: appearance().choice == name,
        in_menu=False,
    )


WINDOW_COMMANDS: tuple[WindowCommand, ...] = (
    WindowCommand(
        "view.next_tab",
        "Next Tab",
        "View",
        lambda context: context.workspace.step(1),
        ("Ctrl+Tab", "Ctrl+PgDown"),
        needs=(_TABS,),
        group="tabs",
    ),
    WindowCommand(
        "view.previous_tab",
        "Previous Tab",
        "View",
        lambda context: context.workspace.step(-1),
        ("Ctrl+Shift+Tab", "Ctrl+PgUp"),
        needs=(_TABS,),
        group="tabs",
    ),
    WindowCommand(
        "view.full_screen",
        "Full Screen",
        "View",
        _full_screen,
        ("F11",),
        checked=lambda context: context.shell.is_full_screen,
        group="appearance",
    ),
    WindowCommand(
        "view.critical_path",
        "Critical Path",
        "View",
        _critical_path,
        ("C",),
        needs=(A_CAPTURE,),
        checked=lambda context: context.workspace.settings.shows_critical_path,
        group="appearance",
        hint="A lane above the rows: what took the time, back from its end through whoever was waited for",
    ),
    WindowCommand(
        "view.legend",
        "Legend of Thread States",
        "View",
        _legend,
        needs=(A_CAPTURE,),
        checked=lambda context: context.workspace.settings.shows_legend,
        group="appearance",
        hint="The strip that tells what the colours of running and waiting threads mean; a click lists such waits",
    ),
    *(_theme_command(name, title) for name, title in _THEMES),
    WindowCommand("view.preferences", "Preferences…", "View", _preferences, ("Ctrl+,",), group="preferences"),
    WindowCommand(
        "navigate.search",
        "Search",
        "Navigate",
        _search,
        ("Ctrl+F", "/"),
        needs=(A_CAPTURE,),
        group="search",
    ),
    WindowCommand(
        "navigate.timeline",
        "Go to the Timeline",
        "Navigate",
        _focus_timeline,
        ("Ctrl+T",),
        needs=(A_CAPTURE,),
        group="search",
        hint="Give the keyboard back to the timeline",
    ),
    WindowCommand(
        "analyze.align_ranks",
        "Align Ranks…",
        "Analyze",
        _align_ranks,
        needs=(A_CAPTURE, Need(_has_ranks, "All tracks of this capture have one clock")),
        group="ranks",
        hint="Move the clock of a rank against the others; nothing is imported again",
    ),
    WindowCommand("help.palette", "Command Palette…", "Help", _palette, ("Ctrl+Shift+P",)),
    WindowCommand("help.keys", "Keys", "Help", _help_sheet, ("?", "F1")),
    WindowCommand(
        "help.doctor",
        "What Can Be Recorded Here…",
        "Help",
        _doctor,
        group="about",
        hint="What this machine lets Warpline record, and the remedy where it does not",
    ),
    WindowCommand("help.about", "About Warpline", "Help", _about, group="about"),
)
