"""Names of programs in Markdown."""

from __future__ import annotations

import pytest

from warpline.model.markdown import markdown_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at <module> (a_b.py:9)", "at &lt;module> (a_b.py:9)"),
        ("__getitem__ (tt.py:6)", r"\_\_getitem\_\_ (tt.py:6)"),
        ("gemm<float*>(a|b)", r"gemm&lt;float\*>(a\|b)"),
        ("- 57 %  data loading", "- 57 %  data loading"),
    ],
)
def test_what_is_shown_is_the_text(text: str, shown: str) -> None:
    assert markdown_text(text) == shown
