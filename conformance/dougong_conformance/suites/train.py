"""Level train: networks that must learn through the runtime, follow a float64 run, be saved and be resumed."""

from __future__ import annotations

from collections.abc import Iterator

from ..case import Case, Context
from .training import by_hand, learned, precision, recompute, whole

LEVEL = "train"
MODULES = (by_hand, learned, precision, recompute, whole)


def cases(context: Context) -> Iterator[Case]:
    for module in MODULES:
        yield from module.cases(context)
