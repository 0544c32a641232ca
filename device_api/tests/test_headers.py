"""The public headers compile everywhere that the specification promises, each on its own, without a warning."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[1] / "include" / "dougong"
HEADERS = sorted(INCLUDE.rglob("*.h"))
STANDARDS = ["c11", "c++11", "c++14", "c++17", "c++20"]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
DRAFTS = ["collective", "graph", "ipc", "peer", "profiler"]


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_header_compiles_alone_without_a_warning(compiler, standard, tmp_path):
    language = "c++" if "++" in standard else "c"
    for header in HEADERS:
        source = tmp_path / "source"
        source.write_text(f'#include "{header}"\n#include "{header}"\n')
        flags = [f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", language]
        compiled = subprocess.run([compiler, *flags, source], capture_output=True, text=True)
        assert compiled.returncode == 0, f"{header.name} as {standard}:\n{compiled.stderr}"


def test_there_is_a_compiler_to_try():
    assert COMPILERS


# dg_ops.h is a list, generated, and as long as there are ops.
WRITTEN = [header for header in HEADERS if header.name != "dg_ops.h"]


@pytest.mark.parametrize("header", WRITTEN, ids=lambda path: path.name)
def test_a_header_is_under_600_lines(header):
    assert len(header.read_text().splitlines()) < 600


@pytest.mark.parametrize("header", WRITTEN, ids=lambda path: path.name)
def test_over_half_of_a_header_is_prose(header):
    text = header.read_text()
    prose = sum(map(len, re.findall(r"/\*.*?\*/", text, re.DOTALL)))
    assert prose > len(text) / 2


@pytest.mark.parametrize("name", DRAFTS)
def test_each_draft_has_its_id_and_a_table_that_can_grow(name):
    text = (INCLUDE / "ext" / "draft" / f"dg_{name}.h").read_text()
    assert f'#define DG_EXTENSION_{name.upper()} "dg.{name}/0"' in text
    assert re.search(rf"typedef struct dg_{name}_api_t {{\s+size_t struct_size;", text)


@pytest.mark.parametrize("header", [h for h in HEADERS if h.name != "dg_types.h"], ids=lambda path: path.name)
def test_every_slot_states_its_thread_rule(header):
    tag = re.compile(r"\[(any thread|one thread|one thread per stream|one thread per object)\]")
    text = header.read_text()
    for body in re.findall(r"typedef struct \w+ \{(.*?)\} \w+;", text, re.DOTALL):
        comment = ""
        for piece in re.finditer(r"/\*(.*?)\*/|\(\*(\w+)\)\(|(\n\n)", body, re.DOTALL):
            if piece[2]:
                prose = " ".join(comment.replace("\n   * ", " ").split())
                assert tag.search(prose), f"{header.name}: {piece[2]} has no thread rule"
            else:
                comment = piece[1] or ""
