"""Short names of kernels, with the distinguishing part first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from math import prod

_OPEN, _CLOSE = "<({[", ">)}]"
_HEAD_ARGUMENTS = 2
_SHORT_ARGUMENT = 16
_READ = 4096
"""Characters of a name that are parsed; there may be thousands of arguments."""
_PLAIN_SPACES = frozenset(("at", "native", "std", "internal", "detail", "engines_precompiled", "cuda"))
"""Namespaces that do not help to identify a kernel."""
_LAUNCHERS = frozenset(("Kernel", "Kernel2", "device_kernel"))
"""Kernels that only run the functor in their template arguments."""
_WRAPPERS = r"gpu_kernel_impl\w*|gpu_index_kernel|ReduceOp|func_wrapper_t"
_PAIRING = r"(AUnary|BUnary|Binary)Functor"
_FUNCTOR_STARTS = r"^CUDAFunctor(OnSelf|OnOther)?_?"
_FUNCTOR_ENDS = r"(_kernel_cuda|_kernel_impl|CUDAKernelImpl|KernelImpl|_cuda_out|_kernel|_functor|Functor)$"
_TYPE = r"\{lambda\((?!\))(?:\w+::)*(\w+)[^{}]*\)#\d+\}$"
_TILE = r"tuple<((?:(?:\w+::)*(?:C<\d+>|_\d+)\s*,?\s*){3})>"
"""Three consecutive constants: the shape of a tile or cluster in CUTLASS 3."""
_CUTLASS = r"(cutlass\w*?)_(?:(\d+)_)?((?:wmma_)?)tensorop_(?:[a-z]+\d+_)?(.+)"
_XMMA = r"(sm\d+)_xmma_([a-z_]+?)_((?:[a-z]+\d+)+(?:_(?:[a-z]+\d+)+)*)_([a-z_]+)_tilesize(\d+x\d+x\d+)_?(.*)"
_CONSTANT = r"-?\d+\w*|true|false|\(\w[\w ]*\)\d+"
_TYPES = r"(?:\w+::)*(BFloat16|Half|__half2?|__nv_bfloat16|Float8\w*|complex|\w+_t)"
_BUILT_IN = frozenset(
    ["bool", "char", "short", "int", "long", "float", "double", "unsigned", "signed", "half", "void"]
)


_BEFORE_FUNCTION = re.compile(
    r"^(?:<?[^<>()]*>?\(\d+\): |nn\.Module: |autograd::engine::evaluate_function: )"
)
"""Prefixes that profilers write before a function: file and line, or the caller."""
_OF_API = re.compile(r"^(?:cuda|cu|hip)(?=[A-Z])")


@lru_cache(maxsize=16_384)
def without_prefix(name: str) -> str:
    """The name without namespaces (``aten::``), source file and API prefix, for narrow boxes.

    Returns the name itself if nothing would remain.
    """
    rest = _OF_API.sub("", _BEFORE_FUNCTION.sub("", name))
    head = re.match(r"(?:\w+::)+(?=\w)", rest)
    rest = rest[head.end() :] if head is not None else rest
    return rest or name


@lru_cache(maxsize=16_384)
def short_kernel_name(name: str) -> str:
    """A kernel name without return type, parameters and most template arguments.

    Element-wise and reduction kernels show their operation, launchers the kernel they launch, matrix products their
    shape. Names that are neither C++ signatures nor those of a known library are unchanged.
    """
    if not re.search(r"::|<|\w\(", name):
        return _product(name.removeprefix("void "))
    path, arguments = _parsed(name)
    base = path[-1] if path else ""
    if not base:
        return name.removeprefix("void ")
    if base in _LAUNCHERS:
        launched = next((a for a in arguments if _is_class(a)), None)
        if launched is not None and _name_of(launched):
            return _product(_name_of(launched)) + _tile(launched)
    kind = re.sub(r"(?<=[a-z])_elementwise", "", re.sub(r"_kernel(?=$|_)", "", base))
    if "elementwise_kernel" in base or base == "reduce_kernel":
        operation = _operation(arguments)
        if operation:
            return f"{operation} · {kind}"
    spaces = [part for part in path[:-1] if part and part not in _PLAIN_SPACES]
    return "::".join([*spaces[-1:], base]) + _head(arguments)


def short_kernel_names(names: Iterable[str]) -> dict[str, str]:
    """The short form of each name; equal short forms are followed by the template arguments that differ."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(short_kernel_name(name), []).append(name)
    result = {}
    for short, group in groups.items():
        parsed = [_template_arguments(name) for name in group] if len(group) > 1 else []
        is_same_length = len({len(arguments) for arguments in parsed}) == 1
        columns = enumerate(zip(*parsed, strict=True)) if is_same_length else ()
        differing = [place for place, values in columns if len(set(values)) > 1]
        for name, arguments in zip(group, parsed or [[]], strict=True):
            suffix = ", ".join(_last_name(arguments[place])[:_SHORT_ARGUMENT] for place in differing)
            result[name] = f"{short} · {suffix}" if suffix else short
    return result


@lru_cache(maxsize=4096)
def _template_arguments(name: str) -> list[str]:
    return _parsed(name)[1]


def _parsed(name: str) -> tuple[list[str], list[str]]:
    return _parse(_without_return_type(_one_dialect(name[:_READ])))


def _one_dialect(name: str) -> str:
    """The signature as GNU's demangler writes it; NVIDIA's adds casts and return types."""
    text = name.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    text = text.replace("operator ()", "operator").replace("operator()", "operator")
    text = re.sub(r"\((?:unsigned )?(?:bool|char|short|int|long)\)(?=-?\d)|(?<=[<,( ])void (?=\w)", "", text)
    return re.sub(r"\[lambda\(([^()]*)\) \(instance (\d+)\)\]", r"{lambda(\1)#\2}", text)


