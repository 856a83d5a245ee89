"""A comparison in lines for a terminal, and as Markdown for a pull request."""

from __future__ import annotations

import math
from collections.abc import Sequence

from warpline.analysis.compare.alignment import Align
from warpline.analysis.compare.comparison import Comparison, Side
from warpline.analysis.compare.gate import Judgement
from warpline.analysis.compare.metadata import GROUPS, FactChange
from warpline.analysis.compare.names import lines_of
from warpline.analysis.compare.predictions import prediction_text
from warpline.analysis.compare.tables import RowChange, TableComparison
from warpline.analysis.compare.variation import Variation
from warpline.analysis.compare.waterfall import Contributor, TimePart
from warpline.analysis.framework.column import Role
from warpline.analysis.framework.fitting import fit_names
from warpline.i18n import sentences, tr, tr_n, translated
from warpline.model.markdown import markdown_text
from warpline.model.sizes import format_bytes
from warpline.model.times import format_duration

ROWS = 15
CONTRIBUTORS = 3
_TWICE, _TIMES = 2, 10
_NAME_WIDTH = 120
_NAMED = 8
"""How many facts found on only one side are named; JSON has all."""
NOTHING = "–"
_WORTH_A_LINE = 0.01
"""Contributors with a smaller share of the difference are left out of the text."""


def signed_duration(value_ns: float) -> str:
    """``+3.2 ms``, ``-10 µs``."""
    return f"{'+' if value_ns >= 0 else '-'}{format_duration(round(abs(value_ns)))}"


def signed_percent(a: float, b: float) -> str:
    """The change from A to B in percent, or as a factor from 2 on; empty when A is 0."""
    if not a or a == b:
        return ""
    if b < _TWICE * a:
        return f"{100 * (b / a - 1):+.1f} %"
    return f"× {b / a:.1f}" if b < _TIMES * a else f"× {b / a:,.0f}"


def value_text(role: Role, value: float | None) -> str:
    """A value of a compared column; a dash when not recorded."""
    if value is None:
        return tr("absent")
    if math.isnan(value):
        return NOTHING
    if role is Role.DURATION:
        return format_duration(round(value))
    return format_bytes(round(value)) if role is Role.SIZE else f"{value:,.0f}"


def difference_text(role: Role, value: float) -> str:
    """A difference of a compared column; a dash when a side was not recorded."""
    if math.isnan(value):
        return NOTHING
    if role is Role.DURATION:
        return signed_duration(value)
    if role is Role.SIZE:
        return f"{'+' if value >= 0 else '-'}{format_bytes(round(abs(value)))}"
    return f"{value:+,.0f}"


def share_text(share: float | None) -> str:
    """A share of the whole difference, as a factor from 10 on; empty when nothing differs."""
    if share is None or math.isnan(share):
        return ""
    return f"{100 * share:.1f} %" if abs(share) < _TIMES else f"× {share:,.0f}"


def row_state(row: RowChange | Contributor) -> str:
    """``new``, ``gone``, or empty."""
    is_new = row.is_new if isinstance(row, Contributor) else row.a is None
    is_gone = row.is_gone if isinstance(row, Contributor) else row.b is None
    return tr("new") if is_new else tr("gone") if is_gone else ""


def moved_text(item: RowChange | Contributor) -> str:
    """From which lines to which a function moved; empty when it did not."""
    a, b = (", ".join(map(str, lines_of(names))) for names in (item.names_a, item.names_b))
    return tr("line {a} → {b}", a=a, b=b) if a != b and a and b else ""


def marked(name: str, item: RowChange | Contributor | TimePart) -> str:
    """A name, marked as new, gone, moved or noise."""
    state = "" if isinstance(item, TimePart) else row_state(item) or moved_text(item)
    if not state and not isinstance(item, Contributor) and item.is_noise:
        state = tr("noise")
    return f"{name} ({state})" if state else name


