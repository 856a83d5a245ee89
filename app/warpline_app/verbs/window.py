"""What the window itself can do: files, tabs, panels, themes, help."""

from __future__ import annotations

from warpline_app.commands.command import Command, with_capture
from warpline_app.commands.context import Context
from warpline_app.look.appearance import appearance
from warpline_app.panels.frame.panel_spec import PanelSpec
from warpline_app.panels.frame.registry import all_panels
from warpline_app.session.alignment import movable_clocks
from warpline_app.session.settings import ThemeChoice

_THEMES: tuple[tuple[ThemeChoice, str], ...] = (
    ("system", "Follow the system"),
    ("light", "Light"),
    ("dark", "Dark"),
    ("contrast", "High contrast, dark"),
    ("contrast-light", "High contrast, light"),
)


def _open(context: Context) -> None:
    from warpline_app.dialogs.open_files import show_open_files

    show_open_files(context.workspace, context.shell.widget)


def _new_capture(context: Context) -> None:
    from warpline_app.dialogs.new_capture import show_new_capture

    show_new_capture(context.workspace, context.shell.widget)


def _join_ranks(context: Context) -> None:
    from warpline_app.dialogs.join_ranks import show_join_ranks

    show_join_ranks(context.workspace, context.shell.widget)


def _export(context: Context) -> None:
    from warpline_app.dialogs.export import show_export

    if context.view is not None:
        show_export(context.workspace, context.view, context.shell.widget)


def _new_window(context: Context) -> None:
    context.shell.open_window()


def _close_tab(context: Context) -> None:
    if context.workspace.front is not None:
        context.workspace.close(context.workspace.front)
    else:
        context.shell.close_window()


def _quit(context: Context) -> None:
    context.shell.close_all_windows()


def _has_tabs(context: Context) -> bool:
    return len(context.workspace.items) > 1


def _full_screen(context: Context) -> None:
    context.shell.toggle_full_screen()


def _search(context: Context) -> None:
    context.shell.focus_search()


def _focus_timeline(context: Context) -> None:
    if context.view is not None:
        context.view.setFocus()


def _preferences(context: Context) -> None:
    from warpline_app.dialogs.preferences import show_preferences

    show_preferences(context.workspace.settings, context.shell.widget)


def _palette(context: Context) -> None:
    from warpline_app.dialogs.palette import show_palette

    show_palette(context.shell.commands, context.shell.widget, context.shell.focus_front)


def _has_ranks(context: Context) -> bool:
    document = context.workspace.current
    return document is not None and bool(movable_clocks(document.capture))


def _align_ranks(context: Context) -> None:
    from warpline_app.dialogs.align_ranks import show_align_ranks

    show_align_ranks(context.workspace, context.shell.widget)


def _help_sheet(context: Context) -> None:
    from warpline_app.dialogs.help_sheet import show_help_sheet

    show_help_sheet(context.shell.commands.commands.values(), context.shell.widget)


def _doctor(context: Context) -> None:
    from warpline_app.dialogs.doctor import show_doctor

    show_doctor(context.shell.widget)


def _about(context: Context) -> None:
    from warpline_app.dialogs.about import show_about

    show_about(context.shell.widget)


def _theme_command(name: ThemeChoice, title: str) -> Command:
    def choose(context: Context) -> None:
        appearance().choose(name)
        context.workspace.settings.theme = name

    return Command(
        f"theme.{name}",
        f"Theme: {title}",
        "View",
        choose,
        checked=lambda _context: appearance().choice == name,
        in_menu=False,
    )


def _panel_command(spec: PanelSpec) -> Command:
    return Command(
        f"panel.{spec.id}",
        f"Panel: {spec.title}",
        "View",
        lambda context: context.shell.panels.toggle_panel(spec.id),
        spec.keys,
        enabled=with_capture,
        checked=lambda context: context.shell.panels.is_shown(spec.id),
        group="panels",
    )


FILE_COMMANDS: tuple[Command, ...] = (
    Command(
        "file.open", "Open…", "File", _open, ("Ctrl+O",), hint="Open captures or traces of other profilers"
    ),
    Command(
        "file.join_ranks",
        "Join Ranks…",
        "File",
        _join_ranks,
        hint="Make one capture of the traces of several ranks of a job",
    ),
    Command(
        "file.new_capture",
        "New Capture…",
        "File",
        _new_capture,
        ("Ctrl+N",),
        hint="Run a program and record what it does",
    ),
    Command(
        "file.export",
        "Export…",
        "File",
        _export,
        ("Ctrl+E",),
        enabled=with_capture,
        group="export",
        hint="Write the capture, or a part of it, in another format",
    ),
    Command("file.new_window", "New Window", "File", _new_window, ("Ctrl+Shift+N",), group="window"),
    Command("file.close", "Close Tab", "File", _close_tab, ("Ctrl+W",), group="window"),
    Command("file.quit", "Quit", "File", _quit, ("Ctrl+Q",), group="quit"),
)
WINDOW_COMMANDS: tuple[Command, ...] = (
    *(_panel_command(spec) for spec in all_panels()),
    Command(
        "view.next_tab",
        "Next Tab",
        "View",
        lambda context: context.workspace.step(1),
        ("Ctrl+Tab", "Ctrl+PgDown"),
        enabled=_has_tabs,
        group="tabs",
    ),
    Command(
        "view.previous_tab",
        "Previous Tab",
        "View",
        lambda context: context.workspace.step(-1),
        ("Ctrl+Shift+Tab", "Ctrl+PgUp"),
        enabled=_has_tabs,
        group="tabs",
    ),
    Command(
        "view.full_screen",
        "Full Screen",
        "View",
        _full_screen,
        ("F11",),
        checked=lambda context: context.shell.is_full_screen,
        group="appearance",
    ),
    *(_theme_command(name, title) for name, title in _THEMES),
    Command("view.preferences", "Preferences…", "View", _preferences, ("Ctrl+,",), group="preferences"),
    Command(
        "navigate.search",
        "Search",
        "Navigate",
        _search,
        ("Ctrl+F", "/"),
        enabled=with_capture,
        group="search",
    ),
    Command(
        "navigate.timeline",
        "Go to the Timeline",
        "Navigate",
        _focus_timeline,
        ("Ctrl+T",),
        enabled=with_capture,
        group="search",
        hint="Give the keyboard back to the timeline",
    ),
    Command(
        "analyze.align_ranks",
        "Align Ranks…",
        "Analyze",
        _align_ranks,
        enabled=_has_ranks,
        group="ranks",
        hint="Move the clock of a rank against the others; nothing is imported again",
        refusal="All tracks of this capture have one clock",
    ),
    Command("help.palette", "Command Palette…", "Help", _palette, ("Ctrl+Shift+P",)),
    Command("help.keys", "Keys", "Help", _help_sheet, ("?", "F1")),
    Command(
        "help.doctor",
        "What Can Be Recorded Here…",
        "Help",
        _doctor,
        group="about",
        hint="Each source: available, or why not and the remedy",
    ),
    Command("help.about", "About Warpline", "Help", _about, group="about"),
)