def _product(name: str) -> str:
    """The name of a CUTLASS or cuBLAS product with the shape first, generation and element types last."""
    match = re.fullmatch(_CUTLASS, name)
    if match is not None:
        library, generation, wmma, shape = match.groups()
        return f"{shape} · {wmma}{library}" + (f"_{generation}" if generation else "")
    match = re.fullmatch(_XMMA, name)
    if match is not None:
        generation, operation, types, layout, tile, rest = match.groups()
        rest = re.sub(r"_?(warpgroupsize|warpsize|execute|kernel|_5x_cublas)", "_", f"_{rest or ''}")
        split = "_split_k" if "_split_k" in rest else ""
        rest = re.sub(r"_+", "_", rest.replace("_split_k", "")).strip("_")
        return (
            f"{operation}_{tile}{split}_{layout}" + (f"_{rest}" if rest else "") + f" · {generation}_{types}"
        )
    return name


def _tile(argument: str) -> str:
    """The largest tile shape of a CUTLASS 3 kernel, as `` 128x256x64``; empty if it names none."""
    shapes = [[int(number) for number in re.findall(r"\d+", tile)] for tile in re.findall(_TILE, argument)]
    if not shapes:
        return ""
    return " " + "x".join(map(str, max(shapes, key=prod)))


def _without_return_type(text: str) -> str:
    """The qualified name with template arguments, without return type and parameters."""
    depth = 0
    start = 0
    for index, letter in enumerate(text):
        if depth == 0 and letter == " ":
            start = index + 1
        elif depth == 0 and letter == "(" and index > start:
            return text[start:index]
        depth = _deeper(depth, text, index)
    return text[start:]


def _deeper(depth: int, text: str, index: int) -> int:
    letter = text[index]
    if letter in _OPEN:
        return depth + 1
    if letter in _CLOSE and not (letter == ">" and text[index - 1 : index] == "-"):
        return max(0, depth - 1)
    return depth


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators outside brackets."""
    parts, depth, begin = [], 0, 0
    for index in range(len(text)):
        if depth == 0 and text.startswith(separator, index) and index >= begin:
            parts.append(text[begin:index].strip())
            begin = index + len(separator)
        depth = _deeper(depth, text, index)
    parts.append(text[begin:].strip())
    return [part for part in parts if part]


def _parse(text: str) -> tuple[list[str], list[str]]:
    """The path of a qualified name and the template arguments of its last part."""
    parts = _split(text, "::")
    if not parts:
        return [], []
    names = [re.split(r"[<({]", part, maxsplit=1)[0].strip() for part in parts]
    last = parts[-1]
    opened = last.find("<")
    if opened < 0:
        return names, []
    end = last.rfind(">")
    return names, _split(last[opened + 1 : end if end > opened else len(last)], ",")


def _is_class(argument: str) -> bool:
    """Whether a template argument may be an operation, that is neither a constant nor an element type."""
    if re.fullmatch(_CONSTANT, argument) or re.fullmatch(_TYPES, argument):
        return False
    return argument.split(" ", maxsplit=1)[0].rstrip("*&") not in _BUILT_IN and not argument.startswith(
        "std::"
    )


def _until_call(argument: str) -> str:
    """A functor without the lambdas inside it: ``f(…)::{lambda…}`` becomes ``f``."""
    depth = 0
    for index, letter in enumerate(argument):
        if depth == 0 and letter in "({" and index:
            return argument[:index]
        depth = _deeper(depth, argument, index)
    return argument


def _name_of(argument: str) -> str:
    path, _arguments = _parse(_until_call(argument))
    return path[-1] if path else ""


def _operation_of(argument: str) -> tuple[str, list[str]]:
    """Name and template arguments of a functor, or of the class of a call operator."""
    parts = [part for part in _split(_until_call(argument), "::") if not re.match(r"operator(<|$)", part)]
    path, arguments = _parse("::".join(parts))
    return path[-1] if path else "", arguments


def _operation(arguments: list[str]) -> str:
    """The operation of an element-wise or reduction kernel, with its element type."""
    chosen = next((a for a in arguments if _is_class(a)), None)
    if chosen is None:
        return ""
    name, inner = _operation_of(chosen)
    pairing = re.fullmatch(_PAIRING, name)
    if pairing is not None or re.fullmatch(_WRAPPERS, name):
        within = _operation(inner)
        if within:
            return f"{pairing[1]} {within}" if pairing is not None else within
    short = re.sub(_FUNCTOR_STARTS, "", re.sub(_FUNCTOR_ENDS, "", name)) or name
    typed = re.search(_TYPE, chosen)
    is_plain = bool(inner) and not _is_class(inner[0])
    element = typed[1] if typed is not None else _last_name(inner[0]) if is_plain else ""
    return f"{short}<{element}>" if element else short


def _last_name(argument: str) -> str:
    return re.sub(r"(?:\w+::)+", "", argument)


def _head(arguments: list[str]) -> str:
    """The first template arguments that are short, without namespaces, in angle brackets."""
    shown = []
    for argument in arguments[:_HEAD_ARGUMENTS]:
        text = _last_name(_name_of(argument) if _is_class(argument) else argument)
        if not text or len(text) > _SHORT_ARGUMENT:
            break
        shown.append(text)
    if len(shown) < len(arguments):
        shown.append("…")
    return f"<{', '.join(shown)}>" if arguments else ""
