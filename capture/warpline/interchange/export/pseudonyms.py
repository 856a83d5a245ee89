"""Pseudonyms for what names people, machines and projects in a capture.

Paths, hosts and addresses, users, commands with their arguments, and process names get a pseudonym each, the same
wherever they occur in the capture. The numbers follow the order of first use, so they say nothing about the originals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from warpline.i18n import tr
from warpline.model.kinds import BUILTIN_KINDS, KindSpec
from warpline.model.roles import ROLES
from warpline.model.track_titles import BELOW_THREAD
from warpline.model.tracks import Device
from warpline.model.waits import FUNCTION_NAMES

if TYPE_CHECKING:
    from warpline.storage import Capture

KEPT_META = (
    "exit_status", "exit_signal", "page_fault_ns", "allowed_cores", "thread_accounting", "tool", "trace", "recording",
)  # fmt: skip
"""Keys of ``meta.meta`` that say nothing about who, where and when."""
_KEPT_HOST = ("machine", "cpus", "cpu_model", "memory_bytes")
_PUBLIC_NAMES = frozenset(
    ("", "bash", "sh", "dash", "zsh", "java", "node", "perl", "ruby", "root", "localhost", "warpline", "main")
)
_PUBLIC_PYTHON = re.compile(r"(?:lib)?python[\d.]*|pypy[\d.]*")
_COMMON_FOLDERS = frozenset((
    "home", "Users", "root", "tmp", "var", "opt", "mnt", "data", "src", "lib", "lib64", "bin", "usr", "work", "build",
    "dist", "venv", ".venv", "run", "srv", "media", "scratch", "app", "etc", "local", "share", "include", "python",
    "scripts", "tests", "test", "private", "export", "workspace",
))  # fmt: skip
_PUBLIC_ROOT = re.compile(
    r"/(?:proc|sys|usr/(?:lib\w*|bin|sbin|include|share|local/cuda)|lib\w*|s?bin|dev/(?:nvidia\w*|null|zero|tty|pts|u?random))"
    r"(?=/|$|[-\d.])"
)
_INSTALLED = re.compile(r"[/\\](?=(?:site-packages|dist-packages|lib[/\\]python3[\d.]*)(?:[/\\]|$))")
_CODE = (
    "py|pyc|pyx|pyi|so|c|cc|cpp|cxx|cu|cuh|h|hh|hpp|rs|go|js|mjs|ts|java|kt|rb|sh|pl|ipynb|json|ya?ml|toml|txt|csv|h5|pt"
    "|npz?|db"
)
_START = r"(?<![\w/.@+-])"
_STOP = r"(?!\w|\((?!\d+\)))"  # "net.py(85)" is a file and its line, "ns.c(int)" a function
_PATH = re.compile(
    r"(?P<held>(?<=[(\[\"'])(?:/|~/|[A-Za-z]:[/\\])[^()\[\]\"'\n]*?(?=(?::\d+)*[)\]\"']))"
    r"|(?P<all>^(?:/|~/|[A-Za-z]:[/\\])[^\n:]*$)"
    r"|(?P<absolute>(?<![\w/.<])(?:~|[A-Za-z]:)?[/\\](?=[\w.@~+-])[^\s:'\"()\[\]<>|,;]+)"
    rf"|(?P<relative>{_START}[\w.@+-]+(?:[/\\][\w.@+-]+)*\.(?:{_CODE})\b{_STOP})"
    rf"|(?P<data>{_START}[\w.@+-]+(?:[/\\][\w.@+-]+)+\.[a-z][a-z0-9]{{0,11}}(?![/\\]){_STOP})"
)
_PUBLIC_PACKAGE = re.compile(
    r"(?:torch|torchvision|torchaudio|numpy|scipy|pandas|jax|jaxlib|flax|tensorflow|keras|triton|transformers|accelerate"
    r"|deepspeed|lightning|paddle|asyncio|multiprocessing|concurrent|importlib)/[\w./]+\.py"
)
_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s'\"<>]+")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?![\w-])")
_HEX = "[0-9A-Fa-f]{1,4}"
_ADDRESS = re.compile(
    r"(?<![\w.])(?!127\.0\.0\.1|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\w)"
    # IPv6 and hardware addresses; shorter ones without :: are times and slices
    rf"|(?<![\w:])\[?(?:(?:{_HEX}:){{5,7}}{_HEX}|(?:{_HEX}:){{2,6}}(?::{_HEX})+|(?:fe80|f[cd]{_HEX}|2\w{{3}}):(?::{_HEX})+)\]?(?!\w)"
    rf"|(?<!\w)[0-9A-Fa-f]{{4,8}}:[0-9A-Fa-f]{{2}}:[0-9A-Fa-f]{{2}}\.[0-7](?!\w)"
    r"|(?<![\w./-])(?=[\d.]*[A-Za-z_-])[\w-]+(?:\.[\w-]+)+(?=:\d{2,5}\b)"
    # hosts without a port, told from names of functions by their ends
    r"|(?<![\w./:-])[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.(?:com|org|edu|gov|mil|[\w-]+\.(?:example|corp|lan|intra|invalid))(?![\w(-]|\.\w)"
    r"|(?<![\w./:-])(?=[a-z-]*[\d-])[a-z0-9-]+(?:\.[a-z0-9-]+)+\.[a-z]{2,12}(?![\w(-]|\.\w)"
)
_TOKEN = re.compile(r"\w[\w.+@-]*\w|\w")
_PART = re.compile(r"[.+@_-]")
_SQL = re.compile(
    r"\s*(?:query\s+)?(?:SELECT|INSERT|REPLACE|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|CALL|COPY|SET)\s",
    re.IGNORECASE,
)
_SQL_VALUE = re.compile(r"'(?:[^']|'')*'")
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:[/\\]Users[/\\])([^/\\\s:]+)")


def _words_of(spec: KindSpec) -> Iterator[str]:
    yield from (spec.name, spec.category, spec.color, *re.findall(r"\w+", spec.title))
    for attribute in spec.attributes:
        yield attribute.name
        for text in (attribute.title, *attribute.enum.values()):
            yield from re.findall(r"\w+", text)


VOCABULARY = frozenset(
    (
        *(word for spec in BUILTIN_KINDS for word in _words_of(spec)),
        *(word for role in ROLES.values() for word in (role.name, role.family)),
        *(word for key in BELOW_THREAD for word in (key, *key.split("-"))),
        *FUNCTION_NAMES.values(),
        "running", "runnable", "blocked", "uninterruptible", "counters", "npu",
        "agent", "count", "cuda", "native", "nvml", "nvtx", "osrt", "paddle", "perf", "procfs", "steps", "torch",
        "wakeups",
    )
)  # fmt: skip
"""Words of the capture's own: kinds, attributes, roles, sources, states and calls. A capture without them says nothing,
so they stay even where they are arguments too."""


def without_texts(device: Device) -> Device:
    """The device without serial numbers and addresses of its bus."""
    return replace(
        device, properties=tuple(pair for pair in device.properties if not isinstance(pair[1], str))
    )


def what_changes(capture: Capture) -> list[str]:
    """What an anonymous export replaces, leaves out and keeps, one line each."""
    pseudonyms = Pseudonyms(capture)
    kept = pseudonyms.survey(capture)
    counts = pseudonyms.counts
    words = {
        "host": tr("hosts"), "user": tr("users"), "process": tr("process names"), "argument": tr("arguments"),
        "folder": tr("folders"), "file": tr("files"), "address": tr("addresses"),
        "value": tr("texts in SQL"),
    }  # fmt: skip
    replaced = ", ".join(f"{words[kind]} ({counts[kind]:,})" for kind in words if kind in counts)
    return [
        tr("replaced by pseudonyms: {replaced}", replaced=replaced or tr("nothing")),
        tr(
            "left out: command lines, working folder, standard error, start time, notes, rows made by queries,"
            " serial numbers of GPUs, other keys of an importer"
        ),
        tr(
            "kept: times, counts and sizes, process ids, models of CPU and GPUs, public folders such as /usr/lib, what"
            " lies in site-packages, and {count:,} names of functions, kernels, operators, ranges and threads",
            count=kept,
        ),
    ]


class Pseudonyms:
    """The pseudonyms of one capture."""

    def __init__(self, capture: Capture) -> None:
        self._names: dict[tuple[str, str], str] = {}
        """Pseudonyms by kind and original."""
        self._words: dict[str, str] = {}
        """Pseudonyms of words that are replaced wherever they occur."""
        self._counts: dict[str, int] = {}
        self._made: dict[str, str] = {}
        self._phrases: list[str] = []
        meta = capture.meta
        host = meta.get("host")
        if isinstance(host, Mapping):
            for name in ("name", "reached_as"):
                self._host(str(host.get(name) or ""))
        for process in capture.processes:
            self._secret("process", PurePosixPath(process.name).name)
            self._arguments(process.command.split())
        command = meta.get("command_line")
        self._arguments(str(word) for word in (command if isinstance(command, list) else ()))
        self._folders(str(meta.get("working_directory") or ""))
        for text in capture.strings.get(range(len(capture.strings))):
            self._users(text)

    @property
    def counts(self) -> dict[str, int]:
        """How many pseudonyms there are of each kind: host, user, process, argument, folder, file, address, value."""
        return dict(self._counts)

    def text(self, text: str) -> str:
        """The text with pseudonyms."""
        known = self._made.get(text)
        if known is None:
            known = self._made[str(text)] = self._replaced(str(text))
        return known

    def uri(self, uri: str) -> str:
        """The URI of a track with pseudonyms in its parts, which hold names with their slashes quoted."""
        return "/".join(map(self._uri_part, uri.split("/")))

    def _uri_part(self, part: str) -> str:
        plain = unquote(part)
        text = self.text(plain)
        name, dot, number = plain.rpartition(".")
        if (
            text == plain and dot and number.isdecimal()
        ):  # tells processes and threads of one name or number apart
            text = f"{self.text(name)}.{number}"
        return part if text == plain else quote(text, safe=" ()+:#")

    def value(self, value: Any) -> Any:
        """A value of JSON with pseudonyms in its texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(part) for part in value]
        return value

    def meta(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """What is kept of ``meta.meta``."""
        kept = {key: self.value(meta[key]) for key in KEPT_META if key in meta}
        host = meta.get("host")
        if isinstance(host, Mapping):
            kept["host"] = {key: self.value(host[key]) for key in _KEPT_HOST if key in host}
        return kept

    def survey(self, capture: Capture) -> int:
        """Give every text of the capture its pseudonyms; returns how many texts hold none and stay as they are."""
        texts = set(capture.strings.get(range(len(capture.strings))))
        texts.update(track.title for track in capture.tracks)
        texts.update(thread.name for thread in capture.threads)
        texts.update(warning for warning in capture.warnings)
        return sum(self.text(text) == text for text in texts if text)

    def _replaced(self, text: str) -> str:
        if _SQL.match(text):
            text = _SQL_VALUE.sub(lambda match: f"'{self._name('value', match[0])}'", text)
        text = _URL.sub(lambda match: self._name("address", match[0]), text)
        text = _MAIL.sub(lambda match: self._name("address", match[0]), text)
        text = _PATH.sub(lambda match: self._path(match[0]), text)
        text = _ADDRESS.sub(lambda match: self._address(match[0]), text)
        for phrase in self._phrases:
            text = text.replace(phrase, self._words[phrase])
        return _TOKEN.sub(lambda match: self._token(match[0]), text)

    def _token(self, token: str) -> str:
        known = self._words.get(token)
        if known is not None or token in VOCABULARY:
            return known or token
        parts = _PART.split(token)
        if not any(part in self._words for part in parts):
            return token
        marks = [*_PART.findall(token), ""]
        return "".join(self._words.get(part, part) + mark for part, mark in zip(parts, marks, strict=True))

    def _address(self, address: str) -> str:
        is_file = re.fullmatch(_CODE, address.rpartition(".")[2])  # as before a line's number
        return address if is_file else self._words.get(address) or self._name("address", address)

    def _path(self, path: str) -> str:
        """A path with pseudonyms for its folder and its file. Below a public folder it stays."""
        if _PUBLIC_ROOT.match(path) or _PUBLIC_PACKAGE.fullmatch(path):
            return path
        place = _INSTALLED.search(path)
        if place is not None:
            folder, rest = path[: place.start()], path[place.start() :]
            return f"/{self._name('folder', folder)}{rest}" if folder else path
        pure = PureWindowsPath(path) if "\\" in path or path[1:2] == ":" else PurePosixPath(path)
        folder, file = str(pure.parent), pure.name
        stem = self._words.get(pure.stem) or self._name("file", pure.stem)
        named = stem + (pure.suffix if len(pure.suffix) <= 8 else "") if file else ""
        if folder in {".", ""}:
            return named
        return f"/{self._name('folder', folder)}/{named}"

    def _secret(self, kind: str, text: str) -> None:
        """From now on, replace this word wherever it occurs."""
        text = text.strip()
        is_public = text in _PUBLIC_NAMES or text in VOCABULARY or _PUBLIC_PYTHON.fullmatch(text) is not None
        if is_public or len(text) < 2 or not re.search(r"[^\W\d]", text):
            return
        if text not in self._words:
            self._words[text] = self._name(kind, text)
            if _TOKEN.fullmatch(text) is None:
                self._phrases.append(text)
                self._phrases.sort(key=len, reverse=True)

    def _arguments(self, words: Iterable[str]) -> None:
        for number, word in enumerate(words):
            is_option = number > 0 and word.startswith("-")
            value = word.partition("=")[2] if is_option else word
            if "/" in value or "\\" in value:
                self._folders(str(PurePosixPath(value).parent))
                value = PurePosixPath(value).name
            stem, dot, suffix = value.rpartition(".")
            self._secret("argument", stem if dot and re.fullmatch(_CODE, suffix) else value)

    def _host(self, text: str) -> None:
        """A host as ssh is given it: alone, with a user, with a port."""
        user, _at, host = text.rpartition("@")
        host = re.sub(r":\d+$", "", host.rpartition("/")[2])
        self._secret("user", user.rpartition("/")[2])
        self._secret("host", host)
        self._secret("host", host.partition(".")[0])

    def _users(self, text: str) -> None:
        for user in _HOME.findall(text):
            self._secret("user", user)

    def _folders(self, path: str) -> None:
        self._users(path)
        for folder in re.split(r"[/\\]", path):
            if folder not in _COMMON_FOLDERS and not folder.startswith("."):
                self._secret("folder", folder)

    def _name(self, kind: str, original: str) -> str:
        key = (kind, original)
        if key not in self._names:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[key] = f"{kind}-{self._counts[kind]}"
        return self._names[key]
