"""`make conformance`: judges the CPU plugin, then a plugin that did not exist a minute ago, and prints one table."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).resolve().parents[1] / "build" / "conformance"
PROJECT = FOLDER / "acme"
LEVELS = ("abi", "memory", "stream", "kernel", "grad", "train")


def main() -> int:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    rows = [judge("cpu:0"), *make_plugin()]
    rows += [judge("acme:0")] if all(row["right"] for row in rows[1:]) else []
    print_table(rows)
    return 0 if rows[-1]["step"] == "judge acme:0" and all(row["right"] for row in rows) else 1


def dougong(*words: str) -> list[str]:
    return [sys.executable, "-m", "dougong", *words]


def run(step: str, command: list[str]) -> dict:
    """Runs a command where the user sees it. `right` is whether it ended with exit code 0."""
    print(f"\n--- {step}", flush=True)
    started = time.monotonic()
    environment = os.environ | {"DOUGONG_PLUGIN_PATH": str(PROJECT / "build")}
    code = subprocess.run(command, env=environment).returncode
    return {"step": step, "right": code == 0, "seconds": time.monotonic() - started}


def make_plugin() -> list[dict]:
    prefix = subprocess.run(dougong("--cmake-dir"), capture_output=True, text=True, check=True).stdout.strip()
    configure = ["cmake", "-S", str(PROJECT), "-B", str(PROJECT / "build"), f"-DCMAKE_PREFIX_PATH={prefix}"]
    written = run("dougong new acme", dougong("new", "acme", "--directory", str(PROJECT)))
    configured = run("cmake -S acme", configure)
    return [written, configured, run("cmake --build acme", ["cmake", "--build", str(PROJECT / "build")])]


def judge(device: str) -> dict:
    report = FOLDER / f"{device.partition(':')[0]}.json"
    row = run(f"judge {device}", dougong("conformance", "run", device, "--json", str(report)))
    if report.exists():
        row |= json.loads(report.read_text(encoding="utf-8"))
    return row | {"right": row["right"] and set(row.get("levels", ())) == set(LEVELS)}


def print_table(rows: list[dict]) -> None:
    table = Table(title="dougong: passed / judged, by level", title_justify="left")
    for heading in ("step", *LEVELS, "on the host", "seconds", ""):
        table.add_column(heading, justify="left" if heading in ("step", "") else "right")
    for row in rows:
        cells = [passed(row.get("levels", {}).get(level)) for level in LEVELS]
        host = str(len(row["fallbacks"])) + " ops" if "fallbacks" in row else ""
        verdict = "[green]right" if row["right"] else "[red]WRONG"
        table.add_row(row["step"], *cells, host, f"{row['seconds']:.0f}", verdict)
    print()
    Console(width=120).print(table)


def passed(counts: dict[str, int] | None) -> str:
    """What passed of what was asked; what a plugin says that it does not do is left out."""
    return f"{counts['pass']}/{sum(counts.values()) - counts['unsupported']}" if counts else ""


if __name__ == "__main__":
    sys.exit(main())
