"""Rule: calls that block the thread of an event loop, so that no other task runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    all_but_longest,
    claim,
    cost,
    count_calls,
    doings,
    first_in_chain,
    groups,
    make_finding,
    place_known,
    stacks_like,
    unclaimed,
    usual_path,
)
from warpline.analysis.findings.finding import Finding
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import one_of
from warpline.analysis.findings.wait_kinds import is_loop_step
from warpline.analysis.findings.work.calls import calls_around, calls_text, counted_names
from warpline.i18n import english, english_n

_BLOCKS = tuple(
    int(cause) for cause in Cause if cause < Cause.RUNNABLE and cause not in (Cause.GIL, Cause.LAUNCH)
)


def find_blocked_loops(case: Case) -> Iterator[Finding]:
    """Find blocking calls inside a step of an event loop, grouped by line."""
    call = first_in_chain(case, stacks_like(case, is_loop_step) & one_of(case.segments.cause, _BLOCKS))
    pieces = unclaimed(case, call >= 0)
    for group in groups(case, pieces, case.group_of_segment[call[pieces]]):
        own = call[group.pieces]
        where = case.where(int(own[0]))
        path_shown = usual_path(case, group.pieces)
        text = english_n(
            "{count} blocking call stops the event loop for {time} of {whole} ({percent:.0f} %), at {place}. No other "
            "task of the loop runs meanwhile.",
            "{count} blocking calls stop the event loop for {time} of {whole} ({percent:.0f} %), at {place}. No other "
            "task of the loop runs meanwhile.",
            count_calls(case, own), place=place_known(where), **cost(case, group.time_ns),
        )  # fmt: skip
        counts = counted_names(case, calls_around(case, np.unique(own)))
        if counts:
            text = english("{sentence} The calls: {calls}.", sentence=text, calls=calls_text(counts))
        gain = case.gain_of_pieces(all_but_longest(case, group.pieces, own))
        yield from claim(case, group.pieces, make_finding(
            case, name="blocks_event_loop", title=english("Event loop blocked"), text=text, pieces=group.pieces,
            gain_ns=gain, where=where, path=path_shown, meanwhile=doings(case, path_shown),
            remedy=english(
                "Await an asynchronous version of the call, or run it in a thread: asyncio.to_thread, run_in_executor."
            ),
        ))  # fmt: skip


rules = (Rule("blocked_loops", "locks", find_blocked_loops, order=10),)
