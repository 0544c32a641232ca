"""A project as `dougong new acme` writes it, made and built once."""

import importlib.util
import subprocess
import sys
import types
from pathlib import Path

import pytest

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
    cmake = [sys.executable, "-m", "cmake"] if importlib.util.find_spec("cmake") else ["cmake"]
    configure = [*cmake, "-S", project, "-B", build, prefix, "-DCMAKE_C_FLAGS=-Wpedantic -Werror"]
    for command in (configure, [*cmake, "--build", build]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build / "libdg_acme.so"
