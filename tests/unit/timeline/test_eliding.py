"""Elided names under each other stay distinguishable."""

from __future__ import annotations

from PySide6.QtCore import Qt

from warpline_app.look.eliding import elide_apart, ends_apart

_ROOM = 12


def fit(_place: int, text: str, mode: Qt.TextElideMode) -> str:
    """Letters that are all as wide, of which some have room."""
    if len(text) <= _ROOM:
        return text
    if mode is Qt.TextElideMode.ElideRight:
        return text[: _ROOM - 1] + "…"
    return text[: _ROOM // 2] + "…" + text[-(_ROOM // 2 - 1) :]


def test_the_end_is_cut_if_names_stay_distinct() -> None:
    assert elide_apart(["aten::convolution", "ampere_sgemm_128", "short"], fit) == [
        "aten::convo…", "ampere_sgem…", "short"
    ]  # fmt: skip
    assert elide_apart(["aten::convolution", "aten::convolution"], fit) == ["aten::convo…"] * 2


def test_the_middle_is_cut_if_names_share_a_prefix() -> None:
    shown = elide_apart(["split_embedding_forward", "split_embedding_backward", "gemm"], fit)
    assert shown == ["split_…rward", "split_…kward", "gemm"]


def test_the_common_part_is_cut_if_names_share_prefix_and_suffix() -> None:
    shown = elide_apart(["Cijk_Alik_Bljk_MT64x64_common", "Cijk_Alik_Bljk_MT32x64_common"], fit)
    # From the word in which they differ, as on the timeline.
    assert shown == ["…_MT64x64_c…", "…_MT32x64_c…"]


def test_the_head_is_kept_where_there_is_room() -> None:
    def wide(place: int, text: str, mode: Qt.TextElideMode) -> str:
        if len(text) <= 3 * _ROOM:
            return text
        if mode is Qt.TextElideMode.ElideRight:
            return text[: 3 * _ROOM - 1] + "…"
        return fit(place, text, mode)

    kernels = [
        f"elementwise_kernel<128, 4, gpu_kernel_impl<{name}Functor<float>>>::lambda"
        for name in ("Add", "Mul")
    ]
    assert elide_apart(kernels, wide) == [
        "elementwise_kern…<AddFunctor<float>…", "elementwise_kern…<MulFunctor<float>…"
    ]  # fmt: skip


def test_modules_with_equal_names_show_enough_of_their_path() -> None:
    paths = [
        "model.layers.0.attn",
        "model.layers.1.attn",
        "model.head",
        "decoder.layers.1.attn",
        "model.head",
    ]
    names = [path.rpartition(".")[2] for path in paths]
    assert ends_apart(names, paths) == [
        "model.layers.0.attn",
        "model.layers.1.attn",
        "head",
        "decoder.layers.1.attn",
        "head",
    ]
    assert ends_apart(["attn", "attn"], paths[:2]) == ["0.attn", "1.attn"]
    assert ends_apart(["attn", "attn"], ["attn", "net.attn"]) == ["attn", "net.attn"]
    assert ends_apart([], []) == []
