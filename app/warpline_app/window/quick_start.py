"""What the first frame does not wait for: source files that PySide would read, and collections of garbage."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_YOUNG_OBJECTS = 20_000
"""New objects after which Python looks for circles among them: a window makes that many in a blink."""


@contextmanager
def imports_uncollected() -> Iterator[None]:
    """Collect no garbage while modules are imported, and leave what they consist of out of later collections.

    Modules stay for as long as the process lives, so that looking through them finds nothing.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(_YOUNG_OBJECTS)
        gc.enable()


def spare_sources() -> None:
    """Let PySide take it that every module may use Qt, instead of searching its source for the word.

    It does so once for each module that is imported after QtCore, to know in which names are switched to snake_case;
    modules that it did find are treated as all are now. A PySide that does it in another way is left as it is.
    """
    import PySide6.QtCore  # noqa: F401  # brings the module that is looked for

    feature: Any = sys.modules.get("shibokensupport.feature")
    if hasattr(feature, "_mod_uses_pyside"):
        feature._mod_uses_pyside = lambda _module: True
