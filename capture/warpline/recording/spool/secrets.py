"""Masks arguments that look like secrets before command lines are stored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MASK = "•••"
"""Replaces a secret; it has no meaning to shells and programs."""

# Names of options, variables and fields with secrets. "token" and "key" alone are too common to be one.
_SECRET = re.compile(
    r"passw(?:or)?d|passphrase|passcode|secret(?!ary)|credential|(?:^|[-_.])pwd$", re.IGNORECASE
)
_TOKEN = re.compile(
    r"(?:api|access|auth|private|encryption|signing|licen[cs]e|account|client|wandb|hf|hub|github|gitlab|bot|bearer)"
    r"[-_.]?(?:key|token)$|(?:^|[-_.])token$",
    re.IGNORECASE,
)
_OF_A_MODEL = re.compile(
    r"(?:^|[-_.])(?:pad|eos|bos|unk|sep|cls|mask|stop|start|end|special|next|per|max|min|num|image|first|last|by)"
    r"[-_.]token$",
    re.IGNORECASE,
)
_NO_VALUE = re.compile(r"--?(?:no|use|with|without|enable|disable|skip|ask|show)[-_]", re.IGNORECASE)
_PLAIN = re.compile(r"(?:true|false|yes|no|none|null|on|off|\d{1,6}|<.*>|\[.*\])?", re.IGNORECASE | re.DOTALL)
_SCRIPT = re.compile(r"-[a-z]*c")

# Lengths are bounded so that matching stays fast for arguments of 100 kB.
_ASSIGNED = re.compile(r"(?<![\w.-])([A-Za-z_-][\w.-]{0,80})=(\"[^\"]*\"|'[^']*'|[^\s;&|\"'#]+)")
_OPTION = re.compile(
    r"(?<![\w.-])(--?[A-Za-z][\w.-]{0,80})([ \t]+)(\"[^\"]*\"|'[^']*'|[^\s;&|\"'-][^\s;&|\"']*)"
)
_FIELD = re.compile(r"([\"'])([\w.-]+)\1(\s*:\s*)(\"[^\"]*\"|'[^']*')")
_HEADER = re.compile(
    r"(?<![\w-])((?:proxy-)?authorization|[\w-]{0,40}(?:api-key|token))(:\s*)((?:\w{1,20}\s+)?)([^\s\"']+)",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"(?<=://)(?:([^/@:\s]*):[^/@\s]+|[^/@:\s]{20,})@")
_USER = re.compile(r"([^:\s]+):(?!\d+$)\S+")
# Tokens with documented prefixes.
_KNOWN = re.compile(
    r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|sk-[\w-]{20,}|xox[abprs]-[\w-]{10,}|"
    r"AKIA[0-9A-Z]{16}|eyJ[\w-]{10,900}\.[\w-]{10,900}\.[\w-]*)"
)


def masked(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command, with values that look like secrets replaced by `MASK`.

    These are values of options, variables, JSON fields and HTTP headers with telling names (``--db-password x``,
    ``WANDB_API_KEY=x``), ``-u NAME:PASSWORD``, passwords and tokens in URLs, and tokens with known prefixes, also in
    scripts (``-c``).
    """
    result: list[str] = []
    before = ""
    for word in words:
        name, equals, value = word.partition("=")
        if _holds(before, word) and not word.startswith("-"):
            result.append(MASK)
        elif before in ("-u", "--user") and _USER.fullmatch(word):
            result.append(_USER.sub(rf"\1:{MASK}", word))
        elif equals and not _SCRIPT.fullmatch(before) and _is_name(name) and _is_secret(name, value):
            result.append(f"{name}={MASK}")
        else:
            result.append(_masked_inside(word))
        before = word
    return tuple(result)


def has_masked(words: Iterable[str]) -> bool:
    """Whether a stored command contains a masked value."""
    return any(MASK in word for word in words)


def _is_name(text: str) -> bool:
    return re.fullmatch(r"-{0,2}[A-Za-z_][\w.-]*", text) is not None


def _is_secret(name: str, value: str) -> bool:
    if _SECRET.search(name):
        return value.lower() not in ("", "true", "false", "none", "null")
    return bool(_TOKEN.search(name)) and not _OF_A_MODEL.search(name) and not _PLAIN.fullmatch(value)


def _holds(option: str, value: str) -> bool:
    """Whether a word after an option is a secret value."""
    is_option = option.startswith("-") and _is_name(option) and not _NO_VALUE.match(option)
    return is_option and _is_secret(option, value)


def _masked_inside(word: str) -> str:
    """A longer text with its secrets masked: a script, JSON, a header, a URL."""
    word = _IN_URL.sub(lambda part: f"{part[1]}:{MASK}@" if part[1] is not None else f"{MASK}@", word)
    word = _FIELD.sub(
        lambda part: (
            f"{part[1]}{part[2]}{part[1]}{part[3]}{part[1]}{MASK}{part[1]}"
            if _is_secret(part[2], part[4][1:-1])
            else part[0]
        ),
        word,
    )
    word = _HEADER.sub(lambda part: f"{part[1]}{part[2]}{part[3]}{MASK}", word)
    word = _ASSIGNED.sub(
        lambda part: f"{part[1]}={MASK}" if _is_secret(part[1], part[2].strip("\"'")) else part[0], word
    )
    word = _OPTION.sub(
        lambda part: f"{part[1]}{part[2]}{MASK}" if _holds(part[1], part[3].strip("\"'")) else part[0], word
    )
    return _KNOWN.sub(MASK, word)
