"""What the tests of the judge share: test plugins, and the judge itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from judging import HERE, Judged, build, command


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A correct synchronous plugin."""
    return build(HERE / "plugins" / "host.c", tmp_path_factory.mktemp("host") / "libdg_host.so")


@pytest.fixture(scope="session")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A correct asynchronous plugin."""
    return build(HERE / "plugins" / "queue.c", tmp_path_factory.mktemp("queue") / "libdg_queue.so")


@pytest.fixture
def judge(tmp_path: Path):
    """``judge(library, *options)`` is ``dougong conformance run`` on it, in this process."""

    def run(library: Path, *options: str) -> Judged:
        path = tmp_path / "report.json"
        path.unlink(missing_ok=True)
        device = library.name.removeprefix("libdg_").removesuffix(".so") + ":0"
        result = command("run", device, "--plugin", str(library), "--json", str(path), *options)
        report = json.loads(path.read_text()) if path.exists() else {}
        return Judged(result.exit_code, result.output, report)

    return run
