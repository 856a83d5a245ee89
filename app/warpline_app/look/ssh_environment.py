"""Lets ssh ask in a dialog, or not at all, where the window starts it."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress

from warpline.own_python import own_python
from warpline.platform.folders import cache_folder

_MODULE = "warpline_app.dialogs.ssh_question"


def asking_environment() -> dict[str, str]:
    """Environment variables with which ssh asks in a dialog, by the user's own ``SSH_ASKPASS`` where there is one.

    Empty where no program can be written.
    """
    asks = os.environ.get("SSH_ASKPASS") or _askpass()
    return {"SSH_ASKPASS": asks, "SSH_ASKPASS_REQUIRE": "force"} if asks else {}


def silent_environment() -> dict[str, str]:
    """Environment variables with which ssh fails where it would ask."""
    return {"SSH_ASKPASS_REQUIRE": "never"}


def _askpass() -> str:
    """A program that runs the dialog: ssh takes one word."""
    path = cache_folder() / "ask-for-ssh"
    text = f'#!/bin/sh\nexec {shlex.join(own_python(_MODULE))} "$@"\n'
    with suppress(OSError):
        if path.is_symlink() or not path.is_file() or path.read_text() != text:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = path.with_name(f"{path.name}.{os.getpid()}")
            unfinished.write_text(text)
            unfinished.chmod(0o700)
            unfinished.replace(path)
        return str(path)
    return ""
