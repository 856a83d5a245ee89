"""The process of a `PictureProcess`: draws what it is asked on standard input, until that ends.

It finds the command ``render`` of the application like the command line does, by its entry point.
"""

from __future__ import annotations

import os
import sys

from warpline.i18n import install
from warpline.lone_numpy import load_numpy
from warpline.plugins import entry_points


def main() -> int:
    """Answer requests; returns 0."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no answer
    install()
    load_numpy()
    for point in entry_points("warpline.commands"):
        if point.name == "render":
            point.load().answer(sys.stdin.buffer, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
