"""Runs commands in forks with limits: ``python limits_worker.py FOLDER`` takes jobs as lines of JSON, answers likewise.

A fork has imported what commands use, so it takes a tenth of a start of Python; what it is limited to counts from then
on.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from warpline.analysis import compare  # noqa: F401 - imported for the forks
from warpline.cli import main
from warpline.interchange.export.registry import exporters
from warpline.interchange.framework.registry import importers

# Python 3.11 does not notice byte code that was cut at a limit, and whoever imports the module next cannot read it.
sys.dont_write_bytecode = True


def _mapped_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _limit(kind: str, amount: int) -> None:
    """``amount`` more than there is, or in all for the size of files."""
    if kind == "size":
        resource.setrlimit(resource.RLIMIT_FSIZE, (amount, amount))
    elif kind == "files":
        used = len(os.listdir("/proc/self/fd")) - 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + amount, used + amount))
    elif kind == "memory":
        amount += _mapped_bytes()
        resource.setrlimit(resource.RLIMIT_AS, (amount, amount))


def _run(job: dict[str, Any], said: Path) -> int:
    """In the fork: what the command says goes to a file that is open before anything is limited."""
    descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    out = os.open(job.get("stdout", os.devnull), os.O_WRONLY)
    # A limit on sizes would hold for what it says as well: a pipe has none.
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(out, 1)
        os.dup2(writer, 2)
        for each in (descriptor, out, reader, writer):
            os.close(each)
        _limit(job["kind"], job["amount"])
        status = 99
        try:
            status = main(job["words"])
            sys.stdout.flush()
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        os.write(descriptor, pipe.read())
    os.close(descriptor)
    os.close(out)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def serve(folder: Path) -> None:
    """Answer jobs until there are no more."""
    importers(), exporters()
    for number, line in enumerate(sys.stdin):
        said = folder / f"said.{number}"
        status = _run(json.loads(line), said)
        print(json.dumps({"status": status, "said": said.read_text(errors="replace")}), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
