"""Names shortened to fit their room."""

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
def test_a_shared_prefix_is_omitted(name: str, rest: str) -> None:
    assert without_prefix(name) == rest
