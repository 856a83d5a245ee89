"""Names on bars that are too short for them: those of one row are told apart wherever there is room for that."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from warpline.analysis.framework.kernel_names import short_kernel_names
from warpline.storage import CaptureBuilder, open_capture
from warpline_app.look.theme import LIGHT, ui_font
from warpline_app.timeline.draw.texts.atlas import ELLIPSIS, Atlas
from warpline_app.timeline.draw.texts.elision import Cut, shown_parts
from warpline_app.timeline.draw.texts.labels import Labels
from warpline_app.timeline.draw.texts.short_names import ShortNames

WORDS = ["attn", "a", "b", "conv", "Back", "weight", "1", "11", "12", "2", "20", "#4", "#5", "#41"]
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).flatmap(
    lambda words: st.sampled_from(["", ".", "_", "::"]).map(lambda between: between.join(words))
)


@cache
def _atlas() -> Atlas:
    return Atlas(ui_font(11), 1.0, ("white", "black"))


class Row:
    """Names of one row, all in the same room."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.atlas = _atlas()
        if self.atlas.pixmap.isNull() or self.atlas.is_nearly_full:
            self.atlas.clear()
        self.entries = np.array([self._add(name, 0) for name in names])
        self.lines = np.zeros(len(names), np.int64)
        self.short = ShortNames(self.atlas, self._add)
        self.dots_px = int(self.atlas.table[self.atlas.ellipsis[0], 2])

    def _add(self, text: str, ink: int) -> int:
        known = self.atlas.get(text, ink)
        return known if known >= 0 else self.atlas.add(text, ink)

    def width(self, name: str) -> int:
        entry = self._add(name, 0)
        return int(self.atlas.table[entry, 2])

    def shown(self, room: int, *, with_tail: bool = False) -> list[str]:
        """What is read of each name, whole where it has room."""
        texts = self.short.line_texts(self.lines, self.entries)
        cut = np.flatnonzero(self.atlas.table[self.entries, 2] > room)
        rooms = np.full(len(cut), float(room))
        parts = shown_parts(
            self.atlas, Cut(self.entries[cut], rooms, texts.place[cut]), np.full(len(cut), with_tail), texts
        )
        result = list(self.names)
        for index, pieces in zip(cut.tolist(), parts.tolist(), strict=True):
            result[index] = self._read(index, pieces)
            assert (
                sum(end - begin for begin, end in pieces) + result[index].count(ELLIPSIS) * self.dots_px
                <= room
            )
        return result

    def _read(self, index: int, pieces: list[list[int]]) -> str:
        name, entry = self.names[index], self.entries[index]
        borders = [
            int(self.atlas.letter(np.array([entry]), np.array([at]))[0]) for at in range(len(name) + 1)
        ]
        text, seen = "", 0
        for begin, end in pieces:
            if end > begin:
                text += ELLIPSIS * (begin > seen) + name[borders.index(begin) : borders.index(end)]
                seen = end
        return text + ELLIPSIS * (seen < borders[-1])

    def needed(self, name: str) -> int:
        """Room for what tells a name from all others of the row: from the first letter in which it differs.

        One that goes on where another ends is told from that by its last word.
        """
        shared = [_shared(name, other) for other in self.names if other != name]
        goes_on = any(
            name.startswith(other) or other.startswith(name) for other in self.names if other != name
        )
        entry = np.array([self.entries[self.names.index(name)]])
        begin, end = (
            int(self.atlas.letter(entry, np.array([at]))[0]) for at in (min(shared), max(shared) + 1)
        )
        if goes_on:
            begin = int(self.atlas.word(entry, np.array([min(shared)]))[0])
        return end - begin + 2 * self.dots_px


def _shared(name: str, other: str) -> int:
    return next(
        (at for at, (one, two) in enumerate(zip(name, other, strict=False)) if one != two),
        min(len(name), len(other)),
    )


@given(
    st.sampled_from(["", "model.", "Profiler", "aten::"]), st.sets(NAMES, min_size=2, max_size=6), st.data()
)
@settings(max_examples=60, deadline=None)
def test_different_names_in_the_same_room_are_read_differently(
    qapp: object, prefix: str, ends: set[str], data: st.DataObject
) -> None:
    names = sorted(prefix + end for end in ends)
    row = Row(names)
    least = max(row.needed(name) for name in names)
    room = data.draw(st.integers(least, max(least, *map(row.width, names))))
    for with_tail in (False, True):
        shown = row.shown(room, with_tail=with_tail)
        assert len(set(shown)) == len(shown), (names, room, shown)


