"""Lays out a graph in layers from left to right (Sugiyama's method, using grandalf)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

Place = tuple[int, float]


def can_lay_out() -> bool:
    """Whether grandalf is installed."""
    return find_spec("grandalf") is not None


class _Box:
    """A node as grandalf expects it; it draws top to bottom, so its widths are our heights."""

    def __init__(self, height: float) -> None:
        self.w = height
        self.h = height
        self.xy = (0.0, 0.0)


def layered(count: int, edges: Sequence[tuple[int, int]], height: float, gap: float) -> list[Place]:
    """Layer (0, 1 …) and vertical centre of ``count`` nodes of one ``height``, with ``gap`` between nodes of a layer.

    Unconnected parts are placed below each other. Edges back to an earlier node do not affect layers. Raises
    ImportError without grandalf.
    """
    from grandalf.graphs import Edge, Graph, Vertex
    from grandalf.layouts import SugiyamaLayout

    nodes = [Vertex(number) for number in range(count)]
    for node in nodes:
        node.view = _Box(height)
    graph = Graph(nodes, [Edge(nodes[a], nodes[b]) for a, b in sorted({(a, b) for a, b in edges if a != b})])
    places: list[Place] = [(0, 0.0)] * count
    top = 0.0
    for part in sorted(graph.C, key=lambda part: min(node.data for node in part.sV)):
        own = _places_of(part, SugiyamaLayout, gap)
        low = min(y for _layer, y in own.values())
        for number, (layer, y) in own.items():
            places[number] = (layer, y - low + top)
        top += max(y for _layer, y in own.values()) - low + height + gap
    return places


def _places_of(part: Any, layout_class: Any, gap: float) -> dict[int, Place]:
    if part.order() == 1:
        return {next(iter(part.sV)).data: (0, 0.0)}
    layout = layout_class(part)
    layout.xspace = gap
    # The first called node is the root, so edges back to it are drawn backwards.
    layout.init_all(roots=[min(part.sV, key=lambda node: node.data)])
    layout.draw()
    layer_of = {id(node): number for number, layer in enumerate(layout.layers) for node in layer}
    return {node.data: (layer_of[id(node)], node.view.xy[0]) for node in part.sV}


def layers_in_a_row(layers: int, step: tuple[float, float], room: tuple[float, float]) -> int:
    """Layers per row at which a wrapped graph is drawn largest.

    ``step`` is the width of a layer and the height of a row, including gaps.
    """
    width, height = max(room[0], 1.0), max(room[1], 1.0)

    def scale(per_row: int) -> float:
        rows = -(-layers // per_row)
        return min(width / (per_row * step[0]), height / (rows * step[1]), 1.0)

    return max(range(1, max(layers, 1) + 1), key=lambda per_row: (scale(per_row), per_row))
