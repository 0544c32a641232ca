"""Makes the op files importable as ``dougong_kernels`` where the package is not installed yet."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

NAME = "dougong_kernels"
FOLDER = Path(__file__).resolve().parents[1]


def _import_from_source() -> None:
    spec = importlib.util.spec_from_file_location(
        NAME, FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    assert spec and spec.loader
    sys.modules[NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[NAME])


if importlib.util.find_spec(NAME) is None:
    _import_from_source()
