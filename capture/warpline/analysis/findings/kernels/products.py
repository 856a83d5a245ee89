"""Matrix products that could run faster: without tensor cores, of unfavourable sizes, or as parts of attention."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.kernels.target_work import TargetWork, operator_text, target_work
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.hardware.alignment import MULTIPLES, unaligned_sizes
from warpline.analysis.hardware.devices import DeviceModel
from warpline.analysis.hardware.kernel_work import OperatorGroup
from warpline.analysis.hardware.limits import REACHED, Limit
from warpline.i18n import english, joined

BoolArray = npt.NDArray[np.bool_]
_HALVES = ("bf16", "fp16")
_SOFTMAX = re.compile(r"_softmax$")
_AUTOTUNED = {"cudnn_convolution": 6, "miopen_convolution": 7}
"""Where the benchmark flag is among the arguments of a convolution."""
_VALUE = re.compile(r'"((?:[^"\\\\]|\\\\.)*)"')
_REPEATED = 3
_TF32 = english(
    'Allow TF32 (torch.set_float32_matmul_precision("high"), torch.backends.cudnn.allow_tf32), or compute in bfloat16 '
    "(autocast)."
)
_MIXED = english("Compute in half precision: automatic mixed precision (autocast with a GradScaler).")


class Advice(NamedTuple):
    """Kernels [n] with the same cure: which, a sentence with the cause, the remedy, and the least time of the cured
    ones in ns (None: unknown).
    """

    mask: BoolArray
    detail: str
    remedy: str
    needed_ns: int | None


def attention(case: Case, events: SelectedEvents, by_name: BoolArray) -> Advice:
    """Kernels of an attention that is computed piece by piece: softmax, and the products before and after it.

    ``by_name`` marks softmax kernels; products are found by their sizes where shapes were recorded.
    """
    target = case.once(target_work)
    remedy = english(
        "Use a fused kernel such as scaled_dot_product_attention or flash attention; it never stores the weights."
    )
    numbers = target.group_of_rows(events.row)
    groups = target.work.groups
    softmax = {
        _shape(case, group)[-2:]
        for number, group in enumerate(groups)
        if _SOFTMAX.search(case.view.capture.strings[group.name]) and (by_name & (numbers == number)).any()
    }
    products = [
        number
        for number, group in enumerate(groups)
        if (sizes := dict(group.work.sizes)).get("batch", 0) > 1
        and {(sizes["M"], sizes["N"]), (sizes["M"], sizes["K"])} & softmax
    ]
    if not products:
        return Advice(by_name, "", remedy, None)
    mask = by_name | np.isin(numbers, products)
    product = groups[products[0]]
    detail = english("It stores and reads the weights of {operator}.", operator=operator_text(case, product))
    return Advice(mask, detail, remedy, _at_peak(target, products))


def _shape(case: Case, group: OperatorGroup) -> tuple[int, ...]:
    """The sizes of the first argument of a group."""
    first = re.search(r"\[([\d,\s]+)\]", case.view.capture.strings[group.shapes])
    return tuple(int(size) for size in re.findall(r"\d+", first[1])) if first else ()


def _at_peak(target: TargetWork, numbers: list[int], scale: float = 1.0) -> int | None:
    """The time of some groups at the model's peak rate, ns."""
    if target.model is None:
        return None
    return round(sum(target.assessments[number].compute_ns for number in numbers) * scale)


def plain_cores(case: Case, events: SelectedEvents, by_name: BoolArray) -> Advice:
    """Products that do not use tensor cores, by the kernel's name, and why not, where shapes and model are known."""
    target = case.once(target_work)
    general = english(
        "Use TF32, bfloat16 or half precision, with sizes that are multiples of 8 (16 for int8)."
    )
    numbers = target.group_of_rows(events.row)
    model, groups = target.model, target.work.groups
    if model is None or not by_name.any():
        return Advice(by_name, "", general, None)
    useless = [number for number, group in enumerate(groups) if not _has_tensor_cores(model, group)]
    mask = by_name & ~np.isin(numbers, useless)
    time = np.bincount(numbers[mask & (numbers >= 0)], events.inside[mask & (numbers >= 0)], len(groups))
    if 2 * time.sum() < events.inside[mask].sum():
        # The work of most is unknown: their names may tell the precision.
        detail, remedy = _single(case, model, events.take(mask))
        return Advice(mask, detail, remedy or general, None)
    usual = groups[int(np.argmax(time))]
    detail, remedy = _why_plain(case, model, usual)
    own = np.flatnonzero(time).tolist()
    least_ns = sum(
        target.assessments[number].compute_ns * _speedup(model, groups[number])
        for number in own
        if groups[number].work.is_matrix
    )
    unknown = int(events.inside[mask & (numbers < 0)].sum())
    return Advice(mask, detail, remedy, round(least_ns) + unknown)


_SINGLE = re.compile(r"scudnn|sgemm|<float\b|f32f32_f32f32_f32", re.IGNORECASE)


def _single(case: Case, model: DeviceModel, events: SelectedEvents) -> tuple[str, str]:
    """A sentence and the remedy if the names of most kernels say that they compute in float32; else empty."""
    single = matching_names(case.view.capture, _SINGLE)[events.name]
    if 2 * events.inside[single].sum() < events.inside.sum():
        return "", ""
    if "tf32" in model.peaks:
        return english("They compute in float32, and TF32 is off."), _TF32
    return english(
        "They compute in float32, which the tensor cores of {model} do not support.", model=model.name
    ), _MIXED


