"""Pictures of a capture, drawn by the command ``render`` of the application in a process of its own.

Drawing needs Qt, and the calling program may have none, a different one, or threads.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from warpline.i18n import tr
from warpline.model import UsageError, WarplineError
from warpline.own_python import own_python

DRAW_S = 120.0
"""A picture that takes longer is given up."""
_BAD_USAGE = 2
_PREFIX = "warpline: error: "


class PngPicture(bytes):
    """The bytes of a PNG file, which a notebook shows as the picture."""

    __slots__ = ()

    def save(self, path: Path | str) -> Path:
        """Write the file and return its path. Raises WarplineError when that fails."""
        from warpline.interchange.export.output_files import writing

        target = Path(path)
        try:
            with writing(target) as file:
                file.write(self)
        except OSError as error:
            raise WarplineError(
                tr("{path}: {reason}", path=target, reason=error.strerror or error)
            ) from error
        return target

    def _repr_png_(self) -> bytes:
        return bytes(self)

    def __repr__(self) -> str:
        return f"<PNG picture, {len(self):,} bytes>"

    __str__ = __repr__


def draw(
    path: Path,
    ends_ns: tuple[int | None, int | None],
    tracks: Sequence[str],
    size: tuple[int, int],
    scale: float,
    theme: str,
) -> PngPicture:
    """The timeline of a file, as ``warpline render`` draws it. ``ends_ns`` count from the start of the capture.

    Raises UsageError for what cannot be drawn, WarplineError when the window is not installed, drawing fails or takes
    longer than `DRAW_S`.
    """
    if not sys.executable:
        raise WarplineError(tr("{path}: drawing needs a Python interpreter to start", path=path))
    start, stop = ("" if end is None else f"{end}ns" for end in ends_ns)
    with tempfile.TemporaryDirectory(prefix="warpline-") as folder:
        out = Path(folder) / "picture.png"
        command = [*own_python("warpline"), "render", str(path.absolute()), f"--output={out}"]
        command += [
            f"--range={start}:{stop}",
            f"--size={size[0]}x{size[1]}",
            f"--scale={scale:g}",
            f"--theme={theme}",
        ]
        command += [f"--track={pattern}" for pattern in tracks]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=DRAW_S
            )
        except subprocess.TimeoutExpired as error:
            raise WarplineError(
                tr("{path}: the picture was not finished after {seconds:g} s", path=path, seconds=DRAW_S)
            ) from error
        if done.returncode == 0 and out.exists():
            return PngPicture(out.read_bytes())
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    text = (
        lines[-1].removeprefix(_PREFIX)
        if lines
        else tr("{path}: drawing ended with status {status}", path=path, status=done.returncode)
    )
    raise (UsageError if done.returncode == _BAD_USAGE else WarplineError)(text)
