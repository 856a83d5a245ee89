"""Render map strips from compressed tiles, several zoomed layers per strip."""
import zlib
from functools import lru_cache

import numpy as np

TILE = 128
COLUMNS = 80
LAYERS = 32


class TileArchive:
    def __init__(self, columns):
        rng = np.random.default_rng(4)
        self._blobs = {}
        for x in range(columns):
            coarse = rng.integers(0, 255, (TILE // 4, TILE // 4, 3), dtype=np.uint8)
            tile = np.kron(coarse, np.ones((4, 4, 1), dtype=np.uint8))
            self._blobs[x] = zlib.compress(tile.tobytes(), 6)

    def blob(self, x):
        return self._blobs[x]


ARCHIVE = TileArchive(COLUMNS)


@lru_cache(maxsize=2 * COLUMNS)
def decode_tile(x):
    raw = zlib.decompress(ARCHIVE.blob(x))
    pixels = np.frombuffer(raw, dtype=np.uint8).reshape(TILE, TILE, 3)
    linear = (pixels / 255.0) ** 2.2
    padded = np.pad(linear, ((2, 2), (2, 2), (0, 0)), mode="edge")
    blurred = np.zeros_like(linear)
    for dy in range(5):
        for dx in range(5):
            blurred += padded[dy:dy + TILE, dx:dx + TILE]
    return blurred / 25.0


def shade(tile, layer):
    weight = 1.0 / (1.0 + layer)
    grey = tile[::2, ::2] @ np.array([0.2126, 0.7152, 0.0722])
    return grey * weight


def blend(canvas, x, patch):
    half = TILE // 2
    view = canvas[:, x * half:(x + 1) * half]
    np.maximum(view, patch, out=view)


def render_layer(canvas, layer):
    for x in range(COLUMNS):
        blend(canvas, x, shade(decode_tile(x), layer))


def histogram(canvas, bins=32):
    counts, _ = np.histogram(canvas, bins=bins, range=(0.0, 1.0))
    return counts


def main():
    canvas = np.zeros((TILE // 2, COLUMNS * TILE // 2))
    seen = np.zeros(32, dtype=np.int64)
    for layer in range(LAYERS):
        render_layer(canvas, layer)
        seen += histogram(canvas)
    print(int(seen.sum()), round(float(canvas.mean()), 6))


if __name__ == "__main__":
    main()
