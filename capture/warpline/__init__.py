"""Warpline: captures of what CPU cores, threads and GPU streams did, without the window.

Importing this package costs nothing: it may be imported inside a program that is being recorded, so it must not
bring in numpy, h5py or Qt. Subpackages do, where they need them.
"""

from warpline._version import __version__

__all__ = ["__version__"]
