"""What is typed or pasted into the terminal of a program that reads late."""

from __future__ import annotations

import os
import pty
import sys
import tty

import pytest
from PySide6.QtCore import QSocketNotifier
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from warpline_app.recording.process import RecordingProcess

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="recording works on Linux only")


def test_a_long_paste_arrives_whole_when_the_program_reads_at_last(qapp: QApplication, qtbot: QtBot) -> None:
    process = RecordingProcess(qapp)
    master, slave = pty.openpty()
    tty.setraw(slave)
    for end in (master, slave):
        os.set_blocking(end, False)
    process._terminal = master
    process._streams[master] = (
        QSocketNotifier(master, QSocketNotifier.Type.Read, process),
        lambda _data: None,
    )
    pasted = b"".join(b"line %05d\n" % number for number in range(20_000))
    process.write(pasted)
    process.write(b"the end")
    read = bytearray()

    def has_all() -> bool:
        try:
            read.extend(os.read(slave, 1 << 16))
        except BlockingIOError:
            pass
        return len(read) == len(pasted) + len(b"the end")

    qtbot.waitUntil(has_all, timeout=60_000)
    assert read == pasted + b"the end"
    os.close(slave)
    process._close(master)
    process.write(b"for nobody")
    process.deleteLater()
