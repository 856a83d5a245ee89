"""Text in Markdown."""

from __future__ import annotations

import re

# Underscores within a word are letters to Markdown, those at its ends are emphasis: __getitem__.
_SIGNS = re.compile(r"[\\`*|[]|~~+|(?<!\w)_+|_+(?!\w)")


def markdown_text(text: str) -> str:
    """Text as Markdown that shows it as it is, on one line: ``<module>`` is no tag, ``__init__`` is not bold.

    Nothing becomes a link or an image, which would be loaded from wherever a name says.
    """
    shown = _SIGNS.sub(lambda match: "".join(f"\\{sign}" for sign in match[0]), text)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace("\r", " ").replace("\n", " ")
