"""Unwinds call chains from registers and a copy of the stack, with the frame rules of each function."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from warpline.recording.symbols.frame_rules import FrameRule

_WORD = struct.Struct("<Q")
_MOST_FRAMES = 127

FindRule = Callable[[int], FrameRule | None]
"""Returns the rule at an address of a process."""


@dataclass(frozen=True)
class Chain:
    """Addresses, innermost first; ``is_whole`` if they reach the first function of the thread."""

    addresses: tuple[int, ...]
    is_whole: bool


def unwind(
    registers: tuple[int, int, int], memory: bytes, find_rule: FindRule, is_enough: Callable[[int], bool]
) -> Chain:
    """The call chain of an x86-64 thread: ``registers`` are frame pointer, stack pointer and instruction pointer.

    ``memory`` is a copy of the stack from the stack pointer on. The chain ends where it leaves the copy, where no rule
    is known, and at an address for which ``is_enough`` is true.
    """
    frame_pointer, stack_pointer, address = registers
    origin, size = stack_pointer, len(memory)
    chain = [address]
    while len(chain) < _MOST_FRAMES:
        # A return address may be behind the end of the calling function.
        own = address if len(chain) == 1 else address - 1
        if is_enough(own):
            break
        rule = find_rule(own)
        if rule is None:
            break
        if rule.is_outermost:
            return Chain(tuple(chain), True)
        if rule.is_by_stack_pointer:
            frame = stack_pointer + rule.offset
        elif rule.is_by_frame_pointer:
            frame = frame_pointer + rule.offset
        else:
            break
        at = frame - origin
        if not (8 <= at <= size and frame > stack_pointer):
            break
        if rule.saved is not None:
            kept = at + rule.saved
            if not 0 <= kept <= size - 8:
                break
            (frame_pointer,) = _WORD.unpack_from(memory, kept)
        (address,) = _WORD.unpack_from(memory, at - 8)
        stack_pointer = frame
        if not address:
            return Chain(tuple(chain), True)
        chain.append(address)
    return Chain(tuple(chain), False)


def trusted_part(addresses: tuple[int, ...], find_rule: FindRule) -> Chain:
    """The reliable part of a chain from frame pointers: up to the first function that does not keep one.

    Beyond it the frame pointer register may hold anything.
    """
    for number, address in enumerate(addresses):
        rule = find_rule(address if number == 0 else address - 1)
        if rule is None or not rule.keeps_frame_pointer:
            return Chain(addresses[: number + 1], rule is not None and rule.is_outermost)
    return Chain(addresses, True)
