"""The one place that knows the version; the build reads this file.

The changelog's newest release, or while something is unreleased the next one with ``.dev0``.
"""

__version__ = "0.5.0.dev0"
