"""The program's own lines of sampled running time, the library functions they call, and the kind of work."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpline.analysis.findings.wait_kinds import FRAME, is_idle, own_frame
from warpline.analysis.findings.work.kind import WorkKind
from warpline.analysis.findings.work.kinds import kind_of
from warpline.analysis.findings.work.native_kinds import NATIVE_FILE, NATIVE_FRAME, native_kind
from warpline.analysis.findings.work.source_lines import SourceFiles, SourceLine

_INSTALLED = re.compile(r"/(?:site|dist)-packages/(?P<package>[^/]+)")
_STANDARD = re.compile(r"/lib(?:64)?/python3[^/]*/(?P<path>.*)$")


@dataclass(frozen=True, eq=False)
class HotLine:
    """What a stack says: the program's own frame, the library function called there, and the kind of work.

    ``file``, ``number`` and ``function`` are the own frame; ``callee`` is like ``re.compile``, else empty; ``origin``
    is the number of another line of the file that causes the cost, where it is known.
    """

    file: str
    number: int | None
    function: str
    callee: str
    kind: WorkKind | None
    line: SourceLine | None
    origin: int | None = None

    @property
    def place(self) -> tuple[str, int | None, str]:
        """The key of the line."""
        return self.file, self.number, self.function


def hot_line(frames: list[str], sources: SourceFiles) -> HotLine | None:
    """The program's own innermost line of a stack (leaf first); the outermost library line if it has none.

    None for a sample of an idle thread, which V8 takes, too.
    """
    if is_idle(frames):
        return None
    parsed = [
        match for match in (FRAME.match(frame) or NATIVE_FRAME.match(frame) for frame in frames) if match
    ]
    with_line = [index for index, match in enumerate(parsed) if "line" in match.groupdict()]
    if not with_line:
        name = frames[0] if frames else ""
        return HotLine("", None, name, "", None, None) if name else None
    own_match = own_frame([parsed[index] for index in with_line])
    own = next((index for index in with_line if parsed[index] is own_match), None)
    index = with_line[-1] if own is None else _caller_of_lambda(parsed, own)
    frame, inner = parsed[index], parsed[: index if own is None else own]
    file, number = frame["file"], int(frame["line"])
    callees = tuple(f"{callee['file']}:{callee['function']}" for callee in inner)
    if own is not None and NATIVE_FILE.search(file):
        # Interrupts show up as calls of the kernel.
        inner = [match for match in inner if not match["file"].startswith("kernel")]
        callee = inner[-1]["function"] if inner else ""
        return HotLine(
            file, number, frame["function"], callee, native_kind(callees, sources.texts(file), number), None
        )
    line = sources.line(file, number, frame["function"]) if own is not None else None
    callee = callee_name(inner[-1]["file"], inner[-1]["function"]) if inner else ""
    return HotLine(file, number, frame["function"].rpartition(".")[2], callee, kind_of(callees, line), line)


def _caller_of_lambda(parsed: list[re.Match[str]], index: int) -> int:
    """The frame that calls a lambda which its own line hands over, as the key of a sort; else the frame itself."""
    frame, outer = parsed[index], parsed[index + 1 : index + 2]
    is_lambda = frame["function"].endswith("<lambda>") and bool(outer) and "line" in outer[0].groupdict()
    if is_lambda and (outer[0]["file"], outer[0]["line"]) == (frame["file"], frame["line"]):
        return index + 1
    return index


def callee_name(file: str, function: str) -> str:
    """``re.compile`` from a library file and the function's qualified name; of installed packages only the top-level
    name is given, since their inner modules are not what a program imports.
    """
    file = file.replace("\\", "/")
    installed = _INSTALLED.search(file)
    if installed is not None:
        return f"{installed['package'].removesuffix('.py')}.{function}"
    match = _STANDARD.search(file)
    path = match["path"] if match else file.removeprefix("<frozen ").removesuffix(">").rpartition("/")[2]
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".").lstrip("_")
    return f"{module}.{function}"
