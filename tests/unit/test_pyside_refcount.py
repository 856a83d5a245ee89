"""Guards the pin of PySide6: 6.12.0 loses references to None, and Python 3.11 dies of that after a while."""

import sys

import pytest

QtGui = pytest.importorskip("PySide6.QtGui", reason="the window's packages are not installed")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal from Python 3.12 on")
def test_void_methods_return_none_with_a_reference() -> None:
    color = QtGui.QColor()
    before = sys.getrefcount(None)
    for _ in range(100):
        color.setRgb(1, 2, 3)
    # Other code may keep or drop a few references meanwhile; the defect loses exactly one per call.
    assert abs(sys.getrefcount(None) - before) < 50
