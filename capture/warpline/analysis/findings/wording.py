"""A finding as lines of text, in the reader's language."""

from __future__ import annotations

from warpline.analysis.findings.catalogue.hot_spots import RUNNING
from warpline.analysis.findings.draft import place_of
from warpline.analysis.findings.finding import Diagnosis, Finding, Severity
from warpline.i18n import tr, translated
from warpline.model.markdown import markdown_text
from warpline.model.times import format_duration
from warpline.untrusted import listing

_WORK = frozenset(("hot_spot", "ranges", "asynchronous_requests"))
"""Findings that describe work, not waiting."""
_MOSTLY = 0.3
"""A range counts as healthy if at most this share of it is unexplained."""


def headline(diagnosis: Diagnosis) -> str:
    """Where the time went, in a sentence or two, translated; empty without a budget."""
    budget, part = diagnosis.budget, diagnosis.leading
    if budget is None or part is None:
        return ""
    whole = max(budget.stop_ns - budget.start_ns, 1)
    place = place_of(diagnosis.where)
    fields: dict[str, str | float] = {
        "actor": translated(budget.waited_for),
        "whole": format_duration(whole),
        "percent": 100 * part.time_ns / whole,
        "part": translated(part.title),
        "place": place,
    }
    if place:
        text = tr("{actor}: {percent:.0f} % of {whole} went to: {part}, mostly {place}.", **fields)
    else:
        text = tr("{actor}: {percent:.0f} % of {whole} went to: {part}.", **fields)
    largest = budget.parts[0]
    if largest is part:
        return text
    percent = 100 * largest.time_ns / whole
    return followed_by(
        text, tr("{percent:.0f} % went to: {part}.", percent=percent, part=translated(largest.title))
    )


_OF_RUNNING_CODE = {
    "sampled",
    "idle",
    "imports",
    "gc",
    "active",
    "ranges",
    "between_ranges",
    "not_recorded",
    "not_alive",
}
"""Categories of the budget of a profile that tells nothing about waits."""


def verdict(diagnosis: Diagnosis) -> str:
    """The overall result, translated, when every finding is only a note; otherwise empty."""
    if diagnosis.budget is None or any(finding.severity != "note" for finding in diagnosis.findings):
        return ""
    unknown = diagnosis.budget.unexplained_ratio
    if unknown > _MOSTLY:
        return tr(
            "Too little was recorded to judge: {percent:.0f} % of the time is unexplained.",
            percent=100 * unknown,
        )
    whole = max(diagnosis.budget.stop_ns - diagnosis.budget.start_ns, 1)
    parts = diagnosis.budget.parts
    sampled = sum(part.time_ns for part in parts if part.cause in ("sampled", "idle"))
    if sampled > _MOSTLY * whole and {part.cause for part in parts} <= _OF_RUNNING_CODE:
        return tr("Samples tell only about running code.")
    # Running is what a healthy program does, unless it is of a kind that can be avoided.
    waits = [
        finding.share
        for finding in diagnosis.findings
        if finding.id != "hot_spot" or (finding.gain_ns and finding.title != RUNNING)
    ]
    if not waits:
        return tr("No problem found.")
    if max(waits) <= _MOSTLY:
        return tr("No serious problem found; only minor notes.")
    return tr(
        "Nothing here is certainly a problem; the largest note covers {percent:.0f} % of the time.",
        percent=100 * max(waits),
    )


def finding_sentence(finding: Finding) -> str:
    """The finding in one paragraph, with what other threads did meanwhile; translated."""
    text = translated(finding.text)
    if finding.within:
        text = followed_by(text, translated(finding.within))
    if not finding.meanwhile:
        return text
    doings = [
        tr("{actor} {action}", actor=translated(doing.actor), action=translated(doing.action))
        for doing in finding.meanwhile
    ]
    return tr("{sentence} Meanwhile: {doings}.", sentence=text, doings=tr("; ", "list").join(doings))


def severity_word(severity: Severity) -> str:
    """``critical``, ``warning`` or ``note`` in the reader's language."""
    return {
        Severity.CRITICAL: tr("critical", "severity"),
        Severity.WARNING: tr("warning", "severity"),
        Severity.NOTE: tr("note", "severity"),
    }[severity]


def followed_by(sentence: str, next_sentence: str) -> str:
    """Two sentences; some languages put no space between them."""
    return tr("{first} {second}", "sentences", first=sentence, second=next_sentence)


def finding_lines(finding: Finding, bullet: str) -> list[str]:
    """The sentence with its severity; below it, as bullets, the gain, the remedy, and what to record."""
    lines = [f"[{severity_word(finding.severity)}] {finding_sentence(finding)}"]
    if finding.gain_ns > finding.time_ns > 0:
        lines.append(
            bullet
            + tr(
                "Fixing it saves up to {time}: the {own} that it runs, and {rest} in which it waits for a core.",
                time=format_duration(finding.gain_ns),
                own=format_duration(finding.time_ns),
                rest=format_duration(finding.gain_ns - finding.time_ns),
            )
        )
    elif finding.gain_ns:
        lines.append(bullet + tr("Fixing it saves up to {time}.", time=format_duration(finding.gain_ns)))
    lines.append(bullet + translated(finding.remedy))
    if finding.needs:
        lines.append(bullet + translated(finding.needs))
    return lines


def finding_markdown(finding: Finding) -> str:
    """A finding with its chain, for a ticket or a pull request."""
    first, *rest = map(markdown_text, finding_lines(finding, "- "))
    chain = [
        f"{number}. {translated(hop.action)} `{hop.where}`" for number, hop in enumerate(finding.chain, 1)
    ]
    return listing([f"**{first}**", "", *rest, *(["", *chain] if chain else [])]) + "\n"


def finding_text(finding: Finding) -> str:
    """A finding with its chain as plain text."""
    chain = [
        f"  {number}. {translated(hop.action)} · {hop.where}" for number, hop in enumerate(finding.chain, 1)
    ]
    return listing([*finding_lines(finding, "  "), *chain]) + "\n"
