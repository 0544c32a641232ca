"""A project as `dougong new acme` writes it, made and built once."""

import importlib
import sys
import types
from pathlib import Path

import pytest
from commands import cmake, run

ROOT = Path(__file__).resolve().parents[2]


def load_new():
    """`dougong._new` from the source tree, without importing the compiled package round it."""
    package = types.ModuleType("_new_package")
    package.__path__ = [str(ROOT / "runtime" / "python" / "dougong")]
    sys.modules["_new_package"] = package
    return importlib.import_module("_new_package._new")


@pytest.fixture(scope="session")
def new():
    return load_new()


@pytest.fixture(scope="session")
def project(new, tmp_path_factory):
    return new.create("acme", tmp_path_factory.mktemp("with space") / "acme")


@pytest.fixture(scope="session")
def library(project):
    build = project / "build"
    prefix = f"-DCMAKE_PREFIX_PATH={ROOT / 'device_api' / 'cmake'}"
    run([*cmake(), "-S", project, "-B", build, prefix, "-DCMAKE_C_FLAGS=-Wpedantic -Werror"])
    run([*cmake(), "--build", build])
    return build / "libdg_acme.so"
