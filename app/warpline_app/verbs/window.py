"""Commands on the window around a timeline: tabs, themes, search, help."""

from __future__ import annotations

from warpline_app.commands.command import A_CAPTURE, Need, WindowCommand
from warpline_app.commands.context import CommandContext
from warpline_app.look.appearance import appearance
from warpline_app.look.theme import THEME_TITLES
from warpline_app.open.alignment import movable_clocks
from warpline_app.verbs.files import shows_errors

_TABS = Need(lambda context: len(context.workspace.items) > 1, "No other tab is open")


def _focus_timeline(context: CommandContext) -> None:
    if context.navigator is not None:
        context.navigator.take_focus()


def _preferences(context: CommandContext) -> None:
    from warpline_app.dialogs.preferences import show_preferences

    show_preferences(context.workspace.settings, context.shell.widget)


def _has_ranks(context: CommandContext) -> bool:
    document = context.workspace.current
    return document is not None and bool(movable_clocks(document.capture))


def _align_ranks(context: CommandContext) -> None:
    from warpline_app.dialogs.align_ranks import show_align_ranks

    show_align_ranks(context.workspace, context.shell.widget)


def _doctor(context: CommandContext) -> None:
    from warpline_app.dialogs.doctor import show_doctor

    show_doctor(context.shell.widget)


@shows_errors
def _documentation(context: CommandContext) -> None:
    from warpline_app.dialogs.documentation import show_documentation

    show_documentation(context.shell.widget)


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


def _theme_command(name: str, title: str) -> WindowCommand:
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
        "Next tab",
        "View",
        lambda context: context.workspace.step(1),
        ("Ctrl+Tab", "Ctrl+PgDown"),
        needs=(_TABS,),
        group="tabs",
    ),
    WindowCommand(
        "view.previous_tab",
        "Previous tab",
        "View",
        lambda context: context.workspace.step(-1),
        ("Ctrl+Shift+Tab", "Ctrl+PgUp"),
        needs=(_TABS,),
        group="tabs",
    ),
    WindowCommand(
        "view.full_screen",
        "Full screen",
        "View",
        lambda context: context.shell.toggle_full_screen(),
        ("F11",),
        checked=lambda context: context.shell.is_full_screen,
        group="appearance",
        words="maximize presentation",
    ),
    WindowCommand(
        "view.critical_path",
        "Show critical path",
        "View",
        _critical_path,
        ("C",),
        needs=(A_CAPTURE,),
        checked=lambda context: context.workspace.settings.shows_critical_path,
        group="appearance",
        hint="A lane above the rows: the chain of work and waits that set the total time",
    ),
    WindowCommand(
        "view.legend",
        "Show thread state legend",
        "View",
        _legend,
        needs=(A_CAPTURE,),
        checked=lambda context: context.workspace.settings.shows_legend,
        group="appearance",
        hint="A strip that explains the colours of thread states; click a state to list its events",
    ),
    *(_theme_command(name, title) for name, title in THEME_TITLES.items()),
    WindowCommand(
        "view.preferences",
        "Preferences…",
        "View",
        _preferences,
        ("Ctrl+,",),
        group="preferences",
        words="settings options font size language colours",
    ),
    WindowCommand(
        "navigate.search",
        "Search",
        "Navigate",
        lambda context: context.shell.focus_search(),
        ("Ctrl+F", "/"),
        needs=(A_CAPTURE,),
        group="search",
        words="find",
    ),
    WindowCommand(
        "navigate.timeline",
        "Focus timeline",
        "Navigate",
        _focus_timeline,
        ("Ctrl+T",),
        needs=(A_CAPTURE,),
        group="search",
        hint="Move keyboard focus to the timeline",
    ),
    WindowCommand(
        "analyze.align_ranks",
        "Align ranks…",
        "Analyze",
        _align_ranks,
        needs=(A_CAPTURE, Need(_has_ranks, "All tracks of this capture share one clock")),
        group="ranks",
        hint="Shift the clock of a rank against the others, without importing again",
    ),
    WindowCommand(
        "help.palette",
        "Command palette…",
        "Help",
        lambda context: context.shell.show_palette(),
        ("Ctrl+Shift+P",),
    ),
    WindowCommand(
        "help.keys",
        "Keyboard shortcuts",
        "Help",
        lambda context: context.shell.show_keys(),
        ("?", "F1"),
        words="hotkeys bindings",
    ),
    WindowCommand(
        "help.tour",
        "Tour",
        "Help",
        lambda context: context.shell.show_tour(),
        hint="Five steps through the window, on the capture in front or on a recording of the demo",
        words="introduction tutorial first steps",
    ),
    WindowCommand(
        "help.documentation",
        "Documentation",
        "Help",
        _documentation,
        hint="Read the documentation; no network is needed",
        words="manual docs guide tutorial",
    ),
    WindowCommand(
        "help.doctor",
        "Check what can be recorded…",
        "Help",
        _doctor,
        group="about",
        hint="What Warpline can record on this machine, and how to enable the rest",
    ),
    WindowCommand("help.about", "About Warpline", "Help", _about, group="about"),
)
