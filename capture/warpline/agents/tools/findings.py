"""Tools about findings: what the hardware waited for, and the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warpline.agents.session import ToolCall
from warpline.agents.texts import joined, not_recorded
from warpline.agents.tool import CAPTURE, RANGE, Tool, ToolArgument
from warpline.model.errors import UsageError
from warpline.model.times import format_duration

if TYPE_CHECKING:
    from warpline.analysis.findings.finding import Diagnosis, Finding
    from warpline.library.capture_reader import CaptureReader

_LEAST_SHARE = 0.001
_HOPS = 4
_OF = ToolArgument(
    "string", "URI of the thread, GPU, stream or rank to check; default the busiest GPU, else main thread"
)
_STEP = ToolArgument("string", "name of the ranges that are steps")


def _diagnosis(call: ToolCall, reader: CaptureReader, given: dict[str, Any]) -> Diagnosis:
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.framework.options import Options
    from warpline.analysis.framework.selection import View
    from warpline.analysis.structure.steps import find_steps, missing_steps
    from warpline.library.selecting import range_ns, select

    capture = reader.storage
    view = View(capture, select(capture, reader.path, range_ns(given["range"])), call.cancelled.is_set)
    options = Options(step=given["step"])
    if given["step"] and not len(find_steps(view, options)):
        raise UsageError(str(missing_steps(options).reason))
    return diagnose(view, call.progress, options=options, of=given["of"])


def _check(call: ToolCall, given: dict[str, Any]) -> str:
    reader = call.reader(given["capture"])
    diagnosis = _diagnosis(call, reader, given)
    budget = diagnosis.budget
    if budget is None:
        return not_recorded(diagnosis.reason, diagnosis.remedy)
    from warpline.analysis.findings.wording import headline, verdict

    whole = max(budget.stop_ns - budget.start_ns, 1)
    origin = reader.storage.span[0]
    lines = [
        headline(diagnosis),
        f"range: {format_duration(budget.start_ns - origin)} to {format_duration(budget.stop_ns - origin)}",
        "budget: "
        + "; ".join(
            f"{part.title} {100 * part.time_ns / whole:.1f} % ({format_duration(part.time_ns)})"
            for part in budget.parts
            if part.time_ns >= _LEAST_SHARE * whole
        ),
        *diagnosis.notices,
    ]
    if result := verdict(diagnosis):
        lines.append(result)
    for number, finding in enumerate(diagnosis.findings[: given["findings"]], 1):
        lines += ["", *_finding_lines(finding, number)]
    more = len(diagnosis.findings) - given["findings"]
    if more > 0:
        lines += ["", f"not shown: {more} (findings={len(diagnosis.findings)} shows all)"]
    return joined(lines)


def _finding_lines(finding: Finding, number: int) -> list[str]:
    from warpline.analysis.findings.wording import finding_sentence

    lines = [f"{number}. {finding.severity} id={finding.id}: {finding_sentence(finding)}"]
    if finding.where.file:
        lines.append(
            f"   at: {finding.where.file}:{finding.where.line} in {finding.where.function or 'unknown'}"
        )
    if finding.gain_ns:
        lines.append(f"   fixing it saves at most {format_duration(finding.gain_ns)}")
    if finding.remedy:
        lines.append(f"   remedy: {finding.remedy}")
    if finding.needs:
        lines.append(f"   for more detail: {finding.needs}")
    if finding.chain and number == 1:
        hops = [_hop_text(hop.action, str(hop.where), hop.row) for hop in finding.chain[:_HOPS]]
        lines.append(f"   chain: {' ← '.join(hops)}")
    return lines


def _hop_text(action: str, where: str, row: int) -> str:
    event = f" [event {row}]" if row >= 0 else ""
    return f"{action} {where}".strip() + event


def _why(call: ToolCall, given: dict[str, Any]) -> str:
    reader = call.reader(given["capture"])
    diagnosis = _diagnosis(call, reader, given)
    if diagnosis.budget is None:
        return not_recorded(diagnosis.reason, diagnosis.remedy)
    matches = [finding for finding in diagnosis.findings if finding.id == given["id"]]
    if not matches:
        known = ", ".join(dict.fromkeys(finding.id for finding in diagnosis.findings)) or "none"
        raise UsageError(f"no finding {given['id'][:80]!r}; there are: {known}")
    from warpline.analysis.findings.refutations import refutation
    from warpline.analysis.findings.why import event_line, longest_events, number_lines

    capture, origin = reader.storage, reader.storage.span[0]
    lines: list[str] = []
    for finding in matches[:3]:
        lines += _finding_lines(finding, 1)
        lines += [f"   {line}" for line in number_lines(finding, diagnosis.budget, origin)]
        lines += [f"   [event {row}] {event_line(capture, row)}" for row in longest_events(finding, capture)]
        lines += [f"   {refutation(finding)}", ""]
    return joined(lines).rstrip()


TOOLS = (
    Tool(
        name="check",
        description="Start here: where the time went, what was waited for and why; findings with source line, "
        "upper bound of the gain, remedy.",
        run=_check,
        arguments={
            "capture": CAPTURE,
            "range": RANGE,
            "of": _OF,
            "step": _STEP,
            "findings": ToolArgument("integer", "how many", default=3, least=1, most=50),
        },
    ),
    Tool(
        name="why",
        description="Evidence of a finding: numbers, chain of waits, longest events, what would refute it.",
        run=_why,
        arguments={
            "capture": CAPTURE,
            "id": ToolArgument("string", "id of a finding of check"),
            "range": RANGE,
            "of": ToolArgument("string"),
            "step": ToolArgument("string"),
        },
        required=("id",),
    ),
)