def _has_tensor_cores(model: DeviceModel, group: OperatorGroup) -> bool:
    """Whether the model has tensor cores that could compute a group, in its precision or a lower one."""
    if not group.work.is_matrix:
        return False
    if group.work.precision == "fp64":
        return "fp64_matrix" in model.peaks
    return model.peaks.get("fp16", 0.0) > 2.5 * model.peaks.get("fp32", 0.0)


def _speedup(model: DeviceModel, group: OperatorGroup) -> float:
    """The time on tensor cores divided by that at the peak of the plain cores."""
    precision = group.work.precision
    plain = model.peaks.get(
        "fp64" if precision == "fp64" else precision if precision in _HALVES else "fp32", 0.0
    )
    wanted = {"fp64": "fp64_matrix", "fp32": "tf32" if "tf32" in model.peaks else "fp16"}.get(
        precision, precision
    )
    return plain / model.peaks[wanted] if plain and wanted in model.peaks else 1.0


def _why_plain(case: Case, model: DeviceModel, group: OperatorGroup) -> tuple[str, str]:
    """A sentence with the reason why a product runs without tensor cores, and the remedy."""
    operator, precision = operator_text(case, group), group.work.precision
    sizes = unaligned_sizes(group.work, precision)
    if precision == "fp32" and "tf32" in model.peaks:
        return english("{operator} computes in float32, and TF32 is off.", operator=operator), _TF32
    if precision == "fp32":
        return english(
            "{operator} computes in float32, which the tensor cores of {model} do not support.",
            operator=operator, model=model.name,
        ), _MIXED  # fmt: skip
    if sizes:
        return _sizes_sentence(operator, sizes, precision), _padding(sizes, precision)
    return english("{operator} computes in {precision}.", operator=operator, precision=precision), english(
        "Check which algorithm the library chooses for these sizes."
    )


def _sizes_sentence(operator: str, sizes: list[tuple[str, int]], precision: str) -> str:
    multiple = MULTIPLES[precision]
    named = ", ".join(f"{name} = {size:,}" for name, size in sizes)
    if len(sizes) == 1:
        return english(
            "In {operator}, {sizes} is not a multiple of {multiple}.",
            operator=operator,
            sizes=named,
            multiple=multiple,
        )
    return english(
        "In {operator}, {sizes} are not multiples of {multiple}.",
        operator=operator,
        sizes=named,
        multiple=multiple,
    )


def _padding(sizes: list[tuple[str, int]], precision: str) -> str:
    multiple = MULTIPLES[precision]
    padded = ", ".join(f"{name} = {-(-size // multiple) * multiple:,}" for name, size in sizes)
    return english("Pad to {sizes}.", sizes=padded)


def unaligned(case: Case, events: SelectedEvents) -> Advice:
    """Products on tensor cores that reach less than half of their limits and have sizes tensor cores dislike."""
    target = case.once(target_work)
    numbers = target.group_of_rows(events.row)
    slow = {}
    for number, (group, assessment) in enumerate(zip(target.work.groups, target.assessments, strict=False)):
        sizes = unaligned_sizes(group.work, group.precision) if group.work.is_matrix else []
        if sizes and group.uses_tensor_cores and assessment.limit == Limit.LATENCY:
            slow[number] = sizes
    mask = np.isin(numbers, list(slow))
    if not mask.any():
        return Advice(mask, "", "", None)
    worst = int(numbers[mask][np.argmax(events.inside[mask])])
    group, assessment = target.work.groups[worst], target.assessments[worst]
    detail = _sizes_sentence(operator_text(case, group), slow[worst], group.precision)
    rate = english(
        "It reaches {percent:.0f} % of the peak of {model}.",
        percent=100 * assessment.roof_ratio, model=target.model.name if target.model else "",
    )  # fmt: skip
    # Aligned products of this kind reach half of the peak, seldom all of it.
    needed = _at_peak(target, list(slow), 1 / REACHED)
    return Advice(mask, joined(" ", [detail, rate]), _padding(slow[worst], group.precision), needed)


def untuned(case: Case, events: SelectedEvents) -> Advice:
    """Convolutions of unchanging sizes below half of their limits that ran without a search for the fastest algorithm.

    The flag is among their recorded arguments (``torch.backends.cudnn.benchmark``).
    """
    target = case.once(target_work)
    strings = case.view.capture.strings
    slow = []
    for number, (group, assessment) in enumerate(zip(target.work.groups, target.assessments, strict=False)):
        place = _AUTOTUNED.get(strings[group.name].rpartition("::")[2])
        values = _VALUE.findall(strings[group.values]) if place is not None and group.values else []
        is_off = place is not None and len(values) > place and values[place] == "False"
        if is_off and assessment.limit == Limit.LATENCY and group.calls >= _REPEATED:
            slow.append(number)
    mask = np.isin(target.group_of_rows(events.row), slow)
    if not slow:
        return Advice(mask, "", "", None)
    group = target.work.groups[slow[0]]
    detail = english(
        "{operator} reaches {percent:.0f} % of the peak, and cuDNN does not search for the fastest algorithm.",
        operator=operator_text(case, group), percent=100 * target.assessments[slow[0]].roof_ratio,
    )  # fmt: skip
    return Advice(mask, detail, english("Set torch.backends.cudnn.benchmark = True; the sizes repeat."), None)
