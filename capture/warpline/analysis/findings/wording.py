"""A finding as lines of text, in the reader's language."""

from __future__ import annotations

from warpline.analysis.findings.finding import Finding
from warpline.i18n import tr, translated
from warpline.model.markdown import markdown_text
from warpline.model.times import format_duration


def finding_lines(finding: Finding, bullet: str) -> list[str]:
    """The sentence with its severity; then, after bullets, the gain, the remedy, what would tell more."""
    lines = [f"[{finding.severity}] {translated(finding.text)}"]
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
