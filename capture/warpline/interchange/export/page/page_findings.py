"""The findings of a page: where the time of the exported part went, in sentences."""

from __future__ import annotations

import html

from warpline.analysis.findings.diagnose import AT_MOST, diagnose
from warpline.analysis.findings.wording import finding_lines, headline
from warpline.analysis.framework.selection import Selection, View
from warpline.i18n import tr
from warpline.interchange.export.exporter import ExportJob


def page_findings(job: ExportJob) -> str:
    """A heading, the headline and a list of findings, as `warpline check` prints them; empty without a diagnosis."""
    view = View(job.capture, _selection(job), job.is_cancelled)
    diagnosis = diagnose(view, lambda fraction, _text: job.progress(0.6 + 0.3 * fraction, tr("judging")))
    if diagnosis.budget is None:
        return ""
    items = "".join(
        "<li>"
        + "".join(f"<p>{html.escape(line.strip())}</p>" for line in finding_lines(finding, ""))
        + "</li>"
        for finding in diagnosis.findings[:AT_MOST]
    )
    title, first = html.escape(tr("Findings")), html.escape(headline(diagnosis))
    return f"<h2>{title}</h2><p>{first}</p>" + (f"<ul>{items}</ul>" if items else "")


def _selection(job: ExportJob) -> Selection:
    chosen = job.selection
    if not chosen.is_bounded:
        return Selection(tracks=chosen.tracks)
    return Selection(*chosen.interval(job.capture), tracks=chosen.tracks)
