"""``warpline mcp``: answer an assistant's questions about captures."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

from warpline.extras import install_command
from warpline.i18n import english, tr, use
from warpline.model.errors import UsageError, WarplineError
from warpline.recording.platforms import require_linux


class McpCommand:
    """Serve the Model Context Protocol over standard input and output."""

    name = "mcp"
    help = english("let an assistant ask about captures (Model Context Protocol)")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("files", metavar="FILE", nargs="*", type=Path, help=tr("captures to have open"))
        parser.add_argument(
            "--root",
            action="append",
            default=[],
            type=Path,
            metavar="FOLDER",
            help=tr(
                "files below this folder may be read; may be given several times (default: the folders of the files, "
                "else the current folder)"
            ),
        )
        parser.add_argument(
            "--redact",
            action="store_true",
            help=tr("hide hosts, command lines and folders outside the roots"),
        )
        parser.add_argument(
            "--allow-record",
            action="store_true",
            help=tr(
                "let the assistant run programs on this machine to record them into new files below a root"
            ),
        )
        parser.add_argument(
            "--guide", action="store_true", help=tr("print the guide for assistants, and serve nothing")
        )

    def run(self, args: argparse.Namespace) -> int:
        """Serve until the input ends."""
        from warpline.agents.guide import guide

        if args.guide:
            print(guide(), end="")
            return 0
        if importlib.util.find_spec("mcp") is None:
            raise WarplineError(
                tr(
                    "the server needs the package mcp; install it with: {command}",
                    command=install_command("mcp"),
                )
            )
        if args.allow_record:
            require_linux()
        for path in args.files:
            if not path.exists():
                raise UsageError(tr("{path}: no such file", path=path))
        for path in args.root:
            if not path.is_dir():
                raise UsageError(tr("{path}: no such folder", path=path))
        # Models read the answers.
        use(None)
        from warpline.agents.privacy import Privacy
        from warpline.agents.roots import Roots
        from warpline.agents.server import serve
        from warpline.agents.session import AgentSession

        folders = [*args.root, *(path.parent for path in args.files)] or [Path.cwd()]
        roots = Roots(folders)
        session = AgentSession(
            tuple(args.files),
            roots=roots,
            privacy=Privacy(roots.folders, is_redacted=args.redact),
            allows_recording=args.allow_record,
        )
        try:
            serve(session)
        finally:
            session.close()
        return 0


command = McpCommand()
