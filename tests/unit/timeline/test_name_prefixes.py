"""What is left of a name where there is no room for all of it."""

from __future__ import annotations

import pytest

from warpline.analysis.framework.kernel_names import without_prefix


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("aten::linear", "linear"),
        ("torch/nn/modules/module.py(1743): _call_impl", "_call_impl"),
        ("<string>(1): <module>", "<module>"),
        ("nn.Module: BertLayer_1", "BertLayer_1"),
        ("autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0"),
        ("cudaLaunchKernel", "LaunchKernel"),
        ("cuMemcpyAsync", "MemcpyAsync"),
        ("custom", "custom"),
        ("Memcpy HtoD", "Memcpy HtoD"),
        ("aten::", "aten::"),
        ("", ""),
    ],
)
def test_what_neighbours_share_is_left_out(name: str, rest: str) -> None:
    assert without_prefix(name) == rest
