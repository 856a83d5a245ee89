"""What the name of an engine step says: how many requests it prefills and decodes, and how many tokens.

Sources: vLLM ``vllm/v1/worker/gpu_worker.py`` (``annotate_profile``), SGLang ``sglang/srt/utils/profile_utils.py``
(``build_step_span_name``), ATOM (``prefill[bs=…]``), TensorRT-LLM ``_torch/pyexecutor/py_executor.py``
(``_forward_step``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

UNKNOWN = -1
_VLLM = re.compile(
    r"execute_(?:\d+_)?context_(?P<prefill>\d+)\((?P<context>[^)]*)\)_generation_(?P<decode>\d+)\((?P<generated>[^)]*)\)"
)
_VLLM_TOKENS = re.compile(r"(?:sq)?(\d+)")
_SGLANG = re.compile(r"step\[(?P<mode>[A-Z_]+) bs=(?P<batch>\d+)(?P<rest>[^\]]*)\]")
_ATOM = re.compile(r"(?P<mode>prefill|decode)\[bs=(?P<batch>\d+)(?P<rest>[^\]]*)\]")
_TENSORRT = re.compile(
    r"\[Executor\] _forward_step[^:]*: (?P<prefill>\d+) ctx reqs,(?: \d+ ctx tokens,)? (?P<decode>\d+) gen reqs"
)
_TOKENS = re.compile(r"\btoks?=(\d+)")
_PARTS = re.compile(r"\b([cg])=(\d+)")
STEP_NAMES = re.compile(
    r"^(?:execute_(?:\d+_)?context_\d|step\[[A-Z]|(?:prefill|decode)\[bs=|\[Executor\] _forward_step)"
)
"""Names that begin as those of engine steps do."""
_PREFILLS = frozenset({"EXTEND", "prefill"})
_DECODES = frozenset({"DECODE", "TARGET_VERIFY", "VERIFY", "decode"})


@dataclass(frozen=True, kw_only=True)
class StepName:
    """Requests that a step prefills and decodes, and tokens that it computes; `UNKNOWN` where the name does not say."""

    prefill: int = UNKNOWN
    decode: int = UNKNOWN
    tokens: int = UNKNOWN

    @property
    def phase(self) -> str:
        """``prefill``, ``decode`` or ``mixed``; "" if unknown."""
        if self.prefill > 0:
            return "mixed" if self.decode > 0 else "prefill"
        return "decode" if self.decode > 0 else ""


def parse_step_name(name: str) -> StepName:
    """What a name says; nothing is known of names of other things."""
    if (found := _VLLM.match(name)) is not None:
        prefill, decode = _count(found["prefill"]), _count(found["decode"])
        tokens = [_VLLM_TOKENS.match(found[part]) for part in ("context", "generated")]
        known = [_count(part[1]) for part in tokens if part is not None]
        return StepName(prefill=prefill, decode=decode, tokens=sum(known) if len(known) == 2 else UNKNOWN)
    if (found := _TENSORRT.match(name)) is not None:
        # A request in generation adds a token, or several where drafts are verified: the name does not tell.
        return StepName(prefill=_count(found["prefill"]), decode=_count(found["decode"]))
    if (found := _SGLANG.match(name) or _ATOM.match(name)) is not None:
        return _batch(found["mode"], _count(found["batch"]), found["rest"])
    return StepName()


def _batch(mode: str, batch: int, rest: str) -> StepName:
    stated = _TOKENS.search(rest)
    tokens = _count(stated[1]) if stated is not None else UNKNOWN
    if mode in _PREFILLS:
        return StepName(prefill=batch, decode=0, tokens=tokens)
    if mode in _DECODES:
        # Verifying drafts computes several tokens for each request.
        each = batch if tokens == UNKNOWN and mode in ("DECODE", "decode") else tokens
        return StepName(prefill=0, decode=batch, tokens=each)
    parts = {letter: _count(number) for letter, number in _PARTS.findall(rest)}
    return StepName(prefill=parts.get("c", UNKNOWN), decode=parts.get("g", UNKNOWN), tokens=tokens)


def _count(text: str) -> int:
    return int(text) if len(text) < 16 else UNKNOWN
