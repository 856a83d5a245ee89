"""The one place that knows the version; the build reads this file."""

__version__ = "0.1.0"
