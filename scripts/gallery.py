"""Draws four kinds of captures for docs/import.md, light and dark, each from traces that others published.

    .venv/bin/python scripts/gallery.py DATA [--out docs/images] [--scale 1] [--size 1400x620]

DATA is the folder of those traces (`$WARPLINE_TEST_DATA` of the tests). Drawn are a PyTorch trace with the links of one
operator, two ranks of one job, an Nsight Systems capture with NVTX ranges, and one with scheduler rows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpline.interchange import import_files
from warpline.model.times import parse_time
from warpline.storage import Capture, open_capture

if TYPE_CHECKING:
    from warpline_app.state.timeline_state import TimelineState

HTA = "torch/facebookresearch+HolisticTraceAnalysis/tests/data"


@dataclass(frozen=True)
class Scene:
    """One picture: its files, the part that is shown in time since the start, which rows are shown and opened.

    ``rows`` are patterns of URIs of tracks, none for all; ``select`` the kind and the begin of the name of the event
    that is selected with its links; ``arrows`` as in `TimelineState`.
    """

    name: str
    files: tuple[str, ...]
    start: str
    stop: str
    rows: tuple[str, ...] = ()
    opened: tuple[tuple[str, bool], ...] = ()
    select: tuple[str, str] | None = None
    arrows: str = "selection"

    def prepare(self, capture: Capture, state: TimelineState) -> None:
        """Brings a state into the shape of the scene; its view is set already."""
        if self.rows:
            uris = [track.uri for track in capture.tracks]
            state.change_filter(only=tuple(u for u in uris if any(fnmatchcase(u, row) for row in self.rows)))
        for key, is_open in self.opened:
            state.set_expanded(key, is_open)
        state.set_arrows(self.arrows)
        if self.select is not None:
            state.select(self._selected(capture, state.view))

    def _selected(self, capture: Capture, view: tuple[int, int]) -> int | None:
        assert self.select is not None
        kind, name = self.select
        rows = capture.kinds[kind].rows
        starts, _ = capture.event_times(rows)
        inside = (starts > view[0]) & (starts < view[1])
        ordered = rows[inside][np.argsort(starts[inside], kind="stable")].tolist()
        names = capture.strings.get(capture.events.name[ordered].tolist()) if ordered else []
        return next((row for row, text in zip(ordered, names, strict=True) if text.startswith(name)), None)


SCENES = (
    Scene(
        "torch-links",
        ("torch/AMD-AGI+TraceLens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz",),
        "2.3ms",
        "3.1ms",
        opened=(("process/19392.1/thread/19392.1/python", False),),
        select=("operator", "aten::scaled_dot"),
        arrows="all",
    ),
    Scene(
        "two-ranks",
        (
            f"{HTA}/timeline_analysis/sampled_rank-0.json.gz",
            f"{HTA}/trace_filter/sampled_rank-1.json.gz",
        ),
        "840ms",
        "2.09s",
        rows=("rank/*/phases", "rank/*/thread/40*/ranges", "rank/*/stream/7", "rank/*/stream/84"),
        opened=tuple(
            (f"rank/{rank}/gpu/{rank}/process/{pid}.1/context/1/stream/7", False)
            for rank, pid in enumerate((4037, 4045))
        ),
    ),
    Scene(
        "nsight-nvtx",
        ("nsys/GindaChen+nsys-ai/tests/fixtures/h100_2gpu_1s.sqlite",),
        "60.8ms",
        "61.9ms",
    ),
    Scene(
        "nsight-scheduler",
        ("nsys/hpcgroup+pipit/pipit/tests/data/saxpy-mpi-cuda_nsys_perlmutter0.sqlite",),
        "0ms",
        "2s",
        rows=("cpu", "process/*", "gpu/*"),
        opened=(("cpu", True),),
    ),
)


def draw(scene: Scene, capture_path: Path, out: Path, theme: str, size: tuple[int, int]) -> None:
    """Draws one scene in one theme; Qt is running offscreen."""
    from warpline_app.pictures.rendering import Picture, render, save_picture

    with open_capture(capture_path) as capture:
        picture = Picture((parse_time(scene.start), parse_time(scene.stop)), size=size, theme=theme)
        image = render(capture, picture, prepare=lambda state: scene.prepare(capture, state))
        path = out / f"{scene.name}-{theme}.png"
        save_picture(image, path)
        if shrink := shutil.which("mogrify"):
            # A picture of a window has few colours: a palette takes a third of the bytes and looks the same.
            subprocess.run(
                [shrink, "+dither", "-colors", "250", "-define", "png:color-type=3", path], check=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--size", default="1400x620")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from warpline_app.pictures.rendering import prepare_offscreen

    application = prepare_offscreen(options.scale)
    width, height = map(int, options.size.split("x"))
    with tempfile.TemporaryDirectory() as folder:
        for scene in SCENES:
            if options.only not in scene.name:
                continue
            capture = import_files(
                [options.data / file for file in scene.files], Path(folder) / f"{scene.name}.h5"
            )
            for theme in ("dark", "light"):
                draw(scene, capture, options.out, theme, (width, height))
    application.quit()


if __name__ == "__main__":
    main()
