"""The columns of a capture, as stored in its file."""

import os

# HDF5 locks files by default, which fails on network file systems and blocks a viewer beside a writer. It looks for
# this when it is loaded: whichever module here is the first to do so, this comes before.
os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
