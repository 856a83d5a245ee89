"""``python -m warpline``: the command line where the console script is not on PATH."""

import sys

from warpline.own_python import forget_current_folder

# What is imported from here on is not to come from the folder of a trace.
forget_current_folder()

from warpline.cli import main  # noqa: E402  # behind what it is about

sys.exit(main())
