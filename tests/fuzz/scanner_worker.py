"""Feeds mutated traces to the compiled scanner: ``python scanner_worker.py LIBRARY FIRST COUNT SEED…``.

For a library that was compiled with sanitizers, which must be loaded before everything else; see `scanner_tools`.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

from warpline.interchange.torch.args import ApiArgs, GpuArgs, MemoryArgs, OperatorArgs, PythonArgs
from warpline.interchange.torch.columns import TORCH
from warpline.interchange.trace_json import scanner
from warpline.interchange.trace_json.decoding import CompiledDecoder
from warpline.interchange.trace_json.scanned_arguments import ScannedArguments
from warpline.interchange.trace_json.trace_format import CHROME

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]
from tests.fuzz.campaign.mutate_json import by_bytes  # noqa: E402  # the path is known only now


def exercise(text: bytes, rng: random.Random) -> None:
    """Everything the importers do with the scanner, from several places of the text on."""
    lib = scanner.library()
    assert lib is not None
    reader = scanner.Scanner(lib)
    begin = 0
    for _ in range(20):
        scan = reader.scan(text, begin)
        if scan is None:
            begin = text.find(b"{", begin + 1)
            if begin < 0:
                return
            continue
        for form in (TORCH, CHROME):
            CompiledDecoder(form, reader).piece(scan)
        # Objects that are none: any token may be taken for the beginning of arguments.
        tokens = len(scan.tokens)
        objects = np.array([rng.randrange(-2, tokens + 2) for _ in range(30)], np.int64)
        for args in (ApiArgs, GpuArgs, MemoryArgs, OperatorArgs, PythonArgs):
            ScannedArguments.of(scan, objects, args)
        begins = np.array([rng.randrange(-2, len(text) + 2) for _ in range(30)], np.int64)
        scanner.distinct(scan, begins, np.array([rng.randrange(-1, 50) for _ in range(30)], np.int64))
        if scan.ended:
            return
        begin = scan.stop


def main() -> None:
    """Ends with the status of the sanitizer when it finds something."""
    library, first, count, *paths = sys.argv[1:]
    scanner.LIBRARY = Path(library)
    seeds = [Path(path).read_bytes() for path in paths]
    for number in range(int(first), int(first) + int(count)):
        rng = random.Random(number)
        content = rng.choice(seeds)
        at = rng.randrange(0, max(1, len(content) - 1000))
        text = by_bytes(content[at : at + rng.choice((64, 1_000, 20_000))], rng)
        exercise(text[text.find(b"{") :] if rng.random() < 0.8 else text, rng)
    print(f"{count} texts")


if __name__ == "__main__":
    main()
