"""Arguments that look like secrets, taken out of command lines before they are written anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MASK = "•••"
"""What stands for a secret; no shell and no program takes it for anything."""

# The last words of an option's or a variable's name; --pad-token and --max-tokens are a model's.
_NAME = re.compile(
    r"(?:^|[-_.])(?:pass(?:word|wd|phrase|code)?|pwd|secret(?:[-_.]?key)?|credentials?|(?:api|access|auth|private|account|"
    r"signing|license)[-_.]?(?:key|token)|apikey|token)$",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"(?:^|[-_.])(?:pad|eos|bos|unk|sep|cls|mask|stop|start|end|special|next|per|max|min|num|image|first|last|by)"
    r"[-_.](?:token|pass)$|^-*pass$",
    re.IGNORECASE,
)
# Tokens that tell by their beginning what they are, as their makers document them.
_KNOWN = re.compile(
    r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|sk-[\w-]{20,}|xox[abprs]-[\w-]{10,}|"
    r"AKIA[0-9A-Z]{16}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)
_IN_URL = re.compile(r"(?<=://)([^/@:\s]*):([^/@\s]+)@")
_IN_QUERY = re.compile(r"([?&])([^=&#\s]+)=([^&#\s]+)")


def masked(words: Sequence[str]) -> tuple[str, ...]:
    """A command's words with what looks like a secret replaced by `MASK`.

    Those are values of options and variables whose name ends in one (``--db-password x``, ``--token=x``,
    ``WANDB_API_KEY=x``), passwords and such parameters in URLs, and tokens known by how they begin.
    """
    found: list[str] = []
    is_value = False
    for word in words:
        name, equals, value = word.partition("=")
        if is_value and not word.startswith("-"):
            found.append(MASK)
        elif equals and value and "://" not in name and _is_secret(name):
            found.append(f"{name}={MASK}")
        else:
            found.append(_masked_inside(word))
        is_value = not equals and word.startswith("-") and _is_secret(word)
    return tuple(found)


def has_masked(words: Iterable[str]) -> bool:
    """Whether a stored command leaves something out."""
    return any(MASK in word for word in words)


def _is_secret(name: str) -> bool:
    return _NAME.search(name) is not None and _NO_SECRET.search(name) is None


def _masked_inside(word: str) -> str:
    if "://" in word:
        word = _IN_URL.sub(rf"\1:{MASK}@", word)
        word = _IN_QUERY.sub(
            lambda part: f"{part[1]}{part[2]}={MASK}" if _is_secret(part[2]) else part[0], word
        )
    return _KNOWN.sub(MASK, word)
