"""The registry of commands. A command is loaded when it is used; ``--help`` needs only this list."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpline import plugins
from warpline.cli.command import Command
from warpline.extras import install_command
from warpline.i18n import english, tr, translated
from warpline.model.errors import UsageError, WarplineError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "warpline.commands"


@dataclass(frozen=True)
class CommandEntry:
    """A command before it is loaded. Without a module, it comes from the entry point of the same name."""

    name: str
    help: str
    module: str | None = None


def _own(name: str, text: str) -> CommandEntry:
    return CommandEntry(name, text, f"warpline.cli.{name}")


BUILTIN: tuple[CommandEntry, ...] = (
    CommandEntry(
        "view", english("open captures in the window; the default when files are given without a command")
    ),
    _own("record", english("run a program and record what it does")),
    _own("attach", english("record a program that is already running")),
    _own("control", english("pause, resume or stop a recording, or show its state")),
    _own("live", english("watch a running recording in the window")),
    _own("top", english("show in the terminal what the threads and GPUs of a recording do")),
    _own("recover", english("turn the spool of a killed recorder into a capture")),
    CommandEntry("import", english("turn another profiler's files into a capture"), "warpline.cli.import_"),
    _own("export", english("write a capture, or a part of it, in another format")),
    _own("info", english("show what a capture contains and what was not recorded")),
    _own("stats", english("reports: kernels, copies, API calls, ranges, ...")),
    _own("query", english("ask a capture anything in SQL")),
    _own("check", english("find out what the hardware waited for, and why")),
    _own("compare", english("show what differs between two captures")),
    _own("job", english("analyse the ranks of a training job together")),
    _own("mcp", english("let an assistant ask about captures (Model Context Protocol)")),
    CommandEntry("render", english("render the timeline as a picture, without a display")),
    CommandEntry("serve", english("show the timeline in a browser, read only")),
    _own("doctor", english("show what this machine can record, and how to enable the rest")),
    _own("demo", english("record the bundled example")),
)
"""In the order of ``warpline --help``."""


def entry_points() -> dict[str, EntryPoint]:
    """Commands that installed distributions register, by name. They never replace a command of ``BUILTIN``."""
    return {point.name: point for point in plugins.entry_points(ENTRY_POINT_GROUP)}


def names() -> list[str]:
    """All command names, built-in ones first."""
    builtin = [entry.name for entry in BUILTIN]
    return builtin + sorted(entry_points().keys() - set(builtin))


def load(name: str) -> Command:
    """The command of that name.

    Raises UsageError when there is none, WarplineError when it cannot be loaded.
    """
    entry = next((entry for entry in BUILTIN if entry.name == name), None)
    if entry is not None and entry.module is not None:
        return _from_module(entry.name, entry.module)
    point = entry_points().get(name)
    if point is not None:
        return _from_entry_point(point)
    if entry is not None:
        raise WarplineError(
            tr(
                "the window is not part of this installation; install it with: {command}",
                command=install_command("gui"),
            )
        )
    raise UsageError(tr("no command {name!r}; warpline --help lists them", name=name))


def _from_module(name: str, module_name: str) -> Command:
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        raise WarplineError(
            tr(
                "this version of Warpline has no command {name!r}; warpline --help lists the others",
                name=name,
            )
        ) from error
    return plugins.checked(getattr(module, "command", None), Command)


def _from_entry_point(point: EntryPoint) -> Command:
    plugin = plugins.load_plugin(point, Command)
    if plugin.value is not None:
        return plugin.value
    # `main` explains a package or system library that is missing.
    if isinstance(plugin.error, ImportError) and plugin.error.name not in _parents(point.module):
        raise plugin.error
    raise WarplineError(translated(plugin.problem)) from plugin.error


def _parents(module_name: str) -> set[str]:
    parts = module_name.split(".")
    return {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
