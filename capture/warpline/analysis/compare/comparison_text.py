"""A comparison in lines for a terminal, and as Markdown for a pull request."""

from __future__ import annotations

import math
from collections.abc import Sequence

from warpline.analysis.compare.alignment import Align
from warpline.analysis.compare.comparison import Comparison, Side
from warpline.analysis.compare.gate import Judgement
from warpline.analysis.compare.metadata import GROUPS, FactChange
from warpline.analysis.compare.tables import RowChange, TableComparison
from warpline.analysis.compare.variation import Variation
from warpline.analysis.compare.waterfall import Contributor, TimePart
from warpline.analysis.framework.column import Role
from warpline.analysis.framework.fitting import fit_names
from warpline.i18n import tr, tr_n, translated
from warpline.model.markdown import markdown_text
from warpline.model.sizes import format_bytes
from warpline.model.times import format_duration

ROWS = 15
CONTRIBUTORS = 3
_TWICE, _TIMES = 2, 10
_NAME_WIDTH = 120
_NAMED = 8
"""Facts that only one side tells are named up to so many; JSON holds all."""
NOTHING = "–"
_WORTH_A_LINE = 0.01
"""A contributor that explains less of the whole difference is left out of the text."""


def signed_duration(value_ns: float) -> str:
    """``+3.2 ms``, ``-10 µs``."""
    return f"{'+' if value_ns >= 0 else '-'}{format_duration(round(abs(value_ns)))}"


def signed_percent(a: float, b: float) -> str:
    """How much more B is than A, in percent, from twice as much on as a factor; empty where A is nothing."""
    if not a or a == b:
        return ""
    if b < _TWICE * a:
        return f"{100 * (b / a - 1):+.1f} %"
    return f"× {b / a:.1f}" if b < _TIMES * a else f"× {b / a:,.0f}"


def value_text(role: Role, value: float | None) -> str:
    """A value of a compared column; a dash for what was not recorded."""
    if value is None:
        return tr("not there")
    if math.isnan(value):
        return NOTHING
    if role is Role.DURATION:
        return format_duration(round(value))
    return format_bytes(round(value)) if role is Role.SIZE else f"{value:,.0f}"


def difference_text(role: Role, value: float) -> str:
    """A difference of a compared column; a dash where a side was not recorded."""
    if math.isnan(value):
        return NOTHING
    if role is Role.DURATION:
        return signed_duration(value)
    if role is Role.SIZE:
        return f"{'+' if value >= 0 else '-'}{format_bytes(round(abs(value)))}"
    return f"{value:+,.0f}"


def share_text(share: float | None) -> str:
    """A share of the whole difference, from ten times it on as a factor; empty where nothing differs."""
    if share is None or math.isnan(share):
        return ""
    return f"{100 * share:.1f} %" if abs(share) < _TIMES else f"× {share:,.0f}"


def row_state(row: RowChange | Contributor) -> str:
    """``new``, ``gone``, or by what names were matched; else empty."""
    is_new = row.is_new if isinstance(row, Contributor) else row.a is None
    is_gone = row.is_gone if isinstance(row, Contributor) else row.b is None
    return tr("new") if is_new else tr("gone") if is_gone else ""


def marked(name: str, one: RowChange | Contributor | TimePart) -> str:
    """A name with what is to be known of its difference: that it is new, gone, or noise."""
    state = "" if isinstance(one, TimePart) else row_state(one)
    if not state and not isinstance(one, Contributor) and one.is_noise:
        state = tr("noise")
    return f"{name} ({state})" if state else name


def alignment_text(found: Comparison) -> str:
    """What stands against what, in a sentence."""
    if found.aligned_by is Align.START:
        return tr("The whole captures are compared.")
    if found.aligned_by is Align.RANGE and not found.choices.range_name:
        return tr("The chosen ranges are compared.")
    count_a, count_b = len(found.a.all_windows), len(found.b.all_windows)
    if found.choices.is_each:
        text = tr_n(
            "{count:,} step stands against its counterpart.",
            "{count:,} steps stand each against its counterpart.",
            len(found.a.windows),
        )
    elif found.choices.step is not None:
        text = tr("Step {number} of both is compared.", number=found.choices.step)
    elif count_a == count_b == 1:
        text = tr(
            "The only step of each side is compared: step {a} and step {b}.",
            a=int(found.a.windows.number[0]),
            b=int(found.b.windows.number[0]),
        )
    else:
        text = tr(
            "The median step of each side is compared: step {a} and step {b}, chosen among "
            "{count_a:,} and {count_b:,}.",
            a=int(found.a.windows.number[0]),
            b=int(found.b.windows.number[0]),
            count_a=count_a,
            count_b=count_b,
        )
    skipped = found.a.all_windows.left_out, found.b.all_windows.left_out
    if any(skipped):
        warm_up = tr("Warm-up is left out: {a:,} and {b:,} steps.", a=skipped[0], b=skipped[1])
        text = f"{text} {warm_up}"
    return text


