"""What the tests of the judge share besides fixtures: a compiler, and the command line in this process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from click.testing import CliRunner  # noqa: E402 - after the path to the package
from dougong_conformance import header  # noqa: E402
from dougong_conformance.cli import conformance  # noqa: E402


def build(source: Path, library: Path, *flags: str) -> Path:
    """Compiles a C plugin."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed"
    options = ["-std=gnu11", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall", "-Werror"]
    include = f"-I{header.include_folder()}"
    subprocess.run([compiler, *options, *flags, include, str(source), "-o", str(library)], check=True)
    return library


@dataclass
class Judged:
    """What a command gave."""

    code: int
    output: str
    report: dict[str, Any]

    def verdicts(self) -> dict[str, str]:
        return {case["id"]: case["verdict"] for case in self.report["cases"]}

    def failed(self) -> set[str]:
        return {case for case, verdict in self.verdicts().items() if verdict == "fail"}

    def error(self, case_id: str) -> str:
        return next(case["error"] for case in self.report["cases"] if case["id"] == case_id)


def command(*words: str):
    """Runs ``dougong conformance WORDS``; an exception that is not its way to end is the test's."""
    result = CliRunner().invoke(conformance, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result