def alignment_text(comparison: Comparison) -> str:
    """A sentence about what is compared."""
    if comparison.aligned_by is Align.START:
        return tr("Compared: the whole captures.")
    if comparison.aligned_by is Align.RANGE and not comparison.choices.range_name:
        return tr("Compared: the chosen ranges.")
    count_a, count_b = len(comparison.a.all_windows), len(comparison.b.all_windows)
    if comparison.choices.is_each:
        text = tr_n(
            "Compared: {count:,} step with its counterpart.",
            "Compared: {count:,} steps, each with its counterpart.",
            len(comparison.a.windows),
        )
    elif comparison.choices.step is not None:
        text = tr("Compared: step {number} of each side.", number=comparison.choices.step)
    elif count_a == count_b == 1:
        text = tr(
            "Compared: the only step of each side, step {a} and step {b}.",
            a=int(comparison.a.windows.number[0]),
            b=int(comparison.b.windows.number[0]),
        )
    else:
        text = tr(
            "Compared: the median step of each side, step {a} of {count_a:,} and step {b} of {count_b:,}.",
            a=int(comparison.a.windows.number[0]),
            b=int(comparison.b.windows.number[0]),
            count_a=count_a,
            count_b=count_b,
        )
    skipped = comparison.a.all_windows.left_out, comparison.b.all_windows.left_out
    if any(skipped):
        warm_up = tr("Left out as warm-up: {a:,} and {b:,} steps.", a=skipped[0], b=skipped[1])
        text = f"{text} {warm_up}"
    return text


def failure_text(comparison: Comparison) -> str:
    """A sentence about the programs that failed; empty for none."""
    return sentences(
        tr(
            "{side} failed with status {status}: what it did not reach is missing, so a difference is neither gain nor "
            "loss.",
            side=letter,
            status=side.run.capture.program_end.failure,
        )
        for letter, side in (("A", comparison.a), ("B", comparison.b))
        if side.run.capture.program_end.failure
    )


def verdict(comparison: Comparison) -> str:
    """A sentence about whether the difference is more than noise, and how that was measured."""
    varied = comparison.variation
    if varied is None:
        return tr(
            "Noise is unknown: each side has one run with at most one step. Compare several runs to measure it."
        )
    if varied.interval is None:
        if varied.of == "runs":
            return tr("Noise is unknown: that takes at least three runs on each side.")
        return tr("Noise is unknown: that takes at least three steps on each side.")
    low, high = map(signed_duration, varied.interval)
    if not varied.is_noise:
        text = tr("The medians differ by {low} to {high} (95 % confidence)", low=low, high=high)
    elif varied.of == "runs":
        text = tr(
            "No difference beyond run-to-run variation (95 % confidence: {low} to {high})", low=low, high=high
        )
    else:
        text = tr(
            "No difference beyond step-to-step variation (95 % confidence: {low} to {high})",
            low=low,
            high=high,
        )
    return f"{text} · {basis_text(varied)}."


def basis_text(varied: Variation) -> str:
    """What was repeated, and how often on each side."""
    if varied.of == "runs":
        return tr("{a:,} and {b:,} runs", a=varied.count_a, b=varied.count_b)
    if varied.of == "steps":
        return tr("{a:,} and {b:,} steps", a=varied.count_a, b=varied.count_b)
    return tr("{a:,} and {b:,} events", a=varied.count_a, b=varied.count_b)


def variation_text(varied: Variation) -> str:
    """A sentence about one variation: the medians of both sides and their difference."""
    medians = tr(
        "Medians {a} and {b} ({basis})",
        a=format_duration(round(varied.median_a)),
        b=format_duration(round(varied.median_b)),
        basis=basis_text(varied),
    )
    if varied.interval is None:
        return f"{medians}."
    low, high = map(signed_duration, varied.interval)
    return tr(
        "{medians}. Difference: {low} to {high} (95 % confidence).", medians=medians, low=low, high=high
    )


def noise_text(comparison: Comparison | TableComparison) -> str:
    """What parts or rows marked as noise mean; empty without any."""
    items = comparison.rows if isinstance(comparison, TableComparison) else comparison.parts
    noise = next((item.variation for item in items if item.is_noise and item.variation is not None), None)
    if noise is None:
        return ""
    if noise.of == "events":
        return tr("Noise: compared pair by pair in order, the events of a row differ no more than they vary.")
    return tr("Noise: the difference is within the variation of {basis}.", basis=basis_text(noise))


