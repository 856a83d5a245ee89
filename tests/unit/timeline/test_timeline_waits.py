"""Blocked stretches by what they waited for: colours, textures, words, however far one has zoomed out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from tests.gui.wait_sample import FIGHTERS, MS, SOURCE, write_wait_sample
from tests.unit.timeline.timeline_tools import lane_of

from warpline.model import Flag
from warpline.model.waits import WAIT_FAMILIES, WaitKind
from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline_app.look.theme import CONTRAST, CONTRAST_LIGHT, DARK, LIGHT, Theme
from warpline_app.panels.facts.event_facts import event_facts
from warpline_app.timeline.draw import codes
from warpline_app.timeline.draw.codes import ColorTable
from warpline_app.timeline.draw.event_colors import EventColors
from warpline_app.timeline.draw.lane_cache import compose_lanes
from warpline_app.timeline.model.state_causes import StateCauses
from warpline_app.timeline.model.time_model import TimeScale
from warpline_app.timeline.widgets.legend_entries import legend_entries

STATE = f"{FIGHTERS.format(72)}/state"


@pytest.fixture
def fight(tmp_path: Path) -> Iterator[Capture]:
    source = tmp_path / "fight.py"
    source.write_text(SOURCE)
    with open_capture(write_wait_sample(tmp_path / "fight.h5", source)) as capture:
        yield capture


def colors_along(capture: Capture, width: int, bin_px: int = 1) -> list[str]:
    """The colour of each pixel of the first fighter's row, by name."""
    colors = EventColors(capture, ColorTable(DARK))
    lanes = np.array([lane_of(capture, STATE)])
    lines = compose_lanes(colors, lanes, TimeScale(0, 100 * MS, width), bin_px=bin_px)
    return [codes.FIXED[code // codes.VARIANTS] for code in lines.codes[0].tolist()]


def test_waits_have_the_colour_of_their_reason(fight: Capture) -> None:
    along = colors_along(fight, 1000)
    assert [along[ms * 10 + 5] for ms in (5, 20, 40, 60, 72, 77)] == [
        "running", "wait_lock", "running", "wait_sleep", "blocked", "running",
    ]  # fmt: skip


@pytest.mark.parametrize("bin_px", [1, 2])
def test_waits_shorter_than_a_pixel_keep_their_colour(fight: Capture, bin_px: int) -> None:
    """400 short waits for the GIL in each pixel: the longest of them stands for all."""
    along = colors_along(fight, 100, bin_px)
    assert set(along[82:98]) <= {"wait_gil", "running"}
    # With 400 ns a pixel the stretches are seen one by one.
    colors = EventColors(fight, ColorTable(DARK))
    scale = TimeScale(81 * MS, 81 * MS + 400_000, 1000)
    near = compose_lanes(colors, np.array([lane_of(fight, STATE)]), scale)
    names = {codes.FIXED[code // codes.VARIANTS] for code in near.codes[0].tolist()}
    assert names == {"wait_gil", "running"}


def test_rows_that_mix_states_with_other_events_keep_the_colours_of_waits(tmp_path: Path) -> None:
    path = tmp_path / "mixed.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        thread = builder.add_thread(builder.add_process(1), 1)
        track = builder.track(STATE, role="state", process=0, thread=thread)
        start = np.arange(0, 90 * MS, 10_000)
        for name, shift, flag in (("running", 0, 0), ("blocked", 5_000, int(Flag.IDLE))):
            wait = np.full(len(start), int(WaitKind.PIPE), np.uint8)
            builder.add_events(
                track, "thread_state", start + shift, 4_000 + shift // 5, builder.string(name), flags=flag,
                attributes={"wait": np.ma.MaskedArray(wait, np.full(len(wait), name == "running"))},
            )  # fmt: skip
        builder.add_events(track, "overhead", [95 * MS], [3 * MS], builder.string("what is not a state"))
        builder.finish()
    with open_capture(path) as capture:
        assert set(colors_along(capture, 100)[1:89]) == {"wait_network"}


def test_a_wait_that_fills_pixels_alone_is_not_grey_when_marks_are_drawn(fight: Capture) -> None:
    colors = EventColors(fight, ColorTable(DARK))
    rows = fight.kinds["thread_state"].rows
    values, valid = fight.kinds["thread_state"].column("wait")
    flags, kinds = fight.events.flags[rows], fight.events.kind[rows]
    found = colors.of(rows, kinds, flags)
    family = {int(kind): family.color for family in WAIT_FAMILIES for kind in family.kinds}
    for color, wait, is_known in zip(found.tolist(), values.tolist(), valid.tolist(), strict=True):
        if is_known:
            assert codes.FIXED[color] == family[wait]


@pytest.mark.parametrize("ratio", [1.0, 2.0])
@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST, CONTRAST_LIGHT], ids=lambda theme: theme.name)
def test_textures_tell_waits_apart_without_colour(theme: Theme, ratio: float) -> None:
    """Which pixels carry ink differs in at least an eighth of the area, shifted as one likes."""
    lookup = ColorTable(theme, ratio).table(round(16 * ratio), theme.rgb("canvas"))
    patterns = {}
    for name in ["blocked", *(family.color for family in WAIT_FAMILIES)]:
        base = codes.INDEX[name] * codes.VARIANTS + codes.HATCH
        inside = lookup[1:-1, base : base + codes.HATCH_PHASES]
        assert len(np.unique(inside)) == 2, name
        patterns[name] = inside == inside.max()
    for first, second in combinations(patterns, 2):
        a, b = patterns[first], patterns[second]
        shifted = [np.roll(b, shift, 1) for shift in range(codes.HATCH_PHASES)]
        same = max(max((a == other).mean(), (a != other).mean()) for other in shifted)
        assert same < 0.875 + 1e-9, (first, second)


def test_bars_say_what_they_wait_for_and_on_which_line_of_the_program(fight: Capture) -> None:
    causes = StateCauses(fight)
    lane = lane_of(fight, STATE)
    said = {}
    for ms in (5, 20, 60, 72):
        row = fight.event_at(lane, ms * MS)
        assert row is not None
        said[ms] = causes.text(row)
    assert said == {5: "", 20: "lock · fight.py:3", 60: "sleep · fight.py:5", 72: ""}
    assert causes.text(int(fight.kinds["osrt"].rows[0])) == ""


def test_the_legend_explains_what_there_is(fight: Capture, capture: Capture) -> None:
    found = {entry.color: entry.text for entry in legend_entries(fight)}
    assert list(found)[:6] == ["running", "runnable", "wait_lock", "wait_gil", "wait_sleep", "blocked"]
    assert found["wait_lock"] == "=lock"
    titles = [entry.title for entry in legend_entries(capture)]
    assert titles[:3] == ["running", "waiting for a core", "blocked"]
    assert {"kernel", "communication", "copy to GPU", "copy to host", "call", "paused", "cut off"} <= set(
        titles
    )
    assert not {"estimated", "waiting for GPU", "copy on GPU"} & set(titles)


def test_every_kind_of_wait_has_one_family() -> None:
    kinds = [kind for family in WAIT_FAMILIES for kind in family.kinds]
    assert len(kinds) == len(set(kinds))
    assert set(WaitKind) - set(kinds) == {WaitKind.UNKNOWN, WaitKind.OTHER}


def test_what_an_event_cannot_have_is_not_told_as_not_recorded(fight: Capture) -> None:
    """A thread that waits is on no core, and a sleep has no holder."""

    def not_recorded(row: int) -> str:
        sections = {section.title: section.facts for section in event_facts(fight, row).sections}
        return ", ".join(fact.value for fact in sections.get("Not recorded", ()))

    lane = lane_of(fight, STATE)
    for at in (5, 20, 60):
        row = fight.event_at(lane, at * MS)
        assert row is not None
        assert (fight.kinds["thread_state"].at(row)["cpu"] is None) == (at != 5)
        assert not_recorded(row) == ""
    for row in fight.kinds["osrt"].rows.tolist():
        assert set(not_recorded(row).split(", ")) <= {"", "Called from"}
