"""What sources try in a Python, for ``warpline doctor``: one start of each Python serves all of them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.home import home_folder
from warpline.i18n import english
from warpline.memory_room import require_memory
from warpline.recording.agent.probing import recorded, require_agent
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from warpline.recording.spool.reader import SpoolFile

_MINORS = range(8, 16)
_MOST = 12
_SECONDS = 10
_SIDE_BY_SIDE = 4
# Where the agent knows nothing of a Python it starts no thread in it, and nothing would come of the trials; a thread
# that found nothing to sample there has ended, and hooks are in before.
_PROGRAM = """
import os, sys
print(sys.version.split()[0])
is_known = any(type(finder).__name__ == "Watcher" for finder in sys.meta_path)
for program in {programs!r} if is_known or len(os.listdir("/proc/self/task")) > 1 else []:
    try:
        exec(program, {{"__name__": "__main__"}})
    except Exception:  # of a trial in any Python: what it did not record says that it did not work
        pass
"""


@dataclass(frozen=True, eq=False)
class PythonTrial:
    """A small program for any Python, and whether what the preloaded agent wrote of it is what a source is to record.

    ``variables`` go into its environment, with those of the other trials. ``refused`` is why the source is not
    available where it does not work with the Python that runs Warpline; a source without is available all the same.
    ``text`` is what is told: ``{pythons}`` stands for the versions.
    """

    program: str
    works: Callable[[Sequence[SpoolFile]], bool]
    variables: Mapping[str, str] = field(default_factory=dict)
    refused: Unavailable | None = None
    text: str = "{pythons}"


@dataclass(frozen=True)
class Tried:
    """One Python: its version, empty when it cannot be run, the trials that worked, and of others what they raised."""

    version: str
    worked: frozenset[PythonTrial]
    raised: Mapping[PythonTrial, str] = field(default_factory=dict)


def interpreters() -> list[str]:
    """Executables of Python 3 on the path and of those that pyenv keeps, each once."""
    found = [shutil.which(f"python3.{minor}") for minor in _MINORS] + [shutil.which("python3")]
    root = Path(os.environ.get("PYENV_ROOT") or home_folder() / ".pyenv")
    with contextlib.suppress(OSError):  # somebody else's folder
        found += [str(path) for path in sorted(root.glob("versions/3.*/bin/python3"))]
    # What pyenv puts on the path is a script that chooses one of them.
    real = (os.path.realpath(path) for path in found if path and "/shims/" not in path)
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
    """The Python that runs Warpline, and on demand the others of this machine, side by side.

    Raises Unavailable where there is no agent.
    """
    library, wanted = require_agent(), list(dict.fromkeys(trials))
    this = os.path.realpath(sys.executable)
    others = [path for path in interpreters() if path != this] if every_python else []
    require_memory(_SIDE_BY_SIDE)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        return list(pool.map(lambda path: _try_python(path, wanted, library), [sys.executable, *others]))


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


def _why_not(trial: PythonTrial, spools: Sequence[SpoolFile]) -> str | None:
    """None when it worked; else why not, empty where nobody knows."""
    try:
        return None if trial.works(spools) else ""
    except Exception as error:  # of any distribution's source: one that fails is no end of the others
        return f"{type(error).__name__}: {error}"


def told(trial: PythonTrial, pythons: Sequence[Tried]) -> str:
    """What is told of a trial: ``tried with Python 3.12.1; not with Python 3.8.18``.

    Raises Unavailable where it must work with the first of the Pythons, and does not.
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
        parts.append(english("tried with Python {versions}", versions=", ".join(fine)))
    if others:
        parts.append(english("not with Python {versions}", versions=", ".join(others)))
    if raised:
        parts.append(raised)
    return trial.text.format(pythons="; ".join(parts))
