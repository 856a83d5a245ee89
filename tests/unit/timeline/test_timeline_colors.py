"""Colours that can be told apart and read on."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage
from tests.unit.analysis.analysis_tools import Program

from warpline.analysis.framework.selection import View
from warpline.analysis.structure.kernels import communication_ids
from warpline_app.look.painting import painting
from warpline_app.look.theme import DARK, LIGHT, THEMES, Theme, contrast_ratio, to_rgb
from warpline_app.timeline.draw import codes
from warpline_app.timeline.draw.cause_look import cause_looks, fill_cause, fill_stacked
from warpline_app.timeline.draw.codes import ColorTable
from warpline_app.timeline.draw.event_colors import EventColors
from warpline_app.timeline.model.name_rows import NameGroups


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_text_meets_wcag_aa(theme: Theme) -> None:
    for surface in ("canvas", "alternate", "header", "group", "panel"):
        for ink in ("text", "muted"):
            assert contrast_ratio(theme.rgb(ink), theme.rgb(surface)) >= 4.5, (surface, ink)
        assert contrast_ratio(theme.rgb("selection"), theme.rgb(surface)) >= 3.0


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_ink_on_bars_is_legible(theme: Theme) -> None:
    table = ColorTable(theme)
    dark = table.wants_dark_ink()
    for color in range(1, codes.FIRST_CUSTOM):
        if color in codes.HATCHED_COLORS:
            continue
        ink = to_rgb(theme.ink_dark if dark[color] else theme.ink_light)
        assert contrast_ratio(ink, table.rgb(color)) >= 4.5, codes.FIXED[color] if color < 22 else color


# Dichromats in linear RGB: Viénot, Brettel, Mollon 1999 (protan, deutan); Brettel 1997 simplified (tritan).
_SIMULATIONS = {
    "protan": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
    "deutan": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
    "tritan": [[1.0, 0.1446, -0.1446], [0.0, 0.8592, 0.1408], [0.0, 0.8592, 0.1408]],
}


@pytest.mark.parametrize("kind", sorted(_SIMULATIONS))
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_states_differ_without_colour_vision(theme: Theme, kind: str) -> None:
    """Shapes tell states apart anyway: the patterns of the three states differ in where they are filled."""
    table = ColorTable(theme)
    background = theme.rgb("canvas")
    lookup = table.table(16, background)
    filled = {}
    for name in ("running", "runnable"):
        filled[name] = lookup[:, codes.INDEX[name] * codes.VARIANTS + codes.SOLID] != background
    assert filled["running"].sum() > filled["runnable"].sum()
    assert filled["runnable"][:8].sum() == 0
    base = codes.INDEX["blocked"] * codes.VARIANTS + codes.HATCH
    hatch = lookup[:, base : base + codes.HATCH_PHASES]
    assert len(np.unique(hatch)) >= 3
    simulate = np.array(_SIMULATIONS[kind])

    def seen(rgb: int) -> np.ndarray:
        channels = np.array([(rgb >> shift) & 255 for shift in (16, 8, 0)]) / 255
        return simulate @ channels**2.2

    for first, second in (("kernel", "copy_to_host"), ("running", "runnable"), ("selection", "link")):
        assert np.abs(seen(theme.rgb(first)) - seen(theme.rgb(second))).max() > 0.05, (first, second)


def lightness_and_place(rgb: int, simulate: np.ndarray) -> np.ndarray:
    """CIE 1976 L*a*b* (D65) of a colour as such eyes see it."""
    channels = np.array([(rgb >> shift) & 255 for shift in (16, 8, 0)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(simulate @ linear, 0, 1) / np.array([0.95047, 1, 1.08883])
    bent = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * bent[1] - 16, 500 * (bent[0] - bent[1]), 200 * (bent[1] - bent[2])])


_BESIDE_EACH_OTHER = {
    "on a GPU": (
        "kernel", "communication", "copy_to_device", "copy_to_host", "copy_on_device", "set", "sync",
    ),
    "of a thread": ("operator", "range", "phase", "python", "os", "memory", "overhead", "api"),
    "in a step": ("phase", "operator", "communication", "python", "copy_to_device", "range"),
    "states": ("running", "runnable", "uninterruptible"),
    "names": (),
}  # fmt: skip


@pytest.mark.parametrize("group", _BESIDE_EACH_OTHER)
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_categories_differ_in_lightness_and_to_every_eye(theme: Theme, group: str) -> None:
    """Any two that stand beside each other: by almost five of L* in grey, by far more in colour, however it is seen."""
    names = _BESIDE_EACH_OTHER[group]
    colors = [theme.rgb(name) for name in names] or [to_rgb(hue) for hue in theme.hues]
    seen = {
        kind: [lightness_and_place(rgb, np.array(_SIMULATIONS[kind])) for rgb in colors]
        for kind in _SIMULATIONS
    }
    plain = [lightness_and_place(rgb, np.eye(3)) for rgb in colors]
    for a, b in itertools.combinations(range(len(colors)), 2):
        assert abs(plain[a][0] - plain[b][0]) >= 4.9, (group, a, b)
        for kind, places in seen.items():
            assert np.linalg.norm(places[a] - places[b]) >= 11, (group, kind, a, b)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_no_hue_of_a_name_is_taken_for_a_category(theme: Theme) -> None:
    """Both are in one timeline: from any category a hue is as far in L*a*b* as categories are to every eye."""
    for hue in theme.hues:
        place = lightness_and_place(to_rgb(hue), np.eye(3))
        for name in theme.families:
            away = np.linalg.norm(place - lightness_and_place(theme.rgb(name), np.eye(3)))
            assert away >= 11, (hue, name)


def test_kernels_have_the_colour_of_communication_where_reports_count_them_so(tmp_path: Path) -> None:
    names = (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
        "void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)",
        "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)",
        "void at::native::reduce_kernel<512, 1>(x)",
        "void phi::funcs::VectorizedBroadcastKernel<float>(x)",
    )
    program = Program(tmp_path / "kernels.h5")
    for place, name in enumerate(names):
        program.gpu("kernel", 7, place * 10, place * 10 + 9, name)
    with program.finish() as capture:
        rows = capture.kinds["kernel"].rows
        painted = EventColors(capture, ColorTable(DARK))
        colors = painted.of(rows, capture.events.kind[rows], capture.events.flags[rows])
        told = communication_ids(View(capture))[capture.events.name[rows]]
        assert (colors == codes.INDEX["communication"]).tolist() == told.tolist() == [True] * 3 + [False] * 2
        groups, _ = NameGroups(capture).groups(int(capture.track_of_row(int(rows[0]))))
        families = {group.title: group.family for group in groups}
        assert [families[name] for name in names] == ["communication"] * 3 + ["kernel"] * 2


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_waits_of_a_budget_have_the_textures_of_the_timeline(theme: Theme) -> None:
    """Two yellows: one is a thin bar on the panel, the other crossed lines over its whole height."""
    side = 16
    pictures = []
    for look in cause_looks(("runnable", "gil"), theme):
        image = QImage(side, side, QImage.Format.Format_RGB32)
        with painting(image) as painter:
            fill_cause(painter, QRectF(0, 0, side, side), look, theme)
        pictures.append(np.array([[image.pixel(x, y) for x in range(side)] for y in range(side)]))
    core, gil = pictures
    table = ColorTable(theme).table(side, theme.rgb("panel"))
    assert (core == table[:, [codes.INDEX["runnable"] * codes.VARIANTS]]).all()
    crossed = codes.INDEX["wait_gil"] * codes.VARIANTS + codes.HATCH
    assert (gil[:, :8] == table[:, crossed : crossed + 8]).all()


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_a_stacked_bar_has_no_hole_where_a_thread_waits_for_a_core(theme: Theme) -> None:
    (look,) = cause_looks(("runnable",), theme)
    image = QImage(8, 40, QImage.Format.Format_RGB32)
    image.fill(theme.color("panel"))
    with painting(image) as painter:
        fill_stacked(painter, QRectF(0, 0, 8, 40), look, theme)
    column = [image.pixelColor(4, y).rgb() for y in range(40)]
    assert theme.color("panel").rgb() not in column
    assert column[-1] == theme.color("runnable").rgb() != column[0]
