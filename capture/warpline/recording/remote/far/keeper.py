"""The process that keeps a run on the other machine: it owns the program's streams and outlives connections.

The recorder is its child and never waits for it: the disk is the buffer between them.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from warpline.platform.held_folders import hold
from warpline.recording.remote.far.channel import Channel
from warpline.recording.remote.far.machine_files import machine_files
from warpline.recording.remote.far.places import (
    INFO_FILE,
    RESULT_FILE,
    SOCKET_FILE,
    in_folder,
    read_json,
    remove_run,
    write_json,
)
from warpline.recording.remote.far.streams import Streams
from warpline.recording.remote.far.tail import Tail
from warpline.recording.remote.frames import (
    MAX_DATA_BYTES,
    WINDOW_BYTES,
    FrameError,
    FrameType,
    packed_json,
    packed_stream,
    stream_of,
    values_of,
)
from warpline.recording.remote.zstandard_frames import compressed

_SHORTEST_TICK_S, _LONGEST_TICK_S = 0.05, 0.25
"""Time between two looks at the spool: the longer, the longer nothing has been new."""
_EARLY_S = 0.1
_SHARE = 50
"""Looking at the spool may take this share of the time: 2 % of a core."""
_NO_RESULT = {"failed": "the recorder was killed, or the disk there is full"}
_NO_FOLDER = {"failed": "the folder of the recording was deleted there"}
_MOST_ROUNDS = 5
"""Comparisons at most: a program that outlives its recording may keep changing records."""
_PATIENCE_S = 3600.0
"""How long the process of a finished run waits for a connection; the folder stays."""


class Keeper:
    """Keeps one run. ``recorder`` is the recorder's process id (0: none), ``status`` its status pipe (−1: none)."""

    def __init__(
        self, run: Path, request: dict[str, Any], streams: Streams | None, *, recorder: int, status: int
    ) -> None:
        self._run, self._request, self._streams = run, request, streams
        self._recorder, self._status = recorder, status
        self._unread_status = b""
        self._statuses: dict[str, dict[str, Any]] = {}
        """The last status of each state, for later connections."""
        options = request.get("options", {})
        self._spool = Path(request["spool"])
        self._is_ring = bool(options.get("ring_ns"))
        self._ends_with_us = bool(request.get("with_me"))
        self._channel: Channel | None = None
        self._tail = Tail(self._spool, is_ring=self._is_ring)
        self._news: Iterator[bytes] | None = None
        self._sent = 0
        self._checks: Iterator[bytes] | None = None
        self._files: Iterator[bytes] | None = None
        self._unchecked: set[str] = set()
        self._compresses = False
        self._awaits_held = False
        """Whether the mirror will say what it has before anything is sent."""
        self._differs = False
        self._rounds = 0
        self._is_complete = self._is_exit_sent = self._is_over = False
        self._next_look, self._tick_s = 0.0, _SHORTEST_TICK_S
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with in_folder(run):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(SOCKET_FILE)
            self._listening.bind(SOCKET_FILE)
        self._listening.listen(4)
        self._listening.setblocking(False)

    def keep(self) -> None:
        """Serve the run until its capture is written."""
        idle_since = time.monotonic()
        while not self._is_over:
            ready = self._wait()
            if self._listening.fileno() in ready:
                self._accept()
            self._read_channel(ready)
            if self._status in ready:
                self._read_status()
            self._move_streams(ready)
            self._send_spool()
            self._flush()
            if self._channel is not None or self._is_recording:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > _PATIENCE_S or not self._run.is_dir():
                return  # without a folder no connection finds us
        remove_run(self._run)

    def _wait(self) -> set[int]:
        """Wait for something to do; returns the descriptors that are ready."""
        poller = select.poll()
        poller.register(self._listening, select.POLLIN)
        timeout = 1.0
        channel = self._channel
        if channel is not None:
            poller.register(channel.incoming, select.POLLIN)
            if channel.is_waiting:
                poller.register(channel.outgoing, select.POLLOUT)
            if self._files is not None and channel.has_room:
                timeout = 0.0
            elif self._looks:
                timeout = self._next_look - time.monotonic()
        if self._status >= 0:
            poller.register(self._status, select.POLLIN)
        if self._streams is not None:
            for output in self._streams.outputs.values():
                if not output.is_at_end and (channel is None or output.unsent < WINDOW_BYTES):
                    poller.register(output.descriptor, select.POLLIN)
            if self._streams.input.has_work:
                poller.register(self._streams.input.descriptor, select.POLLOUT)
        return {descriptor for descriptor, _events in poller.poll(max(0.0, min(timeout, 1.0)) * 1000)}

    def _accept(self) -> None:
        """Take a new connection over from a relay; it replaces the former one."""
        try:
            relay, _address = self._listening.accept()
        except BlockingIOError:
            return
        relay.settimeout(5)
        try:
            data, descriptors, _flags, _place = socket.recv_fds(relay, 1 << 16, 2)
            values = json.loads(data)
        except (OSError, ValueError):
            relay.close()
            return
        if len(descriptors) != 2:
            relay.close()
            return
        self._lose(is_replaced=True)
        self._channel = channel = Channel(descriptors[0], descriptors[1], relay)
        self._tail = Tail(self._spool, is_ring=self._is_ring)
        self._news, self._checks, self._files, self._unchecked = None, None, None, set()
        self._is_complete = self._is_exit_sent = False
        self._awaits_held = values.get("has_held") is True
        self._compresses = values.get("zstandard") is True
        self._rounds = 0
        self._next_look = 0.0
        streams = self._streams
        if streams is not None:
            for output in streams.outputs.values():
                output.send_again()
        info = read_json(self._run / INFO_FILE)
        received = streams.input.received if streams is not None else 0
        own = {"pid": os.getpid(), "input": received, "has_pings": True, "takes_held": self._awaits_held}
        channel.send(packed_json(FrameType.HELLO, {**info, **own, **values}))
        for status in self._statuses.values():
            channel.send(packed_json(FrameType.STATUS, status))

    def _lose(self, *, is_replaced: bool = False) -> None:
        if self._channel is None:
            return
        self._channel.close()
        self._channel = None
        if self._ends_with_us and not is_replaced and self._recorder > 0:
            with contextlib.suppress(OSError):
                os.kill(self._recorder, signal.SIGTERM)

    def _read_channel(self, ready: set[int]) -> None:
        if self._channel is None:
            return
        try:
            if self._channel.incoming not in ready:
                self._channel.check()
                return
            for kind, body in self._channel.read():
                self._obey(kind, body)
        except (OSError, FrameError, KeyError, TypeError, ValueError):
            self._lose()

    def _obey(self, kind: FrameType, body: bytes) -> None:
        streams = self._streams
        if kind is FrameType.INPUT and streams is not None:
            _stream, offset, data = stream_of(body)
            streams.input.add(offset, data)
        elif kind is FrameType.RECEIVED and streams is not None:
            values = values_of(body)
            streams.outputs[values["stream"]].received(values["count"])
        elif kind is FrameType.SIGNAL and self._recorder > 0:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._recorder, values_of(body)["signal"])
        elif kind is FrameType.SIZE and streams is not None:
            values = values_of(body)
            streams.resize(values["rows"], values["columns"])
        elif kind is FrameType.PING and self._channel is not None:
            values = {"sent": values_of(body)["sent"], "clock": time.monotonic_ns()}
            self._channel.send(packed_json(FrameType.PONG, values))
        elif kind is FrameType.CONTROL:
            self._control(values_of(body))
        elif kind is FrameType.CHECKED:
            values = values_of(body)
            again = values["again"]
            self._differs |= bool(again)
            self._tail.again(values["name"], again)
            if values.get("is_last"):
                self._unchecked.discard(values["name"])
        elif kind is FrameType.HELD:
            values = values_of(body)
            self._tail.skip(values.get("name"), values.get("chunks"))
            self._awaits_held = not values["is_last"]
        elif kind is FrameType.FETCH:
            self._files = machine_files(values_of(body)["paths"])
        elif kind is FrameType.TAKEN:
            self._is_over = True

    def _control(self, request: dict[str, Any]) -> None:
        from warpline.model.errors import RecordingError
        from warpline.recording.control import send_command

        number, command = request.pop("id", 0), request.pop("command", "")
        try:
            reply = send_command(self._spool, command, timeout_s=5.0, **request)
        except (RecordingError, TypeError) as error:
            reply = {"ok": False, "error": str(error), "is_late": getattr(error, "is_late", False)}
        if self._channel is not None:
            self._channel.send(packed_json(FrameType.REPLY, {**reply, "id": number}))

    def _read_status(self) -> None:
        if self._status < 0:
            return
        try:
            data = os.read(self._status, 1 << 16)
        except BlockingIOError:
            return
        self._unread_status += data
        *lines, self._unread_status = self._unread_status.split(b"\n")
        for line in lines:
            values = json.loads(line)
            self._statuses.pop(values["state"], None)
            self._statuses[values["state"]] = values
            if self._channel is not None:
                self._channel.send(packed_json(FrameType.STATUS, values))
        if not data:
            self._recorder_ended()

    def _recorder_ended(self) -> None:
        os.close(self._status)
        self._status = -1
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._recorder, 0)
        self._recorder = 0
        if not (self._run / RESULT_FILE).exists():
            with contextlib.suppress(OSError):
                write_json(self._run / RESULT_FILE, _NO_RESULT)
        if self._streams is not None:
            for output in self._streams.outputs.values():
                output.read_rest()

    def _move_streams(self, ready: set[int]) -> None:
        streams, channel = self._streams, self._channel
        if streams is None:
            return
        streams.input.write()
        for number, output in streams.outputs.items():
            if output.descriptor in ready and (channel is None or output.unsent < WINDOW_BYTES):
                output.read()
            while channel is not None and output.unsent and output.unacknowledged < WINDOW_BYTES:
                offset, data = output.take(MAX_DATA_BYTES)
                channel.send(packed_stream(FrameType.OUTPUT, number, offset, data))
        if channel is not None and streams.input.consumed != streams.input.acknowledged:
            streams.input.acknowledged = streams.input.consumed
            values = {"stream": 0, "count": streams.input.acknowledged}
            channel.send(packed_json(FrameType.RECEIVED, values))

    @property
    def _is_recorded(self) -> bool:
        return "recorded" in self._statuses or not self._is_recording

    @property
    def _is_recording(self) -> bool:
        """Whether the recorder runs: ours, or one whose keeper was killed, which holds the spool until its result."""
        if self._status >= 0:
            return True
        if (self._run / RESULT_FILE).exists():
            return False
        try:
            held = hold(self._spool)
        except OSError:
            return False
        if held is None:
            return self._spool.exists()
        os.close(held)
        return False

    @property
    def _looks(self) -> bool:
        """Whether the spool is looked at, again and again, rather than complete at the other end."""
        return not (self._is_complete or self._awaits_held)

    def _send_spool(self) -> None:
        """Send what is new; after the recording compare all chunks, until both ends have the same."""
        channel = self._channel
        if channel is not None and self._files is not None and self._send_all(channel, self._files):
            self._files = None
        if channel is None or not self._looks:
            return
        begun = time.monotonic()
        # If something else (such as the recorder's status) woke us, look a little early: that saves a wake-up.
        is_early_enough = self._tick_s == _LONGEST_TICK_S and begun >= self._next_look - _EARLY_S
        if begun < self._next_look and not is_early_enough:
            return
        is_final = self._is_recorded
        if self._checks is None:
            if self._news is None:
                self._news, self._sent = self._tail.news(), 0
            if self._send_all(channel, self._news):
                self._news = None
                self._tick_s = _SHORTEST_TICK_S if self._sent else min(2 * self._tick_s, _LONGEST_TICK_S)
                if not self._sent and is_final:
                    self._begin_check()
        if self._checks is not None and self._send_all(channel, self._checks) and not self._unchecked:
            self._end_check(channel)
        took = time.monotonic() - begun
        is_busy = self._checks is not None or not channel.has_room
        self._next_look = begun + (0.01 if is_busy or is_final else max(self._tick_s, took * _SHARE))

    def _send_all(self, channel: Channel, frames: Iterator[bytes]) -> bool:
        """Send frames while the connection accepts them; returns whether all were sent."""
        while channel.has_room:
            frame = next(frames, None)
            if frame is None:
                return True
            is_worth_it = self._compresses and channel.is_slow and frame[0] == FrameType.BYTES
            channel.send(compressed(frame) if is_worth_it else frame)
            self._sent += 1
        return False

    def _begin_check(self) -> None:
        names = [name for name in self._tail.sizes() if name.endswith(".spool")]
        self._differs = False
        self._unchecked = set(names)
        self._checks = (frame for name in names for frame in self._tail.check(name))

    def _end_check(self, channel: Channel) -> None:
        self._checks = None
        self._rounds += 1
        if not self._differs or self._rounds >= _MOST_ROUNDS:
            channel.send(packed_json(FrameType.COMPLETE, {"sizes": self._tail.sizes()}))
            self._is_complete = True

    def _flush(self) -> None:
        channel = self._channel
        if channel is None:
            return
        if not (self._is_exit_sent or self._unsent_output or self._is_recording):
            self._is_exit_sent = True
            missing = _NO_RESULT if self._run.is_dir() else _NO_FOLDER
            result = read_json(self._run / RESULT_FILE) or missing
            channel.send(packed_json(FrameType.EXIT, result))
        try:
            channel.flush()
        except OSError:
            self._lose()

    @property
    def _unsent_output(self) -> int:
        return (
            sum(output.unsent for output in self._streams.outputs.values())
            if self._streams is not None
            else 0
        )
