"""The judge on the simulated accelerator, as it is and with its quirks: the core, and some cases of the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sim_driver import library_path

CASES = (
    "abi/*",
    "memory/*",
    "stream/*",
    "kernel/scatter/*",
    "grad/conv2d/*",
    "train/*/one-step",
    "train/memory-exhausted",
)
QUIRKS = (
    "",
    "handles,dense_only,single_queue,small_memory=64M",
    "no_events,alignment=512,slow_copies",
    "no_streams,no_fp64",
)


@pytest.mark.parametrize("quirks", QUIRKS)
def test_the_judge_finds_nothing(tmp_path: Path, quirks: str):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DOUGONG_SIM_")}
    environment["DOUGONG_SIM_QUIRKS"] = quirks
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "dougong", "conformance", "run", "sim:0", "--plugin", str(library_path())]
    command += ["--json", str(report), *(f"--case={case}" for case in CASES)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stdout
    found = json.loads(report.read_text())
    assert found["counts"]["fail"] == 0
    assert all(found["levels"][level]["pass"] for level in ("abi", "memory", "stream", "kernel", "grad", "train"))
