"""``python -m warpline``: the command line where the console script is not on PATH."""

import sys

from warpline.cli import main

sys.exit(main())