def test_the_end_of_a_name_is_kept_where_that_alone_tells_it(qapp: object) -> None:
    steps = Row([f"ProfilerStep#{number}" for number in (4, 5, 10)])
    shown = steps.shown(steps.width("ProfilerStep#4") - 1)
    assert [text.partition(ELLIPSIS)[2] for text in shown] == ["#4", "#5", "#10"]
    assert all(text.startswith("Profil") for text in shown)
    small = steps.dots_px + steps.width("ProfilerStep#10") - steps.width("ProfilerStep")
    assert [text.rpartition(ELLIPSIS)[2] for text in steps.shown(small)] in (
        ["#4", "#5", "#10"],
        ["#4", "#5", "10"],
    )
    layers = Row(["encoder.layers.1", "encoder.layers.11", "encoder.layers.12", "head"])
    shown = layers.shown(layers.width("encoder.la"))
    assert [text.partition(ELLIPSIS)[2] for text in shown] == [".1", ".11", ".12", ""]


def test_dots_stand_on_both_sides_of_what_tells_names_that_end_alike(qapp: object) -> None:
    row = Row(["model.layers.0.attention.weight", "model.layers.1.attention.weight", "model.norm"])
    first, second, _whole = row.shown(row.width("model.layer"))
    assert ".0" in first
    assert ".1" in second
    assert {text[place] for text in (first, second) for place in (0, -1)} == {ELLIPSIS}


def test_a_name_that_is_told_by_its_beginning_keeps_that(qapp: object) -> None:
    row = Row(["optimizer_step_of_all", "backward_of_all", "forward_of_all"])
    shown = row.shown(row.width("forward_"))
    assert [text[:4] for text in shown] == ["opti", "back", "forw"]
    assert all(text.endswith(ELLIPSIS) for text in shown)


def test_what_a_row_begins_with_is_left_out_of_all_of_it(qapp: object) -> None:
    row = Row(["aten::convolution", "aten::add_", "mine"])
    may = np.ones(3, bool)

    def short(*rooms: int) -> list[str]:
        found = row.short.in_lines(row.lines, row.entries, np.zeros(3, np.int64), np.array(rooms, float), may)
        return [row.atlas.text_of(entry) for entry in found.tolist()]

    assert short(500, 500, 500) == row.names
    # Where one name gets its room by that, its neighbours are written alike.
    assert short(500, row.width("aten::add_") - 1, 500) == ["convolution", "add_", "mine"]
    # That stays as long as the view only moves in time.
    assert short(500, 500, 500) == ["convolution", "add_", "mine"]
    # Where none does, nothing is left out.
    row.short.forget()
    assert short(500, 12, 500) == row.names


def test_a_name_that_stayed_long_stays_so_without_the_one_it_was_told_from(qapp: object) -> None:
    row = Row(["aten::add", "xla::add", "aten::mul"])

    def short(*places: int) -> list[str]:
        chosen = np.array(places)
        rooms = np.full(len(chosen), row.width("aten::mul") - 1.0)
        inks, may = np.zeros(len(chosen), np.int64), np.ones(len(chosen), bool)
        found = row.short.in_lines(row.lines[chosen], row.entries[chosen], inks, rooms, may)
        return [row.atlas.text_of(entry) for entry in found.tolist()]

    assert short(0, 1, 2) == ["aten::add", "xla::add", "mul"]
    assert short(0, 2) == ["aten::add", "mul"]


def test_bars_of_kernels_are_told_apart_as_their_titles_are(qapp: object, tmp_path: Path) -> None:
    names = [f"void implicit_convolve_sgemm<float, float, {size}, 5>(int)" for size in (128, 1024)]
    with CaptureBuilder(tmp_path / "run.h5") as builder:
        track = builder.track("gpu/0/stream/7", title="Stream 7", role="stream")
        builder.add_events(track, "kernel", [0, 10], [5, 5], [builder.string(name) for name in names])
        builder.finish()
    with open_capture(tmp_path / "run.h5") as capture:
        labels = Labels(capture, ui_font(11), 1.0, LIGHT)
        told = short_kernel_names(names)
        assert {name: labels.kernel_names[name] for name in names} == told
        assert len(set(told.values())) == 2


def test_names_that_are_one_without_their_beginning_keep_it(qapp: object) -> None:
    row = Row(["aten::add", "xla::add", "aten::mul"])
    rooms = np.full(3, row.width("aten::mul") - 1.0)
    found = row.short.in_lines(row.lines, row.entries, np.zeros(3, np.int64), rooms, np.ones(3, bool))
    assert [row.atlas.text_of(entry) for entry in found.tolist()] == ["aten::add", "xla::add", "mul"]