def judgement_text(judged: Judgement) -> str:
    """Whether a comparison passes a condition, with the values."""
    values = f"{format_duration(judged.a_ns)} → {format_duration(judged.b_ns)}"
    percent = signed_percent(judged.a_ns, judged.b_ns)
    values = f"{values} ({percent})" if percent else values
    if judged.is_failed:
        return tr("FAILED {condition}: {values}", condition=judged.condition.text, values=values)
    if judged.is_noise and judged.a_ns != judged.b_ns:
        return tr(
            "passed {condition}: {values}, within noise", condition=judged.condition.text, values=values
        )
    return tr("passed {condition}: {values}", condition=judged.condition.text, values=values)


def comparison_lines(
    comparison: Comparison, *, is_markdown: bool, judged: Sequence[Judgement] = ()
) -> list[str]:
    """Conditions, facts that differ, the total, its parts with contributors, then reports row by row."""
    writer = _Markdown() if is_markdown else _Plain()
    lines: list[str] = []
    # In a terminal the conditions are printed last, on standard error.
    for judgement in judged if is_markdown else ():
        lines += [f"{'❌' if judgement.is_failed else '✅'} {markdown_text(judgement_text(judgement))}", ""]
    lines += writer.facts(comparison)
    lines += [
        alignment_text(comparison),
        *filter(
            None, [failure_text(comparison), verdict(comparison), prediction_text(comparison.predictions)]
        ),
        "",
    ]
    rows = [_total_row(comparison.a, comparison.b)]
    for part in comparison.parts:
        rows.append(_part_row(part))
        rows += [_contributor_row(item) for item in largest(part, comparison.difference_ns)]
    lines += writer.table(tr("cause"), rows)
    if noise := noise_text(comparison):
        lines += writer.note(noise)
    if comparison.steps:
        steps = [
            (f"{a}" if a == b else f"{a} / {b}", *_times(a_ns, b_ns), 0)
            for a, b, a_ns, b_ns in comparison.steps
        ]
        lines += ["", *writer.table(tr("step"), steps)]
    is_noise = comparison.variation is not None and comparison.variation.is_noise
    for table in comparison.tables:
        lines += [
            "",
            *writer.title(f"{table.report}: {table.column.name}"),
            *_table(writer, table, is_noise=is_noise),
        ]
    if comparison.rules:
        lines += ["", rules_text(comparison)]
    return lines


def rules_text(comparison: Comparison) -> str:
    """A sentence with the rules that matched names."""
    return tr(
        "Names that differ only in {rules} were matched (--exact-names turns this off).",
        rules=", ".join(map(translated, comparison.rules)),
    )


def largest(part: TimePart, difference_ns: int, count: int = CONTRIBUTORS) -> list[Contributor]:
    """The contributors of a part that are large enough for a line."""
    least = _WORTH_A_LINE * max(abs(difference_ns), abs(part.difference_ns))
    named = [item for item in part.contributors if item.name and abs(item.difference_ns) > least]
    return named[:count]


def fact_rows(facts: Sequence[FactChange]) -> list[tuple[str, str, str]]:
    """Facts that differ as (name, A, B). Facts that only one side has are named in one last row per side."""
    rows = [
        (_fact_name(fact), fact_value(fact.a), fact_value(fact.b))
        for fact in facts
        if fact.a is not None and fact.b is not None
    ]
    only_a = [fact_name(fact) for fact in facts if fact.b is None]
    only_b = [fact_name(fact) for fact in facts if fact.a is None]
    if only_a:
        rows.append((tr("only in A"), _some_of(only_a), NOTHING))
    if only_b:
        rows.append((tr("only in B"), NOTHING, _some_of(only_b)))
    return rows


def fact_name(fact: FactChange) -> str:
    """The name of a fact, translated when it is one of ours."""
    own = {
        "command_line": tr("command line"),
        "format": tr("format"),
        "devices": tr("devices"),
        "kinds of events": tr("kinds of events"),
    }
    return own.get(fact.name, fact.name)


def fact_value(text: str | None) -> str:
    """The value of a fact as shown."""
    return tr("not recorded") if text is None else {"yes": tr("yes"), "no": tr("no")}.get(text, text)


