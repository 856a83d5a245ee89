"""The command line: one module per command, loaded only when it runs."""

from warpline.cli.command import Command
from warpline.cli.dispatch import main, main_window

__all__ = ["Command", "main", "main_window"]