def verdict(found: Comparison) -> str:
    """Whether the difference is more than noise, in a sentence, and what that rests on."""
    varied = found.variation
    if varied is None:
        return tr("Nothing was repeated, so it is not known how the whole varies.")
    if varied.interval is None:
        if varied.of == "runs":
            return tr("Too few runs to tell how they vary: three on each side would.")
        return tr("Too few steps to tell how they vary.")
    low, high = map(signed_duration, varied.interval)
    if not varied.is_noise:
        text = tr("The difference of medians is {low} to {high} with 95 % confidence", low=low, high=high)
    elif varied.of == "runs":
        text = tr("No difference beyond run-to-run variation (95 %: {low} to {high})", low=low, high=high)
    else:
        text = tr("No difference beyond how steps vary (95 %: {low} to {high})", low=low, high=high)
    return f"{text} · {basis_text(varied)}."


def basis_text(varied: Variation) -> str:
    """What was repeated, and how often on either side."""
    if varied.of == "runs":
        return tr("{a:,} and {b:,} runs", a=varied.count_a, b=varied.count_b)
    if varied.of == "steps":
        return tr("{a:,} and {b:,} steps", a=varied.count_a, b=varied.count_b)
    return tr("{a:,} and {b:,} events", a=varied.count_a, b=varied.count_b)


def variation_text(varied: Variation) -> str:
    """How one thing varies, in a sentence: medians of both sides, and how far they are apart."""
    medians = tr(
        "Medians {a} and {b} of {basis}",
        a=format_duration(round(varied.median_a)),
        b=format_duration(round(varied.median_b)),
        basis=basis_text(varied),
    )
    if varied.interval is None:
        return f"{medians}."
    low, high = map(signed_duration, varied.interval)
    return tr("{medians}: {low} to {high} with 95 % confidence.", medians=medians, low=low, high=high)


def noise_text(found: Comparison | TableComparison) -> str:
    """What calls parts, or rows of a report, noise; empty where none is."""
    several = found.rows if isinstance(found, TableComparison) else found.parts
    noise = next((one.variation for one in several if one.is_noise and one.variation is not None), None)
    if noise is None:
        return ""
    if noise.of == "events":
        return tr(
            "Noise: events of a name, one against the other in their order, differ no more than they vary."
        )
    return tr("Noise: differs no more than it varies · {basis}.", basis=basis_text(noise))


def judgement_text(judged: Judgement) -> str:
    """Whether a comparison passes a gate, and by what values."""
    values = f"{format_duration(judged.a_ns)} → {format_duration(judged.b_ns)}"
    percent = signed_percent(judged.a_ns, judged.b_ns)
    values = f"{values} ({percent})" if percent else values
    if judged.is_failed:
        return tr("FAILED {condition}: {values}", condition=judged.condition.text, values=values)
    if judged.is_noise and judged.a_ns != judged.b_ns:
        return tr(
            "passed {condition}: {values}, which is noise", condition=judged.condition.text, values=values
        )
    return tr("passed {condition}: {values}", condition=judged.condition.text, values=values)


def comparison_lines(found: Comparison, *, is_markdown: bool, judged: Sequence[Judgement] = ()) -> list[str]:
    """What gates say, facts that differ, the total, its parts with who contributed, then reports row by row."""
    writer = _Markdown() if is_markdown else _Plain()
    lines = [f"{'❌' if one.is_failed else '✅'} {markdown_text(judgement_text(one))}\n" for one in judged]
    # In a terminal they stand last, on the error output.
    lines = [*(lines if is_markdown else ()), *writer.facts(found)]
    lines += [alignment_text(found), *filter(None, [verdict(found)]), ""]
    rows = [_total_row(found.a, found.b)]
    for part in found.parts:
        rows.append(_part_row(part))
        rows += [_contributor_row(one) for one in largest(part, found.difference_ns)]
    lines += writer.table(tr("cause"), rows)
    lines += [writer.note(text) for text in [noise_text(found)] if text]
    if found.steps:
        steps = [
            (f"{a}" if a == b else f"{a} / {b}", *_times(one, other), 0) for a, b, one, other in found.steps
        ]
        lines += ["", *writer.table(tr("step"), steps)]
    is_noise = found.variation is not None and found.variation.is_noise
    for table in found.tables:
        lines += [
            "",
            writer.title(f"{table.report}: {table.column.name}"),
            *_table(writer, table, is_noise=is_noise),
        ]
    if found.rules:
        lines += ["", rules_text(found)]
    return lines


