"""The judge accuses the plugin of nothing. Runs on the installed plugin, or on build/ where there is one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[1] / "build"


@pytest.mark.parametrize("level", ["abi", "memory", "stream", "kernel", "grad", "train"])
def test_level(level: str) -> None:
    environment = dict(os.environ)
    if (BUILD / "libdg_[[name]].so").exists():
        environment["DOUGONG_PLUGIN_PATH"] = str(BUILD)
    command = [sys.executable, "-m", "dougong", "conformance", "run", "[[name]]:0", "--level", level]
    judged = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert judged.returncode == 0, judged.stdout + judged.stderr
