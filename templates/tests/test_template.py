"""What `dougong new` writes is a project that builds, that the judge accuses of nothing, and that names nobody else."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    ".github/workflows/ci.yml",
    ".gitignore",
    "CMakeLists.txt",
    "README.md",
    "plugin.c",
    "pyproject.toml",
    "src/dougong_acme/__init__.py",
    "tests/test_conformance.py",
}


def files(project):
    paths = [path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()]
    return {path for path in paths if not path.startswith("build/")}


def test_all_files_are_written_and_nothing_is_left_to_fill_in(project):
    assert files(project) == FILES
    for name in FILES:
        assert not re.search(r"\[\[ ?name|\[\[ ?year|\[\[ ?version|\[%", (project / name).read_text()), name


def test_the_plugin_is_under_200_lines(project):
    assert len((project / "plugin.c").read_text().splitlines()) < 200


def test_the_library_exports_one_symbol(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in listed.stdout.splitlines()] == ["dg_plugin_entry_v1"]


def test_the_python_files_are_clean(project):
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E,F,W,I,B", "--line-length", "120"]
    done = subprocess.run([*command, project], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("level", ["abi", "memory", "stream", "kernel"])
def test_the_judge_accuses_an_unmodified_instance_of_nothing(library, level):
    path = os.pathsep.join([str(ROOT / "conformance"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "dougong_conformance", "run", "acme:0", "--plugin", library, "--level", level]
    judged = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert judged.returncode == 0, judged.stdout + judged.stderr


@pytest.mark.parametrize("name", ["a", "acme", "acme_2", "x" * 31])
def test_a_good_name_is_accepted(new, name):
    new.check_name(name)


BAD_NAMES = ["", "ACME", "acme:0", "1acme", "_acme", "acme-2", "ac me", "x" * 32, "../acme", "ä", "a\n"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_bad_name_is_refused_with_what_was_wanted(new, name, tmp_path):
    with pytest.raises(ValueError, match="wanted a lower-case letter"):
        new.create(name, tmp_path / "project")
    assert not (tmp_path / "project").exists()


def test_the_name_of_dougongs_own_plugin_is_taken(new):
    with pytest.raises(ValueError, match="'cpu' is taken"):
        new.check_name("cpu")


def test_a_folder_that_holds_something_is_left_alone(new, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="--directory"):
        new.create("acme", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_report_names_what_was_written_and_what_to_type(new, project):
    text = new.report("acme", project)
    assert all(name in text for name in FILES)
    assert "dougong conformance run acme:0" in text
