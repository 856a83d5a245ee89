"""Room in memory is asked for before threads begin: one that begins without it is waited for for good."""

from __future__ import annotations

import ast
import mmap
from pathlib import Path

import pytest
from tests.unit.analysis.framework.host_work import write_launches

from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.nested.nested_sums import path_trees, typed_sums
from warpline.memory_room import require_memory


def test_room_for_so_many_is_given_or_refused() -> None:
    require_memory(2)
    with pytest.raises(MemoryError):
        require_memory(1 << 38)


@pytest.mark.skipif(library() is None, reason="the pass is not compiled here")
def test_threads_that_add_up_what_nests_do_not_begin_without_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_wanted: object) -> mmap.mmap:
        raise OSError(12, "Cannot allocate memory")

    with write_launches(tmp_path / "x.h5", 0) as capture:
        monkeypatch.setattr(mmap, "mmap", none)
        with pytest.raises(MemoryError):
            list(typed_sums(View(capture), "Operator"))
        with pytest.raises(MemoryError):
            path_trees(View(capture), ("operator",), 10, False, lambda _entries: ())


def test_no_thread_begins_without_asking(repository: Path) -> None:
    found, forgotten = 0, []
    for path in (repository / "capture").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "Thread" not in text:
            continue  # parsing every module takes seconds
        called = {ast.unparse(node.func) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)}
        if called & {"ThreadPoolExecutor", "threading.Thread"}:
            found += 1
            if "require_memory" not in called:
                forgotten.append(str(path.relative_to(repository)))
    assert found >= 10
    assert forgotten == []
