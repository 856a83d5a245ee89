"""Trees of names merged by path: against brute force, bounded, and never wrong about what they keep."""

from __future__ import annotations

import pathlib
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.analysis.analysis_tools import Program, rows_of
from tests.unit.effort import rounds

from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure import flame as flames
from warpline.analysis.structure.flame import Flame, Tree, flame_graph, laid_out, turned
from warpline.analysis.structure.nested import path_tree
from warpline.analysis.structure.nested.path_tree import (
    Lines,
    PathTree,
    depth_first,
    joined_tree,
    thread_tree,
)
from warpline.model.track_factory import TrackFactory
from warpline.model.track_style import TRACE
from warpline.storage import Capture

Path = tuple[int, ...]


@st.composite
def threads(draw: st.DrawFn) -> list[list[tuple[int, int, int]]]:
    """Threads of (parent, name, weight): parents stand before children."""
    result = []
    for _ in range(draw(st.integers(0, 3))):
        lines = [
            (draw(st.integers(-1, place - 1)), draw(st.integers(0, 2)), draw(st.integers(0, 9)))
            for place in range(draw(st.integers(0, 12)))
        ]
        result.append(lines)
    return result


def paths_of(lines: list[tuple[int, int, int]]) -> list[Path]:
    paths: list[Path] = []
    for parent, name, _ in lines:
        paths.append((*(paths[parent] if parent >= 0 else ()), name))
    return paths


def built(found: list[list[tuple[int, int, int]]], limit: int, enough: int | None = None) -> PathTree:
    trees = []
    for lines in found:
        columns = np.array(lines, np.int64).reshape(-1, 3)
        weight = columns[:, 2]
        ones = np.ones(len(lines), np.int64)
        trees.append(
            thread_tree(
                Lines(
                    root=ones * 0,
                    name=columns[:, 1],
                    parent=columns[:, 0],
                    sums=(weight, ones),
                    lows=(weight,),
                    highs=(weight,),
                ),
                enough,
            )
        )
    return joined_tree(trees, limit)


def named(tree: PathTree) -> dict[Path, tuple[int, int, int, int]]:
    """(weight, count, lowest, highest) by path."""
    paths: list[Path] = []
    for name, parent in zip(tree.lines.name.tolist(), tree.lines.parent.tolist(), strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), name))
    if not paths:
        return {}
    columns = (*tree.lines.sums, *tree.lines.lows, *tree.lines.highs)
    values = zip(*(column.tolist() for column in columns), strict=True)
    return dict(zip(paths, values, strict=True))


def expected(found: list[list[tuple[int, int, int]]]) -> dict[Path, tuple[int, int, int, int]]:
    weights: dict[Path, list[int]] = defaultdict(list)
    for lines in found:
        for path, (_, _, weight) in zip(paths_of(lines), lines, strict=True):
            weights[path].append(weight)
    return {path: (sum(all_), len(all_), min(all_), max(all_)) for path, all_ in weights.items()}


@given(threads())
@settings(max_examples=rounds(60))
def test_a_tree_has_every_path_with_its_sums(found: list[list[tuple[int, int, int]]]) -> None:
    tree = built(found, 1_000)
    assert named(tree) == expected(found)
    assert not tree.is_cut
    assert tree.level.tolist() == [len(path) - 1 for path in named(tree)]


@given(threads(), st.integers(1, 8), st.integers(1, 6))
@settings(max_examples=rounds(60))
def test_a_cut_tree_keeps_outer_levels_and_the_heaviest_of_the_last_one(
    found: list[list[tuple[int, int, int]]], limit: int, of_thread: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_tree, "THREAD_PATHS", of_thread)
        tree = built(found, limit)
    kept, every = named(tree), expected(found)
    assert len(kept) <= limit
    # What is kept is right to the last digit, whatever each thread had to leave out.
    assert kept == {path: every[path] for path in kept}
    assert tree.is_cut == (len(kept) < len(every))
    outer = {path for path in every if len(path) <= tree.complete}
    assert outer <= set(kept)
    last = {path for path in every if len(path) == tree.complete + 1}
    lost = [every[path][0] for path in last - set(kept)]
    if tree.left_out:
        assert len(lost) == tree.left_out
        assert max(lost) <= min((every[path][0] for path in last & set(kept)), default=max(lost))


@given(threads(), st.integers(1, 8))
@settings(max_examples=rounds(60))
def test_levels_beyond_the_limit_are_not_merged(found: list[list[tuple[int, int, int]]], limit: int) -> None:
    whole, short = built(found, limit), built(found, limit, enough=limit)
    assert named(short) == named(whole)
    for name in ("whole", "complete", "left_out", "is_cut"):
        assert getattr(short, name) == getattr(whole, name)


@given(threads())
@settings(max_examples=rounds(60))
def test_boxes_lie_on_their_parents_widest_first(found: list[list[tuple[int, int, int]]]) -> None:
    tree = Tree()
    for lines in found:
        nodes: list[int] = []
        for parent, name, weight in lines:
            nodes.append(tree.node(nodes[parent] if parent >= 0 else -1, name))
            tree.add(nodes[-1], weight, 1)
    flame = laid_out(tree)
    for box, (parent, left) in enumerate(zip(flame.parent.tolist(), flame.left.tolist(), strict=True)):
        own = [other for other in range(len(flame)) if flame.parent[other] == parent]
        wider = [other for other in own if flame.value[other] > flame.value[box]]
        same = [other for other in own if flame.value[other] == flame.value[box]]
        ground = int(flame.left[parent]) if parent >= 0 else 0
        first = ground + int(flame.value[wider].sum())
        assert left in {first + place * int(flame.value[box]) for place in range(len(same))}
        assert parent < box
        assert flame.depth[box] == (flame.depth[parent] + 1 if parent >= 0 else 0)


