"""Settings of a recording: from the dialog to the command line of ``warpline record``."""

from __future__ import annotations

import shlex
from argparse import ArgumentTypeError
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from warpline.cli.limits import long_time_ns, size_bytes
from warpline.i18n import tr
from warpline.model.errors import UsageError
from warpline.model.times import parse_time
from warpline.own_python import python_of_programs
from warpline.platform.folders import home_folder
from warpline.recording.sources.registry import default_trace
from warpline_app.look.files_there import is_file, is_folder, is_there, typed_path
from warpline_app.recording.machines import machine_words

Mode = Literal["script", "command"]


@dataclass(frozen=True, kw_only=True)
class RecordingRequest:
    """The settings of a recording, as typed.

    ``environment`` holds additions, one ``NAME=value`` per line. ``trace`` names sources. ``duration``, ``delay``,
    ``ring`` (how much to keep) and ``max_duration`` are times with units, empty for none; ``max_size`` is a size
    (``2G``). ``capture_range`` is ``none``, ``cuda-profiler`` or ``nvtx:NAME``. ``again`` is a capture to record again
    with its own command and settings. ``where`` is another machine: a host for ssh, or a command that runs programs
    there; empty for this one. Script and working directory are paths over there then.
    """

    where: str = ""

    mode: Mode = "script"
    interpreter: str = ""
    script: str = ""
    command: str = ""
    arguments: str = ""
    working_directory: str = ""
    environment: str = ""
    trace: tuple[str, ...] = field(default_factory=default_trace)
    duration: str = ""
    delay: str = ""
    ring: str = ""
    max_size: str = ""
    max_duration: str = ""
    capture_range: str = "none"
    output: str = ""
    again: str = ""

    ends_program = True
    """Stopping the recording ends the program."""

    def to_json(self) -> dict[str, Any]:
        """The values saved in the settings."""
        return asdict(self)

    @staticmethod
    def from_json(values: dict[str, Any]) -> RecordingRequest:
        """Read the result of `to_json`; missing or malformed fields get their defaults."""
        known: dict[str, Any] = {}
        for entry in fields(RecordingRequest):
            value = values.get(entry.name)
            if entry.name == "trace":
                if isinstance(value, list):
                    known["trace"] = tuple(str(name) for name in value)
            elif isinstance(value, str):
                known[entry.name] = value
        if known.get("mode") not in {"script", "command"}:
            known.pop("mode", None)
        return RecordingRequest(**known)

    @property
    def program(self) -> list[str]:
        """The program and its arguments. Raises UsageError when incomplete."""
        try:
            arguments = shlex.split(self.arguments)
            if self.mode == "script":
                if not self.script.strip():
                    raise UsageError(tr("Choose the script to run."))
                here = self.interpreter.strip() or python_of_programs()
                usual = "python3" if self.where.strip() else here
                return [usual, self.script.strip(), *arguments]
            words = shlex.split(self.command)
        except ValueError as error:
            raise UsageError(tr("Unclosed quotation mark: {error}", error=error)) from error
        if not words:
            raise UsageError(tr("Enter the command to run."))
        return [*words, *arguments]

    @property
    def command_text(self) -> str:
        """The command line, to be shown. Raises UsageError when incomplete."""
        return shlex.join(self.program)

    @property
    def folder(self) -> Path:
        """The working directory: chosen, else the script's folder, else the current one. Home for another machine."""
        if self.where.strip():
            return home_folder()
        if self.working_directory.strip():
            return typed_path(self.working_directory)
        if self.mode == "script" and self.script.strip():
            return typed_path(self.script).absolute().parent
        return Path.cwd()

    @property
    def additions(self) -> dict[str, str]:
        """Variables added to the program's environment. Raises UsageError for a line without an assignment."""
        result: dict[str, str] = {}
        for line in self.environment.splitlines():
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            name, equals, value = line.strip().partition("=")
            if not equals or not name or any(letter.isspace() for letter in name):
                raise UsageError(tr("Not an assignment: {line} (use NAME=value)", line=line.strip()))
            result[name] = value
        return result

    def checked(self) -> RecordingRequest:
        """Return the request if it is valid. Raises UsageError with a sentence otherwise."""
        program = self.program
        _ = self.additions
        is_here = not self.where.strip()
        if is_here and self.mode == "script" and not self._is_script(program[1]):
            raise UsageError(tr("Script not found: {path}", path=program[1]))
        if is_here and not is_folder(self.folder):
            raise UsageError(tr("Folder not found: {path}", path=self.folder))
        if not self.trace:
            raise UsageError(tr("Choose at least one source to record."))
        for text in (self.duration, self.delay):
            if text.strip():
                try:
                    value = parse_time(text)
                except ValueError as error:
                    raise UsageError(
                        tr("Not a time: {text} (for example 10s or 500ms)", text=text)
                    ) from error
                if value <= 0:
                    raise UsageError(tr("A time must be greater than zero: {text}", text=text))
        for text, parse in (
            (self.ring, long_time_ns),
            (self.max_duration, long_time_ns),
            (self.max_size, size_bytes),
        ):
            if text.strip():
                try:
                    parse(text.strip())
                except ArgumentTypeError as error:
                    raise UsageError(str(error)) from error
        if not self.output.strip():
            raise UsageError(tr("Enter the file to write to."))
        if not is_folder(typed_path(self.output).absolute().parent):
            raise UsageError(tr("Folder not found: {path}", path=typed_path(self.output).absolute().parent))
        return self

    def _is_script(self, name: str) -> bool:
        return is_file(typed_path(name)) or is_file(self.folder / name)

    @property
    def output_path(self) -> Path:
        """The capture to write."""
        return typed_path(self.output).absolute()

    def record_arguments(self) -> list[str]:
        """The arguments of ``warpline record``, program included. Raises UsageError."""
        if self.again:
            return ["record", "--quiet", "-o", str(self.output_path), "--again", self.again]
        words = ["record", "--quiet", "-o", str(self.output_path), "--trace", ",".join(self.trace)]
        if self.duration.strip():
            words += ["--duration", self.duration.strip()]
        if self.delay.strip():
            words += ["--delay", self.delay.strip()]
        if self.ring.strip():
            words += ["--ring", self.ring.strip()]
        if self.max_duration.strip():
            words += ["--max-duration", self.max_duration.strip()]
        if self.max_size.strip():
            words += ["--max-size", self.max_size.strip()]
        if self.capture_range != "none":
            words += ["--capture-range", self.capture_range]
        if self.where.strip():
            words += machine_words(self.where)
            if self.working_directory.strip():
                words += ["--chdir", self.working_directory.strip()]
            # The values are in our environment: a list of processes must not show them.
            words += [f"--env={name}" for name in self.additions]
        return [*words, "--", *self.program]


def suggested_output(request: RecordingRequest, now: datetime) -> Path:
    """A new file name beside the program's folder, from the program's name and the time."""
    try:
        program = request.program
        stem = Path(program[1] if request.mode == "script" else program[0]).stem
    except UsageError:
        stem = "capture"
    folder = request.folder if is_folder(request.folder) else home_folder()
    base = f"{stem}-{now:%Y%m%d-%H%M%S}"
    candidate = folder / f"{base}.h5"
    number = 2
    while is_there(candidate):
        candidate = folder / f"{base}-{number}.h5"
        number += 1
    return candidate
