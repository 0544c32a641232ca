"""Where the parts of the package lie that builds and tools ask for."""

from __future__ import annotations

from pathlib import Path


def _folder(name: str, source: str) -> str:
    """Beside this file where dougong is installed; of the source tree where the package is used in place."""
    package = Path(__file__).resolve().parent
    candidates = [Path(entry) / name for entry in _package_folders()] + [package / name, package.parents[2] / source]
    for folder in candidates:
        if folder.is_dir():
            return str(folder)
    raise FileNotFoundError(
        f"dougong is not installed completely: no folder {name!r} in {candidates[0].parent}; install it again"
    )


def _package_folders() -> list[str]:
    import dougong

    return list(dougong.__path__)


def get_include() -> str:
    """The folder of the C headers: ``-I$(python -m dougong --include-dir)``."""
    return _folder("include", "device_api/include")


def get_cmake_dir() -> str:
    """The folder for ``find_package(dougong)``: ``-DCMAKE_PREFIX_PATH="$(python -m dougong --cmake-dir)"``."""
    return _folder("cmake", "device_api/cmake")


def plugin_folders() -> list[str]:
    """Where dougong's own plugins lie."""
    return [str(Path(entry) / "plugins") for entry in _package_folders()]