def _fact_name(fact: FactChange) -> str:
    """The group and name of a fact; only the name when it begins with the group."""
    group, name = translated(GROUPS[fact.group]), fact_name(fact).replace("_", " ")
    return name if fact.name.startswith(fact.group) else f"{group}: {name}"


def _some_of(names: Sequence[str]) -> str:
    text = ", ".join(names[:_NAMED])
    more = len(names) - _NAMED
    return tr("{names} and {count:,} more", names=text, count=more) if more > 0 else text


Row = tuple[str, str, str, str, str, int]
"""Name, A, B, difference, percent, depth."""


def _times(a_ns: int, b_ns: int) -> tuple[str, str, str, str]:
    return (
        format_duration(a_ns),
        format_duration(b_ns),
        signed_duration(b_ns - a_ns),
        signed_percent(a_ns, b_ns),
    )


def _total_row(a: Side, b: Side) -> Row:
    return (tr("total"), *_times(a.total_ns, b.total_ns), 0)


def _part_row(part: TimePart) -> Row:
    return (marked(translated(part.title), part), *_times(part.a_ns, part.b_ns), 0)


def _contributor_row(item: Contributor) -> Row:
    return (marked(fit_names([item.name], _NAME_WIDTH)[0], item), *_times(item.a_ns, item.b_ns), 1)


def _table(writer: _Plain | _Markdown, table: TableComparison, *, is_noise: bool) -> list[str]:
    """Rows with their share of the difference, which noise does not have."""
    role, shown = table.column.role, table.rows[:ROWS]
    rows: list[Row] = [
        (
            marked(text, row),
            value_text(role, row.a),
            value_text(role, row.b),
            difference_text(role, row.difference),
            "" if is_noise or row.is_noise else share_text(row.share),
            0,
        )
        for text, row in zip(fit_names([row.text for row in shown], _NAME_WIDTH), shown, strict=True)
    ]
    lines = writer.table(" / ".join(table.keys), rows, last=tr("share"))
    more = len(table.rows) - ROWS
    if more > 0:
        lines += writer.note(tr_n("and {count:,} more row", "and {count:,} more rows", more))
    for text in filter(None, [noise_text(table), *map(translated, table.notes)]):
        lines += writer.note(text)
    return lines


class _Plain:
    """Aligned columns for a terminal."""

    def facts(self, comparison: Comparison) -> list[str]:
        """Facts that differ."""
        lines = [
            f"{name}: {b if a == NOTHING else a if b == NOTHING else f'{a} → {b}'}"
            for name, a, b in fact_rows(comparison.facts)
        ]
        return [*lines, ""] if lines else []

    def title(self, text: str) -> list[str]:
        """A line above a table."""
        return [text]

    def note(self, text: str) -> list[str]:
        """A line below a table."""
        return [f"  {text}"]

    def table(self, name: str, rows: Sequence[Row], last: str = "") -> list[str]:
        """A table with the numbers first, so that long names fit."""
        head = (name, "A", "B", "B - A", last, 0)
        return [
            f"  {a:>12} {b:>12} {difference:>13} {percent:>9}  {'  ' * depth}{text}"
            for text, a, b, difference, percent, depth in [head, *rows]
        ]


class _Markdown:
    """Tables as GitHub shows them."""

    def facts(self, comparison: Comparison) -> list[str]:
        """Facts that differ."""
        if not comparison.facts:
            return []
        head = [f"| {tr('what differs')} | A | B |", "|---|---|---|"]
        rows = [f"| {' | '.join(map(markdown_text, cells))} |" for cells in fact_rows(comparison.facts)]
        return [*head, *rows, ""]

    def title(self, text: str) -> list[str]:
        """A line above a table, followed by an empty one."""
        return [f"**{text}**", ""]

    def note(self, text: str) -> list[str]:
        """A line below a table, after an empty one."""
        return ["", text]

    def table(self, name: str, rows: Sequence[Row], last: str = "") -> list[str]:
        """A table with contributors indented below their part."""
        lines = [f"| {markdown_text(name)} | A | B | B - A | {last} |", "|---|---:|---:|---:|---:|"]
        for text, a, b, difference, percent, depth in rows:
            indent = "&nbsp;&nbsp;" * depth
            lines.append(f"| {indent}{markdown_text(text)} | {a} | {b} | {difference} | {percent} |")
        return lines
