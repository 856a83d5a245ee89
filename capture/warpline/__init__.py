"""Warpline: captures of what CPU cores, threads and GPU streams did, without the window.

Importing this package costs nothing: it may be imported inside a program that is being recorded, so it must not
bring in numpy, h5py or Qt. Subpackages do, where they need them.
"""

from typing import TYPE_CHECKING, Any

from warpline._version import __version__

if TYPE_CHECKING:
    from warpline.annotation import annotate, mark

__all__ = ["__version__", "annotate", "mark"]


def __getattr__(name: str) -> Any:
    if name not in {"annotate", "mark"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from warpline import annotation

    value = globals()[name] = getattr(annotation, name)
    return value
