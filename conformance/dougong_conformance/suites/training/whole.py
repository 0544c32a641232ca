"""What is asked of the device as a whole: that training can be interrupted, and that exhausted memory is an error."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...case import Case, Context, Fail
from ...session import Session
from ...train import resume
from .common import DEADLINE, case, require_determinism

SEED = 0


def cases(context: Context) -> Iterator[Case]:
    yield case("resume", ("RUN-004",), functools.partial(resumed, "digits"), resumed)
    yield case("gpt/resume", ("RUN-004",), functools.partial(resumed, "gpt"), resumed)
    yield case("memory-exhausted", ("RUN-007",), exhausted)


def resumed(kind: str, session: Session) -> None:
    """Ten steps, saved, loaded in a new process, ten more: the same bits as twenty steps, with dropout and Adam."""
    require_determinism(session)
    dougong = session.load_runtime()
    with tempfile.TemporaryDirectory(prefix="dougong-resume-") as folder:
        checkpoint, result, straight = (str(Path(folder) / name) for name in ("checkpoint", "result", "straight"))
        training = resume.KINDS[kind](dougong, session.device_string, seed=SEED)
        training.run(resume.HALF)
        training.save(checkpoint)
        training.run(resume.HALF)
        training.save(straight)
        _resume_elsewhere(kind, session, checkpoint, result)
        states = [dougong.load(path, device="cpu") for path in (checkpoint, straight, result)]
    losses = [float(state["losses"][-1]) for state in states]
    session.note(f"loss {losses[0]:.4f} when saved, {losses[1]:.4f} at the end, {losses[2]:.4f} when resumed")
    _require_progress(*states[:2])
    _require_equal(*states[1:])


def _resume_elsewhere(kind: str, session: Session, checkpoint: str, result: str) -> None:
    where = (str(session.library), session.device_string)
    program = [sys.executable, "-m", resume.__name__, kind, *where, checkpoint, result]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=DEADLINE - 10)
    if done.returncode:
        raise Fail(f"the process that resumes ended with code {done.returncode}", done.stderr[-2000:])


def _require_progress(early: Any, late: Any) -> None:
    """Training did change something between the checkpoint and the end; the frozen layer stayed."""
    for name, tensor in late["model"].items():
        fixed = name.startswith("frozen") or name.endswith("unused")
        if fixed != bool((tensor.numpy() == early["model"][name].numpy()).all()):
            raise Fail(f"{name} {'changed, and is frozen or gets no gradient' if fixed else 'did not change'}")


def _require_equal(straight: Any, other: Any) -> None:
    for key, a in _leaves(straight).items():
        b = _leaves(other).get(key)
        if a != b:
            raise Fail(f"{key} is not bit-equal after resuming", f"straight: {a!r:.200}\nresumed: {b!r:.200}")


def _leaves(state: Any, path: str = "") -> dict[str, Any]:
    """Every number, and every tensor as its bytes, by its path."""
    if isinstance(state, dict | list | tuple):
        items = state.items() if isinstance(state, dict) else enumerate(state)
        return {k: v for key, part in items for k, v in _leaves(part, f"{path}/{key}").items()}
    return {path: state.numpy().tobytes() if hasattr(state, "numpy") else state}


def exhausted(session: Session) -> None:
    """Asking for far more memory than there is: an error that names requested, reserved and free; then work goes on."""
    dougong, device = session.load_runtime(), session.device_string
    requested = 2**60
    try:
        dougong.empty(requested, dtype=dougong.uint8, device=device)
    except dougong.OutOfMemoryError as error:
        text = str(error)
    else:
        raise Fail(f"a tensor of {requested} bytes was made")
    missing = [word for word in ("reserved", "free") if word not in text]
    if missing or not any(form in text for form in (str(requested), "1 EiB", "1.0 EiB", "1024")):
        raise Fail(f"the error for {requested} bytes must name the bytes requested, reserved and free; found: {text}")
    if (dougong.ones(3, device=device) + 1).tolist() != [2.0, 2.0, 2.0]:
        raise Fail("after an error for exhausted memory, 1 + 1 is not 2")
