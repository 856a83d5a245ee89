"""From a range of a capture to its time budget and what stands out in it."""

from __future__ import annotations

from warpline.analysis.findings.budget import budget_of
from warpline.analysis.findings.case import Case, make_case
from warpline.analysis.findings.finding import Budget, Diagnosis, Finding
from warpline.analysis.findings.rule import Rule, all_rules, builtin_rules
from warpline.analysis.findings.scope import find_scope, find_target
from warpline.analysis.framework.allocation import kept_memory
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selection import Selection, View
from warpline.i18n import english, tr
from warpline.model.errors import Cancelled
from warpline.model.progress import Progress, unwatched

AT_MOST = 5
"""Findings that are shown unless more are asked for."""
_OF_WARM_UP = ("first_steps", "cold_cache")
"""What these cost lies before the range: no cause in it tells of that."""


def diagnose(
    view: View, progress: Progress = unwatched, options: Options | None = None, of: str | None = None
) -> Diagnosis:
    """What the hardware waited for in a range (a view of the whole: in its steady steps, where there are steps): a GPU
    where there is one, else the program's main thread; or ``of``, the URI of a thread, a GPU, a stream or a rank.

    Every nanosecond of the range has one cause. Findings come most gain first, all of them.

    Raises UsageError for a URI that names none, Cancelled when the view was cancelled.
    """
    progress(0.0, tr("Reading what was recorded"))
    with kept_memory():
        case = open_case(view, options, of, progress)
        return case if isinstance(case, Diagnosis) else _diagnosis(case, progress)


def _diagnosis(case: Case, progress: Progress) -> Diagnosis:
    budget = budget_of(case)
    rules, said = all_rules()
    own = builtin_rules()
    findings: list[Finding] = []
    for number, rule in enumerate(rules):
        case.view.check_cancelled()
        case.watched.progress = _part_of(progress, 0.6 + 0.4 * number / len(rules), 0.4 / len(rules))
        case.watched.progress(0.0, tr("Following the waits"))
        if rule in own:
            findings += rule.find(case)
        else:
            found, trouble = _of_others(rule, case)
            findings += found
            said += trouble
    if not case.gpus and case.view.capture.devices:
        unknown = english(
            "What the {device} did was not recorded: what it waited for is not known.", device=case.device
        )
        said = (unknown, *said)
    return Diagnosis(budget, _ordered(findings), said=(*case.scope.said, *said))


def _part_of(progress: Progress, start: float, length: float) -> Progress:
    """Progress of a part of the work, from ``start`` on."""
    return lambda fraction, text: progress(start + length * fraction, text)


def _of_others(rule: Rule, case: Case) -> tuple[list[Finding], tuple[str, ...]]:
    """What an installed rule finds, or a sentence on what is wrong with it: the others are heard whatever it does."""
    try:
        found = list(rule.find(case))
    except Cancelled:
        raise
    # A rule of another distribution may raise anything: what it broke is its own finding, not the diagnosis.
    except Exception as error:
        reason = str(error) or type(error).__name__
    else:
        if all(isinstance(finding, Finding) for finding in found):
            return found, ()
        reason = english("it gives something that is no Finding")
    return [], (english("rule {name} failed: {reason}", name=rule.name, reason=reason),)


def cases_of(view: View, options: Options) -> list[tuple[int, Case]] | Diagnosis:
    """Everything that is waited for, rank by rank: (rank, −1 without ranks; case); or why nothing can be told."""
    capture = view.capture
    ranks = sorted({t.rank for t in capture.tracks if t.rank is not None and t.index in view.tracks})
    chosen = view.selection
    found: list[tuple[int, Case]] = []
    missing = Diagnosis(None)
    for rank in ranks or [-1]:
        own = frozenset([rank]) if rank >= 0 else chosen.ranks
        # The waits of a thread are told by its other tracks and by other threads: all of a rank is needed.
        case = open_case(view.other(Selection(chosen.start_ns, chosen.stop_ns, ranks=own)), options)
        if isinstance(case, Diagnosis):
            missing = case
        else:
            found.append((rank, case))
    return found or missing


def budgets_of(view: View, options: Options) -> list[tuple[int, Budget]] | Diagnosis:
    """The budgets of `cases_of`."""
    found = cases_of(view, options)
    return found if isinstance(found, Diagnosis) else [(rank, budget_of(case)) for rank, case in found]


def open_case(
    view: View, options: Options | None = None, of: str | None = None, progress: Progress = unwatched
) -> Case | Diagnosis:
    """Everything that is waited for in a range, or why nothing can be told."""
    target = find_target(view, of)
    if target is None:
        return Diagnosis(
            None,
            reason=english("no thread and no GPU did anything that was recorded"),
            remedy=english("record the program with warpline record"),
        )
    scope = find_scope(view, target, options or Options())
    if scope.view.duration_ns <= 0:
        return Diagnosis(
            None,
            reason=english("the range is empty"),
            remedy=english("select a longer one"),
        )
    return make_case(scope, target, progress)


def _ordered(findings: list[Finding]) -> tuple[Finding, ...]:
    order = {"critical": 0, "warning": 1, "note": 2}

    def key(one: Finding) -> tuple[int, bool, int, bool, int]:
        # What neighbours on the machine take is worth a note, and the last: nothing of the program would change it.
        # So are steps that differ: their time is told under its causes.
        is_told = not one.time_ns and one.id not in _OF_WARM_UP
        is_last = one.severity == "note" and (one.id == "waits_for_core" or is_told)
        # Longer first steps gain the range nothing, but the program what they cost.
        return order[one.severity], is_last, -one.gain_ns, one.id not in _OF_WARM_UP, -one.time_ns

    return tuple(sorted(findings, key=key))
