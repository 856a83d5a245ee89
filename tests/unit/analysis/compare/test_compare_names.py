"""Names that are one name in two builds, and those that are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.analysis.compare.names import lines_of, match_names, rules_between, stable_name


@pytest.mark.parametrize(
    ("before", "after", "rules"),
    [
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int, float)",
            "void at::native::vectorized_elementwise_kernel<8, at::native::AddFunctor<c10::Half> >(int, float)",
            ("template",),
        ),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn",
         "ampere_fp16_s16816gemm_fp16_256x64_ldg8_f2f_stages_32x6_nn", ("tile",)),
        ("cutlass_tensorop_gemm_64x64_16x6_nn_align4", "cutlass_tensorop_gemm_64x64_16x6_nn_align8", ("stages",)),
        ("triton_poi_fused_add_relu_12", "triton_poi_fused_add_relu_3", ("autotuned",)),
        ("triton_red_fused_sum_0d1d2d3de4", "triton_red_fused_sum_0d1d2de3", ("autotuned",)),
        ("lambda at 0x7f3a11c0d2e0", "lambda at 0x55d0aa12", ("address",)),
        ("main (485)", "main (12)", ("number",)),
        ("sum_all.constprop.0", "sum_all.isra.1", ("compiler",)),
        ("ProfilerStep#5", "ProfilerStep#17", ("step",)),
        ("load (data.py:41)", "load (data.py:43)", ("line",)),
        ("load (/base/data.py:41)", "load (/head/data.py:41)", ("folder",)),
    ],
)  # fmt: skip
def test_what_another_build_calls_otherwise(before: str, after: str, rules: tuple[str, ...]) -> None:
    assert stable_name(before) == stable_name(after)
    assert set(rules) <= set(rules_between(before, after))
    (match,) = match_names([(before,)], [(after,)])
    assert (match.a, match.b) == (((before,),), ((after,),))
    assert len(match_names([(before,)], [(after,)], is_exact=True)) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("aten::conv2d", "aten::conv1d"),
        ("layer1", "layer2"),
        ("gemm_nn", "gemm_nt"),
        ("operator<", "operator>"),
        ("a < b", "a < c"),
        ("sgemm_fp32", "sgemm_fp16"),
        ("load (data.py:41)", "save (data.py:41)"),
        ("load (data.py:41)", "load (other.py:41)"),
    ],
)
def test_what_stays_another_name(one: str, other: str) -> None:
    assert stable_name(one) != stable_name(other)
    assert len(match_names([(one,)], [(other,)])) == 2


def test_what_is_there_on_both_sides_is_never_taken_for_another() -> None:
    matches = match_names([("f<1>",), ("f<2>",)], [("f<2>",), ("f<3>",), ("f<4>",)])
    assert [(match.a, match.b, match.rules) for match in matches] == [
        ((("f<2>",),), (("f<2>",),), ()),
        ((("f<1>",),), (("f<3>",), ("f<4>",)), ("template",)),
    ]


NAMES = st.lists(
    st.sampled_from(
        ["f<1>", "f<2>", "g_1", "h", "t 0x12345", "t 0x54321", "k_1x2", *(f"m (x.py:{n})" for n in range(4))]
    ).map(lambda n: (n,))
)


@given(NAMES, NAMES, st.booleans())
def test_every_name_has_one_line_and_swapped_sides_swap(
    a: list[tuple[str]], b: list[tuple[str]], is_exact: bool
) -> None:
    there = match_names(a, b, is_exact=is_exact)
    assert sorted(key for match in there for key in match.a) == sorted(set(a))
    assert sorted(key for match in there for key in match.b) == sorted(set(b))
    back = {match.key: (match.b, match.a) for match in match_names(b, a, is_exact=is_exact)}
    assert back == {match.key: (match.a, match.b) for match in there}


def test_a_function_with_lines_of_its_own_on_each_side_has_moved_with_all_its_lines() -> None:
    before = ["write (orders.py:10)", "write (orders.py:12)", "read (orders.py:20)", "read (orders.py:21)"]
    after = ["write (orders.py:12)", "write (orders.py:14)", "read (orders.py:20)"]
    matches = match_names([(name,) for name in before], [(name,) for name in after])
    assert [(match.key, lines_of(match.a), lines_of(match.b), match.rules) for match in matches] == [
        (("write (orders.py)",), [10, 12], [12, 14], ("line",)),
        # A line less is a line that is gone; what the others do is known.
        (("read (orders.py:20)",), [20], [20], ()),
        (("read (orders.py:21)",), [21], [], ()),
    ]
