"""What the programs of a bundle run: ``warpline``, or ``warpline-window`` by the name it was started under.

Warpline starts its own modules as ``sys.executable -I -c PROGRAM``; in a bundle that is this program again.
"""

import os
import sys
from pathlib import Path

# PyInstaller points it to the libraries of the bundle, which recorded programs must not load.
os.environ.pop("LD_LIBRARY_PATH", None)
if (own := os.environ.pop("LD_LIBRARY_PATH_ORIG", None)) is not None:
    os.environ["LD_LIBRARY_PATH"] = own

from warpline.cli import main, main_window  # may start programs


def run() -> int:
    """The exit status of what the arguments ask for."""
    options = sys.argv[1:]
    if options[:1] == ["-I"] and "-c" in options[1:3]:
        program = options.index("-c") + 1
        sys.argv = ["-c", *options[program + 1 :]]
        exec(compile(options[program], "<string>", "exec"), {"__name__": "__main__"})
        return 0
    return main_window() if Path(sys.argv[0]).stem == "warpline-window" else main()


if __name__ == "__main__":
    sys.exit(run())
