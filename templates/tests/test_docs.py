"""The pages lead where they say, and the Python that they show runs on the device that the template makes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run

ROOT = Path(__file__).resolve().parents[2]
LISTED = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
PAGES = [ROOT / name for name in LISTED.split("\0") if name and not name.startswith("templates/plugin/")]
SHOWN = [ROOT / "README.md", ROOT / "docs" / "bring-up.md", ROOT / "docs" / "bring-up.zh.md"]


def prose(page):
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file(page):
    links = [link for link in re.findall(r"\]\(([^)#]+)", prose(page)) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_the_python_that_is_shown_runs(page, library, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    environment = os.environ | {"DOUGONG_PLUGIN_PATH": str(library.parent)}
    for block in blocks:
        run([sys.executable, "-c", block], cwd=tmp_path, env=environment)


def test_every_decision_is_under_a_page():
    for page in (ROOT / "docs" / "adr").glob("*.md"):
        lines = page.read_text(encoding="utf-8").splitlines()
        assert len(lines) < 60, page.name
        assert lines[0].startswith(f"# {int(page.name[:4])}. "), page.name
