"""Names that stand under each other look different where they are."""

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


def test_the_end_is_cut_where_that_tells_names_apart() -> None:
    assert elide_apart(["aten::convolution", "ampere_sgemm_128", "short"], fit) == [
        "aten::convo…", "ampere_sgem…", "short"
    ]  # fmt: skip
    assert elide_apart(["aten::convolution", "aten::convolution"], fit) == ["aten::convo…"] * 2


def test_the_middle_is_cut_of_names_that_begin_alike() -> None:
    shown = elide_apart(["split_embedding_forward", "split_embedding_backward", "gemm"], fit)
    assert shown == ["split_…rward", "split_…kward", "gemm"]


def test_what_they_share_is_cut_of_names_that_begin_and_end_alike() -> None:
    shown = elide_apart(["Cijk_Alik_Bljk_MT64x64_common", "Cijk_Alik_Bljk_MT32x64_common"], fit)
    assert shown == ["…64x64_comm…", "…32x64_comm…"]


def test_modules_of_one_name_say_as_much_of_their_path_as_tells_them_apart() -> None:
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
