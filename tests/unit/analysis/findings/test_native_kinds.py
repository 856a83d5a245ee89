"""Kinds of work of native code: by the function it calls, and by how its loops go through memory."""

from __future__ import annotations

import textwrap

import pytest

from warpline.analysis.findings.work.hot_lines import hot_line
from warpline.analysis.findings.work.native_kinds import native_kind, strides
from warpline.analysis.findings.work.source_lines import SourceFiles


@pytest.mark.parametrize(
    ("callee", "expected"),
    [
        ("libc.so.6:__libc_calloc", "allocated"), ("libc.so.6:_int_free", "allocated"),
        ("libc.so.6:__strlen_avx2", "text_scanned"), ("libc.so.6:__strcmp_sse42", "text_scanned"),
        ("libc.so.6:__memmove_avx_unaligned_erms", "memory_copied"), ("libc.so.6:__vfprintf_internal", "formatted"),
        ("libm.so.6:__ieee754_pow_fma", "mathematical"), ("libc.so.6:pthread_mutex_lock", "locked"),
        ("prog:std::_Rb_tree<int>::find", "trees_searched"), ("prog:blur", ""),
    ],
)  # fmt: skip
def test_a_called_function_shows_the_kind_of_work(callee: str, expected: str) -> None:
    kind = native_kind([callee], [], 0)
    assert (kind.key if kind is not None else "") == expected


@pytest.mark.parametrize(
    ("subscript", "order", "expected"),
    [
        ("image[(size_t)y * WIDTH + x]", "xy", True),
        ("image[y * WIDTH + x]", "yx", False),
        ("image[x + y * WIDTH]", "xy", True),
        ("image[y][x]", "xy", True),
        ("image[y][x]", "yx", False),
        ("image[y]", "xy", False),
    ],
)
def test_an_inner_loop_over_rows_reads_memory_in_strides(subscript: str, order: str, expected: bool) -> None:
    outer, inner = order[0], order[1]
    source = textwrap.dedent(f"""\
        static void sum(const float *image, double *sums)
        {{
            for (int {outer} = 0; {outer} < COUNT; {outer}++) {{
                for (int {inner} = 0; {inner} < COUNT; {inner}++)
                    total += {subscript};
            }}
        }}
        """)
    assert strides(source.splitlines(), 5) == expected


def test_the_own_line_of_a_native_stack_names_the_function_it_calls() -> None:
    frames = [
        "asm_exc_page_fault [kernel]",
        "write [libc.so.6]",
        "put (/src/dump.c:12)",
        "main (/src/dump.c:30)",
    ]
    hot = hot_line(frames, SourceFiles(None))
    assert hot is not None
    assert (hot.file, hot.number, hot.function, hot.callee) == ("/src/dump.c", 12, "put", "write")
