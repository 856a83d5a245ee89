"""Build hook: compiles the recording agent when it can, and puts ``resources/`` into the wheel.

Without a compiler the wheel is pure Python and everything but the agent works; ``warpline doctor`` says so.
"""

from __future__ import annotations

import importlib.util
import os
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def _build_native(root: Path) -> ModuleType:
    # The build backend does not put the project's folder on sys.path.
    spec = importlib.util.spec_from_file_location("build_native", root / "scripts" / "build_native.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class WarplineBuildHook(BuildHookInterface[Any]):
    """Runs for wheels, both standard and editable."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        native = _build_native(root)
        if version == "editable":
            # The checkout is what gets imported, so the library must lie in it; resources are found there too.
            native.build(root, root / native.PACKAGE_FOLDER)
            for helper in native.HELPERS:
                native.build_helper(helper, root, root / helper.folder)
            return
        resources = root / "resources"
        if resources.is_dir():
            build_data["force_include"][str(resources)] = "warpline/_resources"
        # A new folder each time, since the compiler and its flags may have changed.
        self._scratch = tempfile.TemporaryDirectory(prefix="warpline-build-")
        library = native.build(root, Path(self._scratch.name))
        if library is None:
            # The sources instead: the machine it is installed on may have a compiler.
            for folder in native.agent_folders(root):
                for source in sorted(folder.glob("*.[ch]")):
                    place = source.relative_to(root / "capture")
                    build_data["force_include"][str(source)] = place.as_posix()
        else:
            build_data["force_include"][str(library)] = f"{native.PACKAGE_NAME}/{library.name}"
            build_data["pure_python"] = False
            # No symbol of Python's is used: one library serves every Python of this platform.
            # packaging/build_wheels.py compiles for other machines and for an old glibc, and says so.
            platform = os.environ.get("WARPLINE_WHEEL_PLATFORM") or sysconfig.get_platform().replace(
                "-", "_"
            ).replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"
            for helper in native.HELPERS:
                built = native.build_helper(helper, root, Path(self._scratch.name))
                if built is not None:
                    build_data["force_include"][str(built)] = f"{helper.package}/{built.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._scratch.cleanup()
