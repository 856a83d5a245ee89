"""Settings of a recording of a running program: from the dialog to the command line of ``warpline attach``."""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from warpline.cli.limits import long_time_ns
from warpline.i18n import tr
from warpline.model.errors import UsageError
from warpline.platform.folders import home_folder
from warpline.recording.sources.registry import asked_sources, choices
from warpline.recording.sources.source import Choice
from warpline_app.look.files_there import is_folder, is_there, typed_path


@dataclass(frozen=True, kw_only=True)
class AttachRequest:
    """A process and what to record of it. ``duration`` is a time with its unit, empty until the program ends."""

    pid: int
    name: str
    command: str
    trace: tuple[str, ...]
    duration: str = ""
    output: str = ""

    ends_program = False
    """The program was running before, and runs on."""
    where = ""

    @property
    def command_text(self) -> str:
        """The program's command line, to be shown."""
        return self.command

    @property
    def folder(self) -> Path:
        """The recorder's working directory."""
        return home_folder()

    @property
    def additions(self) -> dict[str, str]:
        """No variables: the program has its environment already."""
        return {}

    @property
    def output_path(self) -> Path:
        """The capture to write."""
        return typed_path(self.output).absolute()

    def checked(self) -> AttachRequest:
        """Return the request if it is valid. Raises UsageError with a sentence otherwise."""
        if not self.pid:
            raise UsageError(tr("Choose a process."))
        if not self.trace:
            raise UsageError(tr("Choose at least one source to record."))
        if self.duration.strip():
            try:
                long_time_ns(self.duration.strip())
            except ArgumentTypeError as error:
                raise UsageError(str(error)) from error
        if not self.output.strip():
            raise UsageError(tr("Enter the file to write to."))
        if not is_folder(self.output_path.parent):
            raise UsageError(tr("Folder not found: {path}", path=self.output_path.parent))
        return self

    def record_arguments(self) -> list[str]:
        """The arguments of ``warpline attach``."""
        words = ["attach", "--quiet", "-o", str(self.output_path), "--trace", ",".join(self.trace)]
        if self.duration.strip():
            words += ["--duration", self.duration.strip()]
        return [*words, str(self.pid)]


def attachable_choices() -> tuple[Choice, ...]:
    """Choices of ``--trace`` that can record a running program, as far as their sources know."""
    return tuple(
        choice
        for choice in choices()
        if any(not source.needs_start for source in asked_sources([choice.name]))
    )


def suggested_attach_output(name: str, now: datetime) -> Path:
    """A new file in the current folder, or the home folder, from the program's name and the time."""
    here = Path.cwd()
    folder = here if is_folder(here) else home_folder()
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name) or "capture"
    base = f"{safe}-{now:%Y%m%d-%H%M%S}"
    candidate, number = folder / f"{base}.h5", 2
    while is_there(candidate):
        candidate = folder / f"{base}-{number}.h5"
        number += 1
    return candidate
