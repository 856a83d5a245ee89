"""A finding as lines of text, in the reader's language."""

from __future__ import annotations

from warpline.analysis.findings.finding import Diagnosis, Finding
from warpline.i18n import tr, translated
from warpline.model.markdown import markdown_text
from warpline.model.times import format_duration

_MOSTLY = 0.3
"""What is not explained of a range that is nevertheless called healthy."""


def verdict(found: Diagnosis) -> str:
    """What there is to say where no finding is more than a note; empty where one is. In the reader's language."""
    if found.budget is None or any(finding.severity != "note" for finding in found.findings):
        return ""
    unknown = found.budget.unexplained_ratio
    if unknown > _MOSTLY:
        return tr(
            "Too little is known to judge: what {percent:.0f} % of the time went to was not recorded.",
            percent=100 * unknown,
        )
    return tr("Nothing stands out; what is noted is small.") if found.findings else tr("Nothing stands out.")


def finding_says(finding: Finding) -> str:
    """The sentence, and what others did meanwhile."""
    said = " ".join(translated(text) for text in (finding.text, finding.within) if text)
    if not finding.meanwhile:
        return said
    doing = [
        tr("{who} {what}", who=translated(who), what=translated(what)) for who, what in finding.meanwhile
    ]
    return tr("{sentence} {meanwhile}.", sentence=said, meanwhile="; ".join(doing))


def finding_lines(finding: Finding, bullet: str) -> list[str]:
    """The sentence with its severity; then, after bullets, the gain, the remedy, what would tell more."""
    lines = [f"[{finding.severity}] {finding_says(finding)}"]
    if finding.gain_ns:
        lines.append(bullet + tr("Without it: at most {time} less.", time=format_duration(finding.gain_ns)))
    lines.append(bullet + translated(finding.remedy))
    if finding.needs:
        lines.append(bullet + translated(finding.needs))
    return lines


def finding_markdown(finding: Finding) -> str:
    """A finding with its chain, for a ticket or a pull request."""
    first, *rest = map(markdown_text, finding_lines(finding, "- "))
    chain = [f"{number}. {translated(hop.what)} `{hop.where}`" for number, hop in enumerate(finding.chain, 1)]
    return "\n".join([f"**{first}**", "", *rest, *(["", *chain] if chain else [])]) + "\n"


def finding_text(finding: Finding) -> str:
    """The same as plain text."""
    chain = [
        f"  {number}. {translated(hop.what)} · {hop.where}" for number, hop in enumerate(finding.chain, 1)
    ]
    return "\n".join([*finding_lines(finding, "  "), *chain]) + "\n"
