"""One target for some time, in a process of its own: ``python -m tests.fuzz.guided.worker ROOM TARGET --work FOLDER``.

With atheris (``pip install atheris``) inputs are kept that reach new places in the code, and changed further; without,
each is made from a seed and its number. ``--replay`` runs files that lie there, as a campaign found or kept them.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

_LIMIT_MIB = 3000


def guide() -> ModuleType | None:
    """The library that follows which code an input reaches; None where it is not installed."""
    try:
        return importlib.import_module("atheris")
    except ImportError:
        return None


def main() -> int:
    """Fuzz one target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("room")
    parser.add_argument("target")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--blind", action="store_true", help="inputs of numbers, without guidance")
    parser.add_argument("--memory", type=int, default=_LIMIT_MIB, metavar="MIB", help="0: without a limit")
    parser.add_argument("--replay", type=Path, nargs="+")
    args = parser.parse_args()
    atheris = None if args.blind or args.replay else guide()
    follow = (
        nullcontext() if atheris is None else atheris.instrument_imports(include=["warpline", "warpline_app"])
    )
    with follow:
        # Nothing of ours is imported before: only what is imported here is followed.
        engine = importlib.import_module("tests.fuzz.guided.engine")
        room = importlib.import_module(f"tests.fuzz.guided.{args.room}")
        target = next(one for one in room.TARGETS if one.name == args.target)
        target.preload()
    warnings.simplefilter("error")
    if args.replay:
        return int(engine.replay(target, args.replay))
    if args.memory:
        resource.setrlimit(resource.RLIMIT_DATA, (args.memory << 20, args.memory << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["XDG_CACHE_HOME"] = str(args.work / "cache")
    args.work.mkdir(parents=True, exist_ok=True)
    seeds = target.seeds(args.data)
    if atheris is not None:
        engine.guided(target, seeds, args.work, args.seconds, atheris)
    else:
        engine.unguided(target, seeds, args.work, args.first, args.count, args.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