def test_a_level_missing_in_one_thread_is_missing_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = [(-1, 0, 9), *[(0, name, 1) for name in (0, 1, 2)]]
    deep = [(-1, 0, 9), (0, 0, 5), (1, 0, 4), (2, 0, 3)]
    monkeypatch.setattr(path_tree, "THREAD_PATHS", 3)
    tree = built([wide, deep], 1_000)
    # The first thread keeps one level and the second three: deeper sums would be the second thread's alone.
    assert named(tree) == {(0,): (18, 2, 9, 9)}
    assert tree.is_cut


@given(threads())
@settings(max_examples=rounds(30))
def test_children_follow_their_parents_in_printing_order(found: list[list[tuple[int, int, int]]]) -> None:
    tree = built(found, 1_000)
    order = depth_first(tree).tolist()
    assert sorted(order) == list(range(len(tree.level)))
    open_: list[int] = []
    for place in order:
        del open_[int(tree.level[place]) :]
        assert tree.lines.parent[place] == (open_[-1] if open_ else -1)
        open_.append(place)


@pytest.mark.parametrize("limit", [1, 4, 7])
@pytest.mark.parametrize("selection", [Selection(), Selection(335_000, 2_400_000)])
def test_a_limited_graph_in_time_order_keeps_the_longest_boxes(
    training: Capture, monkeypatch: pytest.MonkeyPatch, selection: Selection, limit: int
) -> None:
    def boxes(flame: Flame) -> dict[int, tuple[int, ...]]:
        columns = (flame.name, flame.depth, flame.left, flame.value, flame.own)
        values = zip(*(column.tolist() for column in columns), strict=True)
        return dict(zip(flame.row.tolist(), values, strict=True))

    whole = flame_graph(View(training, selection), "operators", by_time=True)
    monkeypatch.setattr(flames, "MAX_BOXES", limit)
    cut = flame_graph(View(training, selection), "operators", by_time=True)
    assert isinstance(whole, Flame)
    assert isinstance(cut, Flame)
    every, kept = boxes(whole), boxes(cut)
    assert len(kept) == limit < len(every)
    assert kept == {row: every[row] for row in kept}
    assert min(box[3] for box in kept.values()) >= max(every[row][3] for row in every.keys() - kept.keys())
    above = dict(zip(whole.row.tolist(), whole.parent.tolist(), strict=True))
    for row, parent in zip(cut.row.tolist(), cut.parent.tolist(), strict=True):
        container = int(whole.row[above[row]]) if above[row] >= 0 else -1
        assert (int(cut.row[parent]) if parent >= 0 else -1) == (container if container in kept else -1)


def test_the_profilers_own_track_does_not_count_twice(tmp_path: pathlib.Path) -> None:
    program = Program(tmp_path / "x.h5")
    factory = TrackFactory(TRACE)
    own = program.builder.add_track(factory.profiler())
    name = program.builder.string("PyTorch Profiler (0)")
    program.builder.add_events(own, "other", [0], [1_000], [name])
    program.host("phases", "phase", 0, 900, "ProfilerStep#5")
    program.host("ranges", "range", 100, 400, "forward")
    with program.finish() as capture:
        graph = flame_graph(View(capture), "ranges")
        assert isinstance(graph, Flame)
        texts = [graph.text(capture, box) for box in range(len(graph))]
        events = rows_of(capture, "events")
        alone = flame_graph(View(capture, Selection(tracks=frozenset({own}))), "ranges")
        assert isinstance(alone, Flame)
    assert (texts, graph.value.tolist(), graph.total) == (["ProfilerStep#5", "forward"], [900, 300], 900)
    assert [(row["name"], row["cpu_ratio"]) for row in events if not row["depth"]] == [
        ("ProfilerStep#5", 1.0)
    ]
    assert alone.total == 1_000


@given(threads())
@settings(max_examples=rounds(60))
def test_bottom_up_trees_have_callers_above_functions(
    found: list[list[tuple[int, int, int]]],
) -> None:
    tree = Tree()
    expected: Counter[tuple[int, ...]] = Counter()
    counts: Counter[tuple[int, ...]] = Counter()
    for lines in found:
        nodes: list[int] = []
        paths: list[tuple[int, ...]] = []
        for parent, name, weight in lines:
            nodes.append(tree.node(nodes[parent] if parent >= 0 else -1, name))
            paths.append((name, *(paths[parent] if parent >= 0 else ())))
            tree.add(nodes[-1], weight, 1)
            expected[paths[-1]] += weight
            counts[paths[-1]] += 1
    upside_down = turned(tree)
    seen: dict[tuple[int, ...], tuple[int, int]] = {}
    paths = []
    for place, (name, parent) in enumerate(zip(upside_down.name, upside_down.parent, strict=True)):
        assert parent < place
        paths.append((*(paths[parent] if parent >= 0 else ()), name))
        assert paths[-1] not in seen
        seen[paths[-1]] = upside_down.own[place], upside_down.count[place]
    ends = {path for path, weight in expected.items() if weight}
    assert set(paths) == {path[: length + 1] for path in ends for length in range(len(path))}
    for path, (own, count) in seen.items():
        assert own == (expected[path] if path in ends else 0)
        assert count == (counts[path] if path in ends else 0)
    # Every box is as wide as what it holds.
    flame = laid_out(upside_down)
    assert flame.total == sum(expected.values())
