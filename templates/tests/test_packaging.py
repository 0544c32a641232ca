"""The wheel is whole: installed at a path with a space, with the source hidden, it builds and judges the template.

The wheel is built in build/, where `make build` has compiled everything, so that nothing is compiled twice.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from commands import cmake, environment, run

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.timeout(600)  # where nothing was compiled before, the wheel takes minutes
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
WANTED = """
dougong/__init__.py dougong/_new.py dougong/SPEC.md dougong/plugins/libdg_cpu.so
dougong/include/dougong/dg_device.h dougong/include/dougong/ext/draft/dg_collective.h
dougong/cmake/dougongConfig.cmake dougong/cmake/dougongConfigVersion.cmake dougong/cmake/DougongPlugin.cmake
dougong/template/copier.yml dougong/template/plugin.c dougong/template/src/dougong_[[name]]/__init__.py
dougong_kernels/definitions.py dougong_kernels/ops/add.yaml dougong_kernels/reference/__init__.py
dougong_conformance/cli.py dougong_conformance/suites/__init__.py
""".split()

# What a Python process of the new environment opens below the source tree ends it with a traceback.
HIDE = f"""
import sys

def _hide(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and arguments and isinstance(arguments[0], str):
        if arguments[0].startswith({str(ROOT)!r}) and not arguments[0].startswith({sys.prefix!r}):
            raise RuntimeError("the source is hidden: " + arguments[0])

sys.addaudithook(_hide)
"""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT])
    return next(folder.glob("dougong-*.whl"))


@pytest.fixture(scope="session")
def python(wheel, tmp_path_factory):
    """The interpreter of a fresh environment with the wheel, its dependencies, and no source."""
    python, site = environment(tmp_path_factory.mktemp("a b") / "environment")
    run([*PIP, "--python", python, "install", "--no-deps", "--no-index", wheel])
    (site / "sitecustomize.py").write_text(HIDE)
    return python


@pytest.fixture(scope="session")
def written(python, tmp_path_factory):
    """A project of the installed `dougong new`, built as its README says."""
    folder = tmp_path_factory.mktemp("out of tree")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "DOUGONG"))}
    run([python, "-m", "dougong", "new", "acme"], cwd=folder, env=clean)
    prefix = run([python, "-m", "dougong", "--cmake-dir"], cwd=folder, env=clean).strip()
    assert Path(prefix).is_relative_to(python.parents[1])
    run([*cmake(), "-S", "acme", "-B", "acme/build", f"-DCMAKE_PREFIX_PATH={prefix}"], cwd=folder)
    run([*cmake(), "--build", "acme/build"], cwd=folder)
    return folder / "acme"


def test_the_wheel_has_all_parts(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert [name for name in WANTED if name not in names] == []
    assert any(name.startswith("dougong/_core.") for name in names)
    assert not [name for name in names if "/tests/" in name and not name.startswith("dougong/template/")]


def test_no_path_of_the_build_is_left_in_the_installed_files(python):
    site = next(python.parents[1].glob("lib/python*/site-packages"))
    files = [path for path in site.glob("dougong*/**/*") if path.is_file() and path.suffix != ".pyc"]
    assert len(files) > 100
    assert [path.name for path in files if str(ROOT).encode() in path.read_bytes()] == []


def test_the_source_is_hidden(python):
    done = subprocess.run([python, "-c", f"open({str(ROOT / 'README.md')!r})"], capture_output=True, text=True)
    assert "the source is hidden" in done.stderr


def test_the_paths_are_those_of_the_installation(python, tmp_path):
    script = "import dougong; print(dougong.__file__); print(dougong.get_include())"
    module, include = map(Path, run([python, "-c", script], cwd=tmp_path).splitlines())
    assert module.is_relative_to(python.parents[1])
    assert (include / "dougong" / "dg_device.h").is_file()


def test_the_installed_judge_accuses_the_template_of_nothing(python, written, tmp_path):
    variables = os.environ | {"DOUGONG_PLUGIN_PATH": str(written / "build")}
    variables.pop("PYTHONPATH", None)
    levels = ["--level", "abi", "--level", "memory", "--level", "stream"]
    command = [python, "-m", "dougong", "conformance", "run", "acme:0", *levels, "--json", tmp_path / "report.json"]
    run(command, cwd=tmp_path, env=variables)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["plugin"]["name"] == "acme"
    assert report["counts"]["fail"] == 0 and report["counts"]["pass"] > 20


def test_the_project_makes_a_wheel_whose_device_is_a_string(python, written, tmp_path):
    project = shutil.copytree(written, tmp_path / "acme", ignore=shutil.ignore_patterns("build"))
    pip = [*PIP, "--python", python]
    run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, project])
    made = next(tmp_path.glob("dougong_acme-*.whl"))
    assert made.name.startswith("dougong_acme-0.1.0-py3-none-")
    run([*pip, "install", "--no-deps", "--no-index", made])
    script = "import dougong; print(dougong.tensor([-1.0, 2.0], device='acme:0').relu().numpy().tolist())"
    try:
        assert run([python, "-c", script], cwd=tmp_path).strip() == "[0.0, 2.0]"
    finally:
        run([*pip, "uninstall", "--yes", "dougong-acme"])
