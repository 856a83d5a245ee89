"""The protocol of command-line commands."""

from __future__ import annotations

import argparse
from typing import Protocol, runtime_checkable


@runtime_checkable
class Command(Protocol):
    """One verb. A module exports one instance as ``command``.

    Import heavy modules (h5py, numpy, Qt) inside :meth:`run`, so that ``warpline NAME --help`` stays fast.
    A command may have an attribute ``failure_status``, the exit status of its failures instead of 1 and 2 (bad usage).
    ``record`` has one, because its own status is that of the recorded program. One whose ``mixes_options`` is true
    takes options before, between and after its words.
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
        """Declares the arguments. ``parser`` belongs to this command alone, which may set its epilog and usage."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Runs the command and returns the exit status. Raises WarplineError for problems the user can solve."""
        ...
