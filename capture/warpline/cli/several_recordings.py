"""Commands to the recordings of several machines at once, and snapshots of the same steps of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpline.memory_room import require_memory
from warpline.model.errors import WarplineError
from warpline.recording.control import send_to_all

if TYPE_CHECKING:
    from warpline.recording.remote.near.transport import FarMachine

_MOST_AT_ONCE = 64
_ATTEMPTS = 6


@dataclass(frozen=True)
class RecorderReply:
    """The reply of a recorder, or its ``error``. ``host`` is empty for this machine."""

    host: str
    reply: dict[str, Any]

    @property
    def error(self) -> str:
        """What went wrong; empty when nothing did."""
        return "" if self.reply.get("ok") else str(self.reply.get("error"))


@dataclass(frozen=True)
class SeveralRecordings:
    """The recordings on some machines; None stands for this one. ``which`` names one on each, by default all."""

    places: Sequence[FarMachine | None]
    which: str | None

    def ask(self, command: str, **fields: Any) -> list[RecorderReply]:
        """Send a command to all of them at once."""
        count = min(len(self.places), _MOST_AT_ONCE)
        require_memory(count)
        with ThreadPoolExecutor(count) as pool:
            parts = pool.map(lambda place: self._ask_one(place, command, fields), self.places)
            return [answer for part in parts for answer in part]

    def snapshot(self, next_steps: int) -> list[RecorderReply]:
        """Have all of them record the same steps to come: the first ones that no training has begun by then.

        If one of them refuses, none records.
        """
        answers = self.ask("status")
        if len(answers) == 1 and not answers[0].error:
            return self.ask("snapshot", next_steps=next_steps)
        for attempt in range(1, _ATTEMPTS + 1):
            before, answers = answers, self.ask("status")
            if any(answer.error for answer in answers):
                return answers
            gained = max(0, _most_steps(answers) - _most_steps(before))
            # The answers may be as old as asking takes: `gained` steps end meanwhile, and as many during the request.
            # A busy machine may take far longer for the request: then leave more room.
            first = max(2, _most_steps(answers) + 1 + 2**attempt * gained)
            replies = self.ask("snapshot", next_steps=next_steps, first=first)
            if not any(answer.error for answer in replies):
                return replies
            self.ask("snapshot", next_steps=0)
            if not any(answer.reply.get("is_late") for answer in replies):
                return replies
        return replies

    def _ask_one(self, place: FarMachine | None, command: str, fields: dict[str, Any]) -> list[RecorderReply]:
        host = "" if place is None else place.title
        try:
            if place is None:
                replies = send_to_all(self.which, command, **fields)
            else:
                from warpline.recording.remote.near.questions import control_all_on

                replies = control_all_on(place, self.which, command, fields)
        except WarplineError as error:
            replies = [{"ok": False, "error": str(error)}]
        return [RecorderReply(host, reply) for reply in replies]


def _most_steps(answers: Sequence[RecorderReply]) -> int:
    return max((answer.reply.get("steps", 0) for answer in answers if not answer.error), default=0)
