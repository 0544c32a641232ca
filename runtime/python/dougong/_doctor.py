"""`dougong doctor`: why each plugin was or was not loaded.

Every plugin is tried in a process of its own with a deadline, so that one that aborts, hangs or ends the process is one
row of the table.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from . import _errors, _plugins

DEADLINE = 20.0  # seconds for one plugin

WORKS, SAME_FILE, SHADOWED = "works", "same file", "shadowed"
UNAVAILABLE = "unavailable"  # the plugin is right, and this machine has nothing for it
REFUSED, CRASHED, HANGS = "refused", "crashed", "hangs"
BAD = (REFUSED, CRASHED, HANGS)


@dataclass
class Row:
    """One source of a plugin and what became of it."""

    name: str
    source: str  # "path variable", "built in", "entry point"
    where: str
    path: str | None = None
    status: str = ""
    version: str | None = None
    vendor: str | None = None
    abi: str | None = None
    devices: list[dict[str, Any]] = field(default_factory=list)
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine(deadline: float = DEADLINE) -> list[Row]:
    """A row for every source of every plugin, in the order of precedence."""
    found = _plugins.sources()
    first = {}
    for index, source in enumerate(found):
        first.setdefault(source.name, index)
    with ThreadPoolExecutor(max_workers=4) as pool:
        rows = list(pool.map(lambda i: _try(found[i], i == first[found[i].name], deadline), range(len(found))))
    for index, row in enumerate(rows):
        if index != first[row.name]:
            _judge_later_source(row, rows[first[row.name]])
    return rows


def _judge_later_source(row: Row, winner: Row) -> None:
    """A later source of a name is harmless where it is the same file, and never taken where it is another."""
    if row.status in BAD or not row.path:
        return
    if winner.path and os.path.exists(winner.path) and os.path.samefile(row.path, winner.path):
        row.status, row.reason = SAME_FILE, None
    else:
        row.status = SHADOWED
        row.reason = (
            f"the name {row.name} belongs to {winner.path or winner.where} ({winner.source}), which comes first"
        )


def _try(source: _plugins.Source, open_it: bool, deadline: float) -> Row:
    row = Row(source.name, source.kind, source.where)
    reader, writer = os.pipe()
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    command = [sys.executable, "-m", __name__, source.kind, source.where, source.name, str(int(open_it)), str(writer)]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=[writer],
        env=environment,
    ) as child:
        os.close(writer)
        try:
            _, errors = child.communicate(timeout=deadline)
            ending = _ending(child.returncode)
        except subprocess.TimeoutExpired:
            child.kill()
            _, errors = child.communicate()
            ending = f"did not answer within {deadline:g} s"
            row.status = HANGS
    with open(reader, encoding="utf-8") as pipe:
        _read_answer(row, pipe.read().splitlines(), ending, errors.decode(errors="backslashreplace"))
    return row


def _ending(code: int) -> str:
    if code < 0:
        try:
            return f"ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"ended by signal {-code}"
    return f"ended the process with exit code {code}"


def _read_answer(row: Row, lines: list[str], ending: str, errors: str) -> None:
    """The child writes one JSON object a step; the last one says how far it came."""
    step = "start"
    for line in lines:
        answer = json.loads(line)
        step = answer.pop("step")
        for key, value in answer.items():
            setattr(row, key, value)
    if step == "done" and row.status != HANGS:
        return
    row.status = row.status or CRASHED
    last = errors.strip().splitlines()[-1:]
    row.reason = " ".join([f"{ending}, in the step: {step}", *(f"({line})" for line in last)])


def _steps(kind: str, where: str, name: str, open_it: bool) -> Iterator[dict[str, Any]]:
    """What the child does: an answer before each step that may not come back."""
    from . import _core

    source = next(s for s in _plugins.sources() if (s.kind, s.where, s.name) == (kind, where, name))
    yield {"step": "asking for the path"}
    try:
        path = source.path()
        yield {"step": "opening the library", "path": path}
        if not open_it:
            yield {"step": "done", "status": SHADOWED}
            return
        info = _core._plugin_info(name)
        yield {"step": "opening the devices", **{key: info[key] for key in ("version", "vendor", "abi")}}
        devices = [_describe(_core.device(f"{name}:{index}")) for index in range(info["device_count"])]
        reason = None if devices else "the plugin found no device"
        yield {"step": "done", "status": WORKS, "devices": devices, "reason": reason}
    except _errors.UnsupportedError as error:
        yield {"step": "done", "status": UNAVAILABLE, "reason": str(error)}
    except Exception as error:
        yield {"step": "done", "status": REFUSED, "reason": str(error)}


def _describe(device: Any) -> dict[str, Any]:
    properties = device.properties
    chip = {key: properties[key] for key in ("name", "architecture", "compute_units", "memory_total")}
    return {"device": device.name, "chip": chip.pop("name"), **chip, "kernels": device.kernel_ops}


def _probe(arguments: list[str]) -> None:
    kind, where, name, open_it, pipe = arguments
    with open(int(pipe), "w", encoding="utf-8") as answers:
        for step in _steps(kind, where, name, bool(int(open_it))):
            print(json.dumps(step), file=answers, flush=True)


if __name__ == "__main__":
    _probe(sys.argv[1:])
