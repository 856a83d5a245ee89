"""Diagnoses a range of a capture: its time budget and findings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warpline.analysis.findings.asynchronous import diagnose_requests
from warpline.analysis.findings.budget import budget_of
from warpline.analysis.findings.case import Case
from warpline.analysis.findings.finding import Budget, Diagnosis, Finding, Where, is_visible
from warpline.analysis.findings.make_case import make_case
from warpline.analysis.findings.rule import Rule, all_rules, builtin_rules
from warpline.analysis.findings.scope import find_scope, find_target
from warpline.analysis.findings.work.usual_place import usual_place
from warpline.analysis.framework.allocation import kept_memory, release_freed
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selection import Selection, View
from warpline.i18n import english, tr
from warpline.model.errors import Cancelled
from warpline.model.launch_calls import missing_work
from warpline.model.progress import Progress, unwatched

_DOUBTFUL = 0.7
AT_MOST = 5
"""How many findings are shown by default."""
_LARGE = 1 << 22
"""From so many segments on, memory that a rule has freed goes back to the kernel before the next one starts."""
_WARM_UP_FINDINGS = ("first_steps", "cold_cache", "outside_steps")
"""Their time lies outside the range, so no cause of the budget covers it."""


def diagnose(
    view: View, progress: Progress = unwatched, options: Options | None = None, of: str | None = None
) -> Diagnosis:
    """Explain what the busiest GPU, else the main thread, waited for in a range; or the track with the URI ``of``.

    A view of the whole capture means its steady steps, if it has steps. Every nanosecond of the range has one cause.
    The findings are all there are, largest gain first.

    Raises UsageError when the URI names no thread, GPU, stream or rank; Cancelled when the view was cancelled.
    """
    progress(0.0, tr("Reading what was recorded"))
    with kept_memory():
        case = open_case(view, options, of, progress)
        return case if isinstance(case, Diagnosis) else _diagnosis(case, progress)


def _diagnosis(case: Case, progress: Progress) -> Diagnosis:
    release_freed()
    budget = budget_of(case)
    rules, notices = all_rules()
    builtin = builtin_rules()
    findings: list[Finding] = []
    for number, rule in enumerate(rules):
        case.view.check_cancelled()
        case.watched.progress = _part_of(progress, 0.6 + 0.4 * number / len(rules), 0.4 / len(rules))
        case.watched.progress(0.0, tr("Following the waits"))
        if len(case.segments) >= _LARGE:
            release_freed()
        if rule in builtin:
            findings += rule.find(case)
        else:
            installed, errors = _run_installed(rule, case)
            findings += installed
            notices += errors
    if not case.gpus and (missing := _missing_work(case)):
        notices = (missing, *notices)
    elif not case.gpus and case.view.capture.devices:
        if any(track.role == "stream" for track in case.view.capture.tracks):
            unknown = english("No {device} work was recorded in this range.", device=case.device)
        else:
            unknown = english(
                "{device} activity was not recorded, so what it waited for is unknown.", device=case.device
            )
        notices = (unknown, *notices)
    findings = [
        finding for finding in findings if not finding.gain_ns or is_visible(finding.gain_ns, case.whole_ns)
    ]
    diagnosis = Diagnosis(budget, _ordered(findings), notices=(*case.scope.notices, *notices))
    return replace(diagnosis, where=_usual_where(case, diagnosis))


def _missing_work(case: Case) -> str:
    """A sentence about GPU work that was launched but not recorded, and how to record it; else empty."""
    capture = case.view.capture
    files = capture.meta.get("imported_from")
    formats = (
        [str(file.get("format")) for file in files if isinstance(file, dict)]
        if isinstance(files, list)
        else []
    )
    kinds = [name for name, table in capture.kinds.items() if len(table)]
    if "cuda_api" not in kinds:
        return ""
    names = np.unique(case.view.names(capture.kinds["cuda_api"].rows)).tolist()
    return missing_work(kinds, capture.strings.get(names), formats)


def _usual_where(case: Case, diagnosis: Diagnosis) -> Where:
    """The place with most time of the leading part of the budget."""
    if diagnosis.leading is None:
        return Where()
    if diagnosis.leading.cause == "ranges":
        return next((finding.where for finding in diagnosis.findings if finding.id == "ranges"), Where())
    return usual_place(case, diagnosis.leading.cause)


def _part_of(progress: Progress, start: float, length: float) -> Progress:
    """Progress of a part of the work that begins at ``start``."""
    return lambda fraction, text: progress(start + length * fraction, text)


def _run_installed(rule: Rule, case: Case) -> tuple[list[Finding], tuple[str, ...]]:
    """The findings of an installed rule, or a sentence about its error, which must not stop other rules."""
    try:
        findings = list(rule.find(case))
    except Cancelled:
        raise
    # A rule of another distribution may raise anything.
    except Exception as error:
        reason = str(error) or type(error).__name__
    else:
        if all(isinstance(finding, Finding) for finding in findings):
            return findings, ()
        reason = english("it returned something that is not a Finding")
    return [], (english("rule {name} failed: {reason}", name=rule.name, reason=reason),)


def cases_of(view: View, options: Options) -> list[tuple[int, Case]] | Diagnosis:
    """The case of each rank as (rank, case), rank −1 without ranks; or a Diagnosis with the reason there is none."""
    capture = view.capture
    ranks = sorted({t.rank for t in capture.tracks if t.rank is not None and t.index in view.tracks})
    chosen = view.selection
    cases: list[tuple[int, Case]] = []
    missing = Diagnosis(None)
    for rank in ranks or [-1]:
        own = frozenset([rank]) if rank >= 0 else chosen.ranks
        # A thread's waits are explained by its other tracks and other threads, so the whole rank is needed.
        case = open_case(view.other(Selection(chosen.start_ns, chosen.stop_ns, ranks=own)), options)
        if isinstance(case, Diagnosis):
            missing = case
        else:
            cases.append((rank, case))
    return cases or missing


def budgets_of(view: View, options: Options) -> list[tuple[int, Budget]] | Diagnosis:
    """The budgets of `cases_of`."""
    cases = cases_of(view, options)
    return cases if isinstance(cases, Diagnosis) else [(rank, budget_of(case)) for rank, case in cases]


def open_case(
    view: View, options: Options | None = None, of: str | None = None, progress: Progress = unwatched
) -> Case | Diagnosis:
    """The case of a range, or a Diagnosis with the reason there is none."""
    target = find_target(view, of)
    if target is None:
        return diagnose_requests(view) or Diagnosis(
            None,
            reason=english("no thread or GPU activity was recorded"),
            remedy=english("record the program with warpline record"),
        )
    scope = find_scope(view, target, options or Options())
    if target.reason:
        scope = replace(scope, notices=(target.reason, *scope.notices))
    if view.duration_ns <= 0 and view.is_whole:
        return Diagnosis(
            None,
            reason=english("the capture is a single moment: it has no duration"),
            remedy=english("record for longer"),
        )
    if scope.view.duration_ns <= 0:
        return Diagnosis(
            None,
            reason=english("the range is empty"),
            remedy=english("select a longer one"),
        )
    return make_case(scope, target, progress)


def _ordered(findings: list[Finding]) -> tuple[Finding, ...]:
    order = {"critical": 0, "warning": 1, "note": 2}

    def key(finding: Finding) -> tuple[int, bool, bool, int, bool, int]:
        # Last come notes about other programs, which no change to this one would help, and notes whose time already
        # counts under other causes.
        is_repeated = not finding.time_ns and finding.id not in _WARM_UP_FINDINGS
        is_note = finding.severity == "note"
        is_last = is_note and (finding.id == "waits_for_core" or is_repeated)
        # Slow first steps cost the range nothing, but they cost the program time.
        is_warm_up = finding.id in _WARM_UP_FINDINGS
        # A program that only runs, or keeps a pace, is described by that, though it gains nothing.
        is_usual = is_note and (
            finding.id == "hot_spot" or (finding.id == "waits_for_sleep" and not finding.gain_ns)
        )
        weight = finding.time_ns if is_usual else finding.gain_ns
        if finding.id == "serial_requests":
            # Whether the requests depend on each other is unknown, so a certain finding of similar gain comes first.
            weight = int(weight * _DOUBTFUL)
        is_failure = finding.id == "program_failed"
        return order[finding.severity], not is_failure, is_last, -weight, not is_warm_up, -finding.time_ns

    return tuple(sorted(findings, key=key))
