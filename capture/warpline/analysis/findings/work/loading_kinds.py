"""Kinds of work inside data loading, and what some threads spend most of their running time on."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.finding import Severity
from warpline.analysis.findings.segments import IntArray
from warpline.analysis.findings.wait_kinds import FRAME, is_library
from warpline.analysis.findings.work.hot_lines import HotLine, hot_line
from warpline.analysis.findings.work.kind import WorkKind
from warpline.analysis.findings.work.running_work import source_files
from warpline.analysis.findings.work.source_lines import SourceLine
from warpline.i18n import english

_MOST = 0.5
"""Share of the running time from which a kind of work is named."""


def _frames(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(^|/)({pattern})")


@dataclass(frozen=True)
class _Calls:
    """Whether a line calls a function whose name matches."""

    pattern: re.Pattern[str]

    def __call__(self, line: SourceLine) -> bool:
        return any(self.pattern.search(name) for name, _ in line.calls)


LOADING_KINDS: tuple[WorkKind, ...] = (
    # The first match counts.
    WorkKind(
        key="tokenized",
        doing=english("splitting texts into tokens, item by item"),
        frames=_frames(
            r"(transformers/tokenization|transformers/models/\w+/tokenization|tokenizers/|sentencepiece/|nltk/|spacy/"
            r"|tiktoken/|torchtext/).*:"
        ),
        line=_Calls(
            re.compile(
                r"(?i)(^|[._])(tokeni[sz]e\w*|tokeni[sz]er|encode_plus|batch_encode\w*|bpe|wordpiece)$"
            )
        ),
        remedy=english(
            "Tokenize the texts once before training and keep the numbers, with a native tokenizer and many texts in "
            "each call."
        ),
        refutation=english("Refuted if every text is seen only once and the tokenizer is native."),
    ),
    WorkKind(
        key="decoded",
        doing=english("decoding images, audio or video, item by item"),
        frames=_frames(
            r"(PIL/(\w+ImagePlugin|ImageFile)\.py:|PIL/Image\.py:(open|Image\.load|Image\.tobytes)$|imageio/|librosa/core/audio"
            r"|soundfile\.py:|torchaudio/|torchvision/io/|torchcodec/|decord/|av/\w+\.py:|wave\.py:)"
        ),
        line=_Calls(
            re.compile(
                r"(?i)(^|\.)(imread|imdecode|decode_(image|jpeg|png|gif|video|audio)|read_(image|video))$|^(PIL\.)?Image\.open$"
            )
        ),
        remedy=english(
            "Decode at reduced size (Image.draft, IMREAD_REDUCED), decode once and keep the small result, or decode on "
            "the GPU (DALI, torchvision, nvImageCodec)."
        ),
        refutation=english("Refuted if loading is as slow with items that are already decoded."),
    ),
    WorkKind(
        key="augmented",
        doing=english("transforming items (augmentation), one by one"),
        frames=_frames(
            r"(PIL/(Image|ImageOps|ImageFilter|ImageEnhance|ImageChops)\.py:|torchvision/transforms/|albumentations/"
            r"|kornia/|imgaug/|scipy/ndimage/|skimage/|torchaudio/(transforms|functional))"
        ),
        line=_Calls(
            re.compile(
                r"(?i)(^|\.)(rot(ate|90)|resize|warp\w*|\w*blur|gaussian\w*|affine\w*|crop|flip\w*|fliplr|flipud"
                r"|transpose|filter2d|remap|interpolate|colorjitter|jitter|augment\w*|transforms?|normalize|zoom|roll|pad)$"
            )
        ),
        remedy=english(
            "Shrink or crop first and transform the small item; transform whole batches at once, on the GPU if there "
            "is one; do what is the same in each epoch once beforehand."
        ),
        refutation=english("Refuted if loading is as slow without the transformations."),
    ),
    WorkKind(
        key="features",
        doing=english("computing features of signals, item by item"),
        frames=_frames(r"(librosa/|torchaudio/|scipy/(signal|fft)/|python_speech_features/)"),
        line=_Calls(
            re.compile(r"(?i)(^|\.)(i?stft|i?r?fftn?2?|\w*spectrogram|mfcc|melspec\w*|spectrum|resample\w*)$")
        ),
        remedy=english(
            "Compute the features once and store them, or compute them for whole batches, on the GPU if there is one."
        ),
        refutation=english("Refuted if loading is as slow with features that are already computed."),
    ),
    WorkKind(
        key="parsed",
        doing=english("parsing records or texts, item by item"),
        frames=_frames(r"(json/\w+|pickle|csv|xml/etree/ElementTree|ast|pandas/io/.*|pyarrow/.*)\.py:"),
        line=_Calls(
            re.compile(
                r"(?i)(^|\.)(loads|literal_eval|read_(csv|json|parquet|table)|fromstring|genfromtxt|loadtxt|strptime)$"
            )
        ),
        remedy=english(
            "Parse the data once beforehand and store it as arrays (numpy, Arrow, memory-mapped files)."
        ),
        refutation=english("Refuted if loading is as slow with data that is already parsed."),
    ),
    WorkKind(
        key="collated",
        doing=english("putting items together into batches, value by value"),
        frames=_frames(r"(torch/utils/data/_utils/collate\.py:|torch/_tensor\.py:Tensor\.tolist)"),
        line=_Calls(
            re.compile(r"(^|\.)(tolist|tensor|as_tensor|stack|pad_sequence|cat|concatenate|to_tensor)$")
        ),
        remedy=english(
            "Let items be arrays or tensors and stack them (torch.stack, np.stack); do not go through Python lists."
        ),
        refutation=english("Refuted if loading is as slow with batches that are already made."),
    ),
)


@dataclass(frozen=True, eq=False)
class DominantWork:
    """The longest line of some running code, its kind of work (None: unknown), and the share of the time, 0–1.

    ``stacks`` are the ids of all stacks of that kind, or of that line.
    """

    hot: HotLine
    kind: WorkKind | None
    share: float
    stacks: tuple[int, ...]


def dominant_work(
    case: Case, stacks: IntArray, length: npt.NDArray[np.integer], is_loading: bool = True
) -> DominantWork | None:
    """What running code at some stacks (ids, [n], −1: none), each for a ``length`` in ns, does most of the time.

    Names kinds of work inside data loading (``is_loading``), and the general ones.
    """
    codes, inverse = np.unique(stacks, return_inverse=True)
    spent = np.bincount(inverse.reshape(-1), length, len(codes))
    sources, frames = case.once(source_files), case.view.capture.stack_frames
    by_kind: dict[object, Counter[int]] = {}
    hots: dict[int, HotLine] = {}
    kinds: dict[object, WorkKind | None] = {}
    for code, time in zip(codes.tolist(), spent.tolist(), strict=True):
        hot = hot_line(frames(code), sources) if code >= 0 else None
        if hot is None or not hot.file:
            continue
        kind = kind_in_loading(hot, frames(code)) if is_loading else hot.kind
        key: object = hot.place if kind is None else kind.key
        hots[code], kinds[key] = hot, kind
        by_kind.setdefault(key, Counter())[code] += int(time)
    total = int(spent.sum())
    if not by_kind or not total:
        return None
    best = max(by_kind, key=lambda key: by_kind[key].total())
    share = by_kind[best].total() / total
    lines: Counter[tuple[str, int | None, str]] = Counter()
    for code, time in by_kind[best].items():
        lines[hots[code].place] += time
    place = lines.most_common(1)[0][0]
    longest = max(
        (code for code in by_kind[best] if hots[code].place == place), key=lambda code: by_kind[best][code]
    )
    return DominantWork(hots[longest], kinds[best] if share >= _MOST else None, share, tuple(by_kind[best]))


def kind_in_loading(hot: HotLine, frames: list[str]) -> WorkKind | None:
    """The kind of a stack: one that is costly anywhere, else one of loading, else one that is only noted."""
    if hot.kind is not None and hot.kind.worst is not Severity.NOTE and hot.kind.key not in _GENERAL:
        return hot.kind
    inner: list[str] = []
    own: list[str] = []
    for match in filter(None, map(FRAME.match, frames)):
        if not is_library(match["file"]):
            own.append(match["function"])
        elif own:
            break
        else:
            inner.append(f"{match['file']}:{match['function']}")
    for kind in LOADING_KINDS:
        if kind.frames is not None and any(kind.frames.search(callee) for callee in inner):
            return kind
        if kind.line is not None and hot.line is not None and kind.line(hot.line):
            return kind
    for function in own:
        for kind in LOADING_KINDS:
            if _BY_NAME[kind.key].search(function):
                return kind
    return hot.kind


_GENERAL = ("converted",)
"""Inside data loading, more can be said of these."""
_BY_NAME = {
    "tokenized": re.compile(r"(?i)tokeni[sz]|(^|[._])(bpe|wordpiece|subword|encode|vocab)"),
    "decoded": re.compile(r"(?i)(^|[._])(decode|demux)"),
    "augmented": re.compile(
        r"(?i)augment|(^|[._])(transform|jitter|rotate|resize|crop|flip|blur|distort|warp)"
    ),
    "features": re.compile(r"(?i)(^|[._])(spectrogram|mfcc|mel|stft|features?)($|_)"),
    "parsed": re.compile(r"(?i)(^|[._])parse"),
    "collated": re.compile(r"(?i)(^|[._])collate"),
}
"""Where a line calls nothing that is known, the name of its function, or of its callers, says what the code does."""
