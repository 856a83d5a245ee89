"""Colours that can be told apart and read on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import Program

from warpline.analysis.framework.selection import View
from warpline.analysis.structure.kernels import communication_ids
from warpline_app.look.theme import CONTRAST, CONTRAST_LIGHT, DARK, LIGHT, Theme, contrast_ratio, to_rgb
from warpline_app.timeline.draw import codes
from warpline_app.timeline.draw.codes import ColorTable
from warpline_app.timeline.draw.event_colors import EventColors
from warpline_app.timeline.model.name_rows import NameGroups


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST, CONTRAST_LIGHT], ids=lambda theme: theme.name)
def test_text_meets_wcag_aa(theme: Theme) -> None:
    for surface in ("canvas", "alternate", "header", "group", "panel"):
        for ink in ("text", "muted"):
            assert contrast_ratio(theme.rgb(ink), theme.rgb(surface)) >= 4.5, (surface, ink)
        assert contrast_ratio(theme.rgb("selection"), theme.rgb(surface)) >= 3.0


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST, CONTRAST_LIGHT], ids=lambda theme: theme.name)
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