def rules_text(found: Comparison) -> str:
    """By which rules names were matched."""
    return tr(
        "Names that differ only in {rules} were matched (--exact-names matches them as they are).",
        rules=", ".join(map(translated, found.rules)),
    )


def largest(part: TimePart, difference_ns: int, count: int = CONTRIBUTORS) -> list[Contributor]:
    """The contributors of a part that are worth a line."""
    least = _WORTH_A_LINE * max(abs(difference_ns), abs(part.difference_ns))
    named = [one for one in part.contributors if one.name and abs(one.difference_ns) > least]
    return named[:count]


def fact_rows(facts: Sequence[FactChange]) -> list[tuple[str, str, str]]:
    """What differs in the metadata as (name, A, B); what only one side tells says nothing of a change and is named
    in one row for each side, at the end.
    """
    rows = [
        (_fact_name(one), fact_value(one.a), fact_value(one.b))
        for one in facts
        if one.a is not None and one.b is not None
    ]
    only_a = [fact_name(one) for one in facts if one.b is None]
    only_b = [fact_name(one) for one in facts if one.a is None]
    if only_a:
        rows.append((tr("told by A only"), _some_of(only_a), NOTHING))
    if only_b:
        rows.append((tr("told by B only"), NOTHING, _some_of(only_b)))
    return rows


def fact_name(one: FactChange) -> str:
    """What a fact is called: those that no file names are ours."""
    own = {"format": tr("format"), "devices": tr("devices"), "kinds of events": tr("kinds of events")}
    return own.get(one.name, one.name)


def fact_value(text: str | None) -> str:
    """The value of a fact as it is shown."""
    return tr("not told") if text is None else {"yes": tr("yes"), "no": tr("no")}.get(text, text)


def _fact_name(one: FactChange) -> str:
    """What differs: its group, then its name with spaces; once where one begins with the other."""
    group, name = translated(GROUPS[one.group]), fact_name(one).replace("_", " ")
    return name if one.name.startswith(one.group) else f"{group}: {name}"


def _some_of(names: Sequence[str]) -> str:
    text = ", ".join(names[:_NAMED])
    left = len(names) - _NAMED
    return tr("{names} and {count:,} more", names=text, count=left) if left > 0 else text


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


def _contributor_row(one: Contributor) -> Row:
    return (marked(fit_names([one.name], _NAME_WIDTH)[0], one), *_times(one.a_ns, one.b_ns), 1)


def _table(writer: _Plain | _Markdown, table: TableComparison, *, is_noise: bool) -> list[str]:
    """Rows with their share of the difference, which noise has none of."""
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
    left = len(table.rows) - ROWS
    if left > 0:
        lines.append(writer.note(tr_n("and {count:,} more row", "and {count:,} more rows", left)))
    texts = [noise_text(table), *map(translated, table.notes)]
    return [*lines, *(writer.note(text) for text in texts if text)]


class _Plain:
    """Columns under each other."""

    def facts(self, found: Comparison) -> list[str]:
        """What differs in the metadata."""
        lines = [
            f"{name}: {b if a == NOTHING else a if b == NOTHING else f'{a} → {b}'}"
            for name, a, b in fact_rows(found.facts)
        ]
        return [*lines, ""] if lines else []

    def title(self, text: str) -> str:
        """A line above a table."""
        return text

    def note(self, text: str) -> str:
        """A line below a table."""
        return f"  {text}"

    def table(self, name: str, rows: Sequence[Row], last: str = "") -> list[str]:
        """Numbers first, so that long names do no harm."""
        head = (name, "A", "B", "B - A", last, 0)
        return [
            f"  {a:>12} {b:>12} {difference:>13} {percent:>9}  {'  ' * depth}{text}"
            for text, a, b, difference, percent, depth in [head, *rows]
        ]


class _Markdown:
    """Tables as GitHub shows them."""

    def facts(self, found: Comparison) -> list[str]:
        """What differs in the metadata."""
        if not found.facts:
            return []
        head = [f"| {tr('what differs')} | A | B |", "|---|---|---|"]
        rows = [f"| {' | '.join(map(markdown_text, cells))} |" for cells in fact_rows(found.facts)]
        return [*head, *rows, ""]

    def title(self, text: str) -> str:
        """A line above a table, which needs an empty one between."""
        return f"**{text}**\n"

    def note(self, text: str) -> str:
        """A line below a table."""
        return f"\n{text}"

    def table(self, name: str, rows: Sequence[Row], last: str = "") -> list[str]:
        """Contributors are indented below their part."""
        lines = [f"| {markdown_text(name)} | A | B | B - A | {last} |", "|---|---:|---:|---:|---:|"]
        for text, a, b, difference, percent, depth in rows:
            indent = "&nbsp;&nbsp;" * depth
            lines.append(f"| {indent}{markdown_text(text)} | {a} | {b} | {difference} | {percent} |")
        return lines
