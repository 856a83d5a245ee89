"""Watches a running program: writes data of the kernel and of /proc into spool files, and obeys commands."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from warpline.i18n import english
from warpline.model.tracks import Source
from warpline.recording.collectors import Collectors
from warpline.recording.control import LONGEST_MARK, ControlServer
from warpline.recording.control_page import ControlPage, RecordingState
from warpline.recording.launch import Target, terminate
from warpline.recording.proc_files import process_stat
from warpline.recording.running import RunningProgram
from warpline.recording.session import Session
from warpline.recording.signals import SignalQueue
from warpline.recording.snapshots import AskedSteps, ask_for_steps
from warpline.recording.sources.collector import Watched
from warpline.recording.sources.registry import control_mask, lasting_types, life_types, passing_types
from warpline.recording.spool import records
from warpline.recording.spool.limits import Limits
from warpline.recording.spool.precedence import Pace, before_others
from warpline.recording.spool.writer import SpoolWriter

if TYPE_CHECKING:
    from warpline.recording.spool.sandboxes import SandboxFiles

STATUS_PERIOD_NS = 200_000_000
AGENT_FLUSH_S = 0.15
"""Agents check the control page every 20 ms and then flush their records."""
# A program does not wait at the start of a range: the recorder's own sources miss this long at most.
_RANGE_PERIOD_NS = 5_000_000


@dataclass(frozen=True, kw_only=True)
class RecorderOutcome:
    """How a recording ended. ``interrupted_by`` is the signal that ended the wait for the program, if any."""

    stop_monotonic_ns: int
    events: int
    lost: int
    sources: tuple[Source, ...]
    warnings: tuple[str, ...]
    interrupted_by: int | None = None
    ended_early: str = ""  # why it ended before the program, one of the warnings


@dataclass(kw_only=True)
class Recorder:
    """One recording, from before the program starts until its spool files are complete."""

    session: Session
    target: Target | RunningProgram
    signals: SignalQueue
    report: Callable[[dict[str, Any]], None]
    said: Mapping[str, Source] = field(default_factory=dict)
    """Reports of the sources inside the program, made before it started."""
    warnings: list[str] = field(default_factory=list)
    before_stop: Callable[[], str] | None = None
    """Called before the recording of a program that goes on ends; returns a warning, or nothing."""

    def __post_init__(self) -> None:
        directory, options = self.session.directory, self.session.options
        self._state = RecordingState.PAUSED if options.starts_paused else RecordingState.RECORDING
        self._journal = SpoolWriter(directory / "recorder.spool", "recorder")
        self._has_range = options.capture_range != "none"
        self._delayed = options.delay_ns > 0
        shown = RecordingState.DELAYED if self._delayed and self._has_range else self._state
        self._page = ControlPage(directory, shown, control_mask(options.trace))
        self._asked_steps = AskedSteps(self._page, self.warnings)
        # Whatever is recorded belongs to a snapshot of steps, which may be taken back.
        self._is_for_steps = False
        is_running = isinstance(self.target, RunningProgram)
        watched = Watched(
            directory=directory,
            root_pid=self.target.pid,
            starts_paused=options.starts_paused,
            is_running=is_running,
            options=options,
        )
        self._collectors = Collectors(watched, options.trace, self.said)
        self._sandboxes: SandboxFiles | None = None
        self._server = ControlServer(directory, self._answer)
        self.discard = False
        self._stop_asked = False
        self._limits: Limits | None = None
        self._driving: set[Any] = set()
        self._interrupts = 0
        self._interrupted_by: int | None = None
        self._ended_early = ""
        self._started_ns = 0
        self._recorded_ns = 0
        self._resumed_ns = 0
        self._status_due = 0
        self._stopped_ns = 0  # when a command ended the recording

    def begin(self, start_ns: int) -> None:
        """Start collecting. Capture time begins at ``start_ns`` (CLOCK_MONOTONIC), before the first instruction."""
        self._started_ns = self._resumed_ns = start_ns
        directory, options = self.session.directory, self.session.options
        self._limits = Limits(
            directory, options, passing_types(), now_ns=start_ns, lasting=lasting_types(), lives=life_types()
        )
        self._write_clock_pair()
        self._write_state(start_ns, self._state, "start")
        self._collectors.begin(paused=self._state is RecordingState.PAUSED)

    def watch(self) -> RecorderOutcome:
        """Record until the program ends, a limit is reached, a stop command arrives, or resources run out.

        Raises OSError and MemoryError when the end of the recording cannot be written.
        """
        try:
            with before_others():
                self._watch()
        except (OSError, MemoryError) as error:
            why = error.strerror if isinstance(error, OSError) else english("no memory")
            self.warnings.append(english("the recording ended before the program: {why}", why=why or error))
        return self._finish()

    def _watch(self) -> None:
        ended, pace = self.target.watch(), Pace()
        with contextlib.ExitStack() as stack, select.epoll() as poller:
            if ended is not None:
                stack.callback(os.close, ended)
                poller.register(ended, select.EPOLLIN)
            poller.register(self.signals.descriptor, select.EPOLLIN)
            poller.register(self._server.descriptors[0], select.EPOLLIN)
            for descriptor in self._collectors.descriptors:
                poller.register(descriptor, select.EPOLLIN | select.EPOLLET)
            next_tick = time.monotonic_ns()
            while not self._stop_asked and not self.target.has_ended():
                now = time.monotonic_ns()
                if now >= next_tick:
                    self._tick(now)
                    next_tick = min(max(next_tick + self._period_ns(), now), self._deadline(now))
                # Connected clients are not polled: they are served every 10 ms. There are only a few.
                clients = self._server.descriptors[1:]
                now = time.monotonic_ns()
                patience = min(max(0, next_tick - now) / 1e9, pace.patience_s(now))
                poller.poll(min(patience, 0.01) if clients else patience)
                self._collectors.drain()
                self._server.serve()
                self._obey_signals()

    def abandon(self) -> None:
        """Close everything without recording: the program could not be run."""
        self._close()

    def _deadline(self, now: int) -> int:
        """When the delay or the duration ends; far in the future if there is none."""
        if self._delayed:
            return self._started_ns + self.session.options.delay_ns
        duration = self.session.options.duration_ns
        if duration is not None and self._state is RecordingState.RECORDING:
            return now + max(0, duration - self._recorded_so_far(now))
        return 1 << 62

    def _period_ns(self) -> int:
        if self._has_range or self._page.steps_asked is not None:
            return _RANGE_PERIOD_NS
        return self._collectors.period_ns

    def _tick(self, now: int) -> None:
        options = self.session.options
        self._collectors.tick()
        if self._page.confined:
            self._extend_sandboxes(now)
        self._follow_range()
        if self._asked_steps.are_over(now):
            self._stop_asked = True
        if self._delayed and now - self._started_ns >= options.delay_ns:
            self._end_delay()
        if options.duration_ns is not None and self._recorded_so_far(now) >= options.duration_ns:
            self._stop_asked = True
        reason = self._limits.look(now) if self._limits is not None else ""
        if reason:
            self._stop_asked = True
            self.warnings.append(reason)
            self._ended_early = reason
        if now >= self._status_due:
            self._status_due = now + STATUS_PERIOD_NS
            self.report(self._status())

    def _extend_sandboxes(self, now: int) -> None:
        """Make room for processes in a sandbox. Few recordings have any, so the module is imported here."""
        if self._sandboxes is None:
            from warpline.recording.spool.sandboxes import SandboxFiles

            self._sandboxes = SandboxFiles(self.session.directory)
        self._sandboxes.extend(self._page.confined, now)

    def _recorded_so_far(self, now: int) -> int:
        """Recorded time in ns, without pauses."""
        running = now - self._resumed_ns if self._state is RecordingState.RECORDING else 0
        return self._recorded_ns + running

    @property
    def _is_unused(self) -> bool:
        """Whether the recording has waited all the time."""
        if not self.session.options.waits or self._page.snapshot_began_ns:
            return False
        return self._is_for_steps or (self._state is RecordingState.PAUSED and not self._recorded_ns)

    def _follow_range(self) -> None:
        """Pause or resume to match the capture ranges of the program, by the current state of the control page.

        The page is not changed here: the program may end a range at the same time.
        """
        is_paused = self._page.is_paused
        if is_paused is None or is_paused == (self._state is RecordingState.PAUSED):
            return
        self._delayed = False  # from now on the program decides
        now = time.monotonic_ns()
        if is_paused:
            self._collectors.pause()
            self._recorded_ns += now - self._resumed_ns
        else:
            self._collectors.resume()
            self._begin_capture(now)
            self._resumed_ns = now
        self._state = RecordingState.PAUSED if is_paused else RecordingState.RECORDING
        self._write_state(now, self._state, records.FOLLOWED)

    def _end_delay(self) -> None:
        """Start recording, or allow ranges to start it."""
        if self._has_range:
            self._delayed = False
            self._page.set_state(RecordingState.PAUSED)
        else:
            self._resume("delay")

    def _pause(self, reason: str) -> None:
        self._delayed = self._delayed and self._has_range  # a pause does not allow ranges yet
        if self._state is not RecordingState.RECORDING:
            return
        self._collectors.pause()
        now = self._page.set_state(RecordingState.PAUSED)
        self._recorded_ns += now - self._resumed_ns
        self._state = RecordingState.PAUSED
        self._write_state(now, self._state, reason)

    def _resume(self, reason: str) -> None:
        was_for_steps, self._is_for_steps, self._delayed = self._is_for_steps, False, False
        if self._state is not RecordingState.PAUSED:
            return
        if was_for_steps:  # which were taken back
            self._recorded_ns = 0
        now = self._page.set_state(RecordingState.RECORDING)
        self._begin_capture(now)
        self._resumed_ns = now
        self._state = RecordingState.RECORDING
        self._write_state(now, self._state, reason)
        self._collectors.resume()

    def _begin_capture(self, now: int) -> None:
        """Let the capture start with the first resume, not with a pause before it, or with the steps asked for."""
        options = self.session.options
        began = self._page.snapshot_began_ns
        if (options.is_driven or options.waits) and (began or not self._recorded_ns):
            now = began or now
            realtime = time.time_ns() - (time.monotonic_ns() - now)
            self.session = replace(self.session, start_monotonic_ns=now, start_realtime_ns=realtime)

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self._follow_range()
        command = request["command"]
        client = request.get("client")
        if command == "pause":
            self._driving.discard(client)
            # Several processes may drive one recording: it continues while any of them wants it.
            if not isinstance(client, int) or not any(process_stat(pid) for pid in self._driving):
                self._pause("control")
        elif command == "resume":
            if isinstance(client, int):
                self._driving.add(client)
            self._resume("control")
        elif command == "mark":
            if self._is_unused:  # the capture will begin later
                return {
                    "ok": False,
                    "error": english("nothing is recorded yet; mark moments once it has begun"),
                }
            text = self._journal.string(str(request.get("name") or "mark")[:LONGEST_MARK])
            self._journal.append_packed(records.MARK, records.mark.pack(time.monotonic_ns(), text, 0))
        elif command == "stop":
            self._stop_asked = True
            self._end_now()
            self.discard = bool(request.get("discard"))
            if request.get("terminate"):
                self.session = self.session.terminating()
        elif command == "snapshot":
            refusal = self._snapshot(request)
            if refusal:
                return {"ok": False, **refusal}
        return {"ok": True, **self._status()}

    def _end_now(self) -> None:
        """Let the recording end before the answer: what who asked does next is no part of it."""
        if not self._stopped_ns and self.before_stop is None:
            if self.session.options.waits:
                self._follow_range()
            self._stopped_ns = self._page.set_state(RecordingState.STOPPED)

    def _snapshot(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write the capture of what is recorded, or of steps to come; returns why not."""
        if "next_steps" in request:
            self._is_for_steps |= self._is_unused
            return ask_for_steps(self._page, request, self.said.get("steps"))
        if self._is_unused:
            return {"error": english("nothing is recorded yet; ask for steps to come: --next-steps 3")}
        self._stop_asked = True
        return {}

    def _obey_signals(self) -> None:
        for received in self.signals.take():
            self._interrupts += 1
            if isinstance(self.target, RunningProgram):
                self._stop_asked = True
                return
            if self._interrupts > 1:
                self._stop_asked = True
                self._interrupted_by = received.number
                return
            # The terminal signals the program as well. Other senders address us in its place: pass the signal on.
            if not received.by_terminal and not self._is_from_target(received.sender_pid):
                self.target.send(received.number)

    def _is_from_target(self, pid: int) -> bool:
        """Whether the sender of a signal is the program or a descendant, which signalled the whole group."""
        for _generation in range(64):
            if pid == self.target.pid:
                return True
            stat = process_stat(pid) if pid > 1 else None
            if stat is None:
                return False
            pid = stat.parent_pid
        return False

    def _finish(self) -> RecorderOutcome:
        if self.before_stop is not None and not self.target.has_ended():
            self.warnings += filter(None, [self.before_stop()])
        if self._state is RecordingState.RECORDING and not self.target.has_ended():
            self._collectors.stop()
        if self.session.options.waits:
            if not self._stopped_ns:
                self._follow_range()
            self.discard |= self._is_unused
            if self._page.snapshot_began_ns:  # we may have been held up until it was over
                self._begin_capture(self._page.snapshot_began_ns)
            first, until = self._page.steps_asked or (0, 0)
            self.session = replace(self.session, first_step=first, until_step=until)
        now = self._page.set_state(RecordingState.STOPPED)
        stop = self._stopped_ns or now
        self._collectors.drain()
        self._write_state(stop, RecordingState.STOPPED, "end")
        if not self.target.has_ended() and any(source.enabled for source in self.said.values()):
            time.sleep(AGENT_FLUSH_S)
        if self.session.options.terminate and isinstance(self.target, Target) and not self.target.has_ended():
            terminate(self.target)
        self._close()
        return RecorderOutcome(
            stop_monotonic_ns=stop,
            events=self._collectors.events,
            lost=self._lost,
            sources=tuple(self._collectors.reports()),
            warnings=tuple(self.warnings),
            interrupted_by=self._interrupted_by,
            ended_early=self._ended_early,
        )

    def _close(self) -> None:
        self._collectors.close()
        for source in self._collectors.reports():
            self._write_source(source)
        for warning in self.warnings:
            severity = records.LOSS if warning == self._ended_early else records.WARNING
            packed = records.message.pack(time.monotonic_ns(), self._journal.string(warning), severity)
            self._journal.append_packed(records.MESSAGE, packed)
        self._write_clock_pair()
        self._server.close()
        self._page.close()
        self._journal.close()

    @property
    def _lost(self) -> int:
        return sum(source.lost for source in self._collectors.reports()) + self._journal.lost

    def _status(self) -> dict[str, Any]:
        sources = self._collectors.reports()
        return {
            "state": self._state.name.lower(),
            "elapsed_ns": time.monotonic_ns() - self._started_ns,
            "events": self._collectors.events,
            "lost": self._lost,
            "target_pid": self.target.pid,
            "output": str(self.session.output),
            "steps": self._page.steps,
            "snapshot": self._page.steps_asked,
            "sources": [_source_json(source, source.name in self.said) for source in sources],
            "warnings": list(self.warnings),
        }

    def _write_state(self, time_ns: int, state: RecordingState, reason: str) -> None:
        packed = records.recording_state.pack(time_ns, int(state), self._journal.string(reason))
        self._journal.append_packed(records.RECORDING_STATE, packed)

    def _write_source(self, source: Source) -> None:
        write = self._journal.string
        row = (write(source.name), source.enabled, write(source.reason), write(source.remedy), source.lost)
        self._journal.append_packed(records.SOURCE_STATE, records.source_state.pack(*row))

    def _write_clock_pair(self) -> None:
        packed = records.clock_pair.pack(time.monotonic_ns(), time.time_ns(), 0)
        self._journal.append_packed(records.CLOCK_PAIR, packed)


def _source_json(source: Source, is_inside: bool) -> dict[str, Any]:
    return {
        "name": source.name,
        "enabled": source.enabled,
        "reason": source.reason,
        "lost": source.lost,
        "remedy": source.remedy,
        "is_inside": is_inside,
    }
