"""Tries sources inside Python interpreters, for ``warpline doctor``; each is started once for all sources."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english, joined
from warpline.memory_room import require_memory
from warpline.own_python import python_of_programs
from warpline.platform.folders import home_folder
from warpline.recording.agent.probing import recorded, require_agent
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from warpline.recording.spool.plain_reader import PlainSpool

_MINORS = range(8, 16)
_MOST = 12
_SECONDS = 10
_SIDE_BY_SIDE = 4
# The agent starts no thread in a Python it does not know, so the trials could not work there. If its thread has ended
# already because there was nothing to sample, the hooks are in place.
_PROGRAM = """
import os, sys
print(sys.version.split()[0])
is_known = any(type(finder).__name__ == "Watcher" for finder in sys.meta_path)
for program in {programs!r} if is_known or len(os.listdir("/proc/self/task")) > 1 else []:
    try:
        exec(program, {{"__name__": "__main__"}})
    except Exception:  # a failed trial shows by what it did not record
        pass
"""


@dataclass(frozen=True, eq=False)
class PythonTrial:
    """A small program for any Python, and a check of what the preloaded agent recorded of it.

    ``variables`` are added to its environment, with those of the other trials. If ``refused`` is given and the trial
    fails with the Python that runs Warpline, the source is unavailable for that reason. ``text`` describes the result;
    ``{pythons}`` stands for the versions.
    """

    program: str
    works: Callable[[Sequence[PlainSpool]], bool]
    variables: Mapping[str, str] = field(default_factory=dict)
    refused: Unavailable | None = None
    text: str = "{pythons}"


@dataclass(frozen=True)
class Tried:
    """The result for one Python: its version (empty if it cannot run), the trials that worked, errors of the others."""

    version: str
    worked: frozenset[PythonTrial]
    raised: Mapping[PythonTrial, str] = field(default_factory=dict)


def interpreters() -> list[str]:
    """Executables of Python 3 on the path and in pyenv, without duplicates."""
    paths = [shutil.which(f"python3.{minor}") for minor in _MINORS] + [shutil.which("python3")]
    root = Path(os.environ.get("PYENV_ROOT") or home_folder() / ".pyenv")
    with contextlib.suppress(OSError):  # a folder we may not read
        paths += [str(path) for path in sorted(root.glob("versions/3.*/bin/python3"))]
    # pyenv's shims on the path are scripts that choose one of these.
    real = (os.path.realpath(path) for path in paths if path and "/shims/" not in path)
    return list(dict.fromkeys(real))[:_MOST]


def version_of(interpreter: str) -> str:
    """``3.12.1``; empty when it cannot be run."""
    try:
        done = subprocess.run(
            [interpreter, "-V"], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().removeprefix("Python ")


def try_pythons(trials: Iterable[PythonTrial], every_python: bool) -> list[Tried]:
    """Run the trials with the Python that runs Warpline and, with ``every_python``, in parallel with all others here.

    Raises Unavailable where there is no agent.
    """
    library, wanted = require_agent(), list(dict.fromkeys(trials))
    own = python_of_programs()
    this = os.path.realpath(own)
    others = [path for path in interpreters() if path != this] if every_python else []
    require_memory(_SIDE_BY_SIDE)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        return list(pool.map(lambda path: _try_python(path, wanted, library), [own, *others]))


def _try_python(interpreter: str, trials: list[PythonTrial], library: Path) -> Tried:
    program = _PROGRAM.format(programs=[trial.program for trial in trials])
    variables = {"WARPLINE_AGENT": str(library), "LD_PRELOAD": str(library)}
    for trial in trials:
        variables.update(trial.variables)
    with recorded(program, library, variables, interpreter) as run:
        version = run.output.partition("\n")[0].strip() or version_of(interpreter)
        reasons = {trial: why for trial in trials if (why := _why_not(trial, run.spools)) is not None}
        worked = frozenset(trial for trial in trials if trial not in reasons)
        return Tried(version, worked, {trial: why for trial, why in reasons.items() if why})


def _why_not(trial: PythonTrial, spools: Sequence[PlainSpool]) -> str | None:
    """None when it worked; otherwise why not, empty if unknown."""
    try:
        return None if trial.works(spools) else ""
    except Exception as error:  # plug-in code may raise anything; the others continue
        return f"{type(error).__name__}: {error}"


def trial_text(trial: PythonTrial, pythons: Sequence[Tried]) -> str:
    """The result of a trial as text: ``works with Python 3.12.1; not with Python 3.8.18``.

    Raises Unavailable when it must work with the first Python and does not.
    """
    raised = "; ".join(dict.fromkeys(python.raised[trial] for python in pythons if trial in python.raised))
    if trial.refused is not None and trial not in pythons[0].worked:
        this = pythons[0].raised.get(trial)
        raise Unavailable(this) if this else trial.refused
    worked = {python.version: trial in python.worked for python in pythons if python.version}
    order = sorted(worked, key=lambda version: [int(part) for part in version.split(".") if part.isdigit()])
    fine, others = [v for v in order if worked[v]], [v for v in order if not worked[v]]
    parts = []
    if fine:
        parts.append(english("works with Python {versions}", versions=", ".join(fine)))
    if others:
        parts.append(english("not with Python {versions}", versions=", ".join(others)))
    if raised:
        parts.append(raised)
    return trial.text.format(pythons=joined("; ", parts))
