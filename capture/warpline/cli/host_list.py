"""The hosts that ``--on`` names: a list with commas, or a file with one on each line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpline.i18n import tr
from warpline.model.errors import UsageError

_MOST_BYTES = 1 << 20
_SLOTS = re.compile(r"slots=(\d{1,5})")
_WITH_SLOTS = re.compile(r"([^:\s]+):(\d{1,5})")


@dataclass(frozen=True)
class Host:
    """A host and its number of processes; 0 when not given."""

    name: str
    slots: int = 0


def hosts_of(text: str | None) -> list[Host]:
    """The hosts in ``A,B,C`` or ``@FILE``, in the order of their ranks.

    A file is what ``mpirun`` and batch systems take: a host on each line, ``host slots=N`` (Open MPI), ``host:N``
    (MPICH), or a host once for each of its processes; ``#`` begins a comment.

    Raises UsageError for a list that names a host twice or none, and for a file that cannot be read or names none.
    """
    if text is None:
        return []
    if text.startswith("@"):
        return _in_file(Path(text[1:]))
    if "," not in text:
        return [Host(text)]
    names = [name.strip() for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names) or any(name.startswith("@") for name in names):
        raise UsageError(tr("--on {text}: name every host once, as in --on a,b,c", text=text))
    return [Host(name) for name in names]


def variables_of(hosts: Sequence[Host], rank: int) -> dict[str, str]:
    """Environment variables for the program of a host: its number, the number of hosts, and the same for ``torchrun``.

    ``torchrun`` takes missing options from ``PET_…`` variables (``torch/distributed/argparse_util.py``).
    """
    # The text before @ is a user of ssh.
    first = hosts[0].name.rpartition("@")[2]
    values = {
        "WARPLINE_RANK": str(rank),
        "WARPLINE_RANKS": str(len(hosts)),
        "PET_NODE_RANK": str(rank),
        "PET_NNODES": str(len(hosts)),
        "PET_MASTER_ADDR": first,
    }
    if hosts[rank].slots:
        values["PET_NPROC_PER_NODE"] = str(hosts[rank].slots)
    return values


def _in_file(path: Path) -> list[Host]:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(tr("--on @{path}: {reason}", path=path, reason=error.strerror)) from error
    slots: dict[str, list[int]] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        name, count = words[0], 0
        if named := _WITH_SLOTS.fullmatch(name):
            name, count = named[1], int(named[2])
        elif given := _SLOTS.search(line):
            count = int(given[1])
        if name.startswith("@"):
            raise UsageError(tr("--on @{path}: {name} is not a host", path=path, name=name))
        slots.setdefault(name, []).append(count)
    if not slots:
        raise UsageError(tr("--on @{path}: names no host", path=path))
    is_by_lines = any(len(counts) > 1 for counts in slots.values())
    return [Host(name, sum(count or is_by_lines for count in counts)) for name, counts in slots.items()]
