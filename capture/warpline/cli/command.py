"""What a command of the command line is."""

from __future__ import annotations

import argparse
from typing import Protocol, runtime_checkable


@runtime_checkable
class Command(Protocol):
    """One verb. A module exports one instance as ``command``.

    Import what is heavy (h5py, numpy, Qt) inside :meth:`run`, so that ``warpline NAME --help`` stays fast.
    A command whose own failures must not be mistaken for something else's (``record``: the status belongs to the
    recorded program) may also have an attribute ``failure_status``: the exit status used instead of 1 for a failure
    and 2 for bad usage.
    """

    @property
    def name(self) -> str:
        """What the user types."""
        ...

    @property
    def help(self) -> str:
        """One line without a full stop."""
        ...

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments. ``parser`` belongs to this command alone; it may set epilog and usage."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Do it; returns the exit status. Raises WarplineError for what the user can mend."""
        ...
