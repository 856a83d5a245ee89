"""Names in a table's column: what tells kernels apart is what stays of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from warpline.analysis.framework.fitting import fit_names
from warpline.i18n.width import text_width

SOFTMAX = (
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16, "
    "at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(c10::BFloat16*, c10::BFloat16 const*, int)"
)


def test_a_shortened_kernel_keeps_its_operation() -> None:
    assert fit_names([SOFTMAX], 40) == ["cunn_SoftMaxForward<8, BFloat16, …>"]
    assert fit_names(["    " + SOFTMAX], 44) == ["    cunn_SoftMaxForward<8, BFloat16, …>"], "in a tree"
    assert fit_names([SOFTMAX], 400) == [SOFTMAX], "where there is room for all of it"


@given(
    st.lists(st.text("ab<>:(), {}lambda·§中", min_size=0, max_size=60), max_size=8, unique=True),
    st.integers(24, 40),
)
def test_names_fit_and_short_names_are_unchanged(names: list[str], width: int) -> None:
    found = fit_names(names, width)
    assert len(found) == len(names)
    for name, shown in zip(names, found, strict=True):
        assert text_width(shown) <= width
        assert text_width(name) > width or shown == name
