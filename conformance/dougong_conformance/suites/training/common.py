"""What the cases of this level share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...case import Case, Unsupported
from ...session import Session

DEADLINE = 180.0


def case(name: str, rules: tuple[str, ...], run: Callable[[Session], None], described: Any = None) -> Case:
    """``described``: whose docstring is the summary; by default that of ``run``."""
    summary = " ".join((described or run).__doc__.split())
    return Case(f"train/{name}", "train", rules, run, DEADLINE, summary)


def require_determinism(session: Session) -> None:
    device = session.load_runtime().device(session.device_string)
    if "deterministic" not in device.properties["capabilities"]:
        raise Unsupported("the device does not declare DG_DEVICE_DETERMINISTIC", wants="DG_DEVICE_DETERMINISTIC")
