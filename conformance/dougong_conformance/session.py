"""What a case gets: the plugin under judgement, opened when first asked for, and things that are given back for it."""

from __future__ import annotations

import zlib
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .case import Case, Unsupported

if TYPE_CHECKING:
    import numpy

    from .buffer import Buffer
    from .native import Device, Event, Plugin, Stream


class Session:
    """One worker process's view of the device; ``begin`` and ``end`` bracket each case.

    ``plugin`` and ``device`` are opened at their first use and shared by the cases of this process. What ``buffer``,
    ``stream`` and ``event`` make is checked and given back at the end of the case. Cases of the runtime's levels
    use ``device_string`` and ``load_runtime`` instead.
    """

    def __init__(self, library: str, name: str, index: int = 0, seed: int = 0, strict: bool = False) -> None:
        self.library = Path(library)
        self.name = name
        self.index = index
        self.seed = seed
        self.strict = strict
        self.case: Case | None = None
        self.notes: list[str] = []
        self._owned: list[Any] = []
        self._runtime: Any = None

    @property
    def device_string(self) -> str:
        return f"{self.name}:{self.index}"

    @cached_property
    def plugin(self) -> Plugin:
        from .native import Plugin

        return Plugin.open(self.library)

    @cached_property
    def device(self) -> Device:
        return self.plugin.open_device(self.index)

    def load_runtime(self) -> Any:
        """The package dougong, with the plugin under judgement loaded into it, for the levels grad and train."""
        import dougong

        if self._runtime is None:
            dougong.load_plugin(str(self.library))
            self._runtime = dougong
        return dougong

    def fallbacks(self) -> Counter[str]:
        """What the runtime has computed on the host instead of the device so far, in this process."""
        return Counter(self._runtime.fallbacks(self.device_string) if self._runtime else {})

    def rng(self) -> numpy.random.Generator:
        """Random numbers that depend on the run's seed and the case's id alone."""
        import numpy

        return numpy.random.default_rng([self.seed, zlib.crc32(self.case.id.encode()) if self.case else 0])

    def note(self, line: str) -> None:
        """A line for the report of this case: a number measured, a size left out."""
        self.notes.append(line)

    def require(self, *slots: str) -> None:
        """Raises Unsupported unless the device table has these slots."""
        for slot in slots:
            if not self.plugin.has(slot):
                raise Unsupported(f"dg_device_api_t.{slot} is null", wants=f"dg_device_api_t.{slot}")

    def buffer(self, size: int, poison: int = 0xFF, shift: int = 0, device: Device | None = None) -> Buffer:
        from .buffer import Buffer

        return self.own(Buffer(device or self.device, size, poison, shift))

    def stream(self, priority: int = 0, device: Device | None = None) -> Stream:
        from .native import Stream

        return self.own(Stream(device or self.device, priority))

    def event(self, timing: bool = False, device: Device | None = None) -> Event:
        from .native import Event

        return self.own(Event(device or self.device, timing))

    def own(self, thing: Any) -> Any:
        """Has ``thing`` closed at the end of the case."""
        self._owned.append(thing)
        return thing

    def begin(self, case: Case) -> None:
        self.case = case
        self.notes = []

    def end(self, failed: bool) -> None:
        """Waits, checks the canaries and gives back. After a failure nothing more is asked of the plugin than that."""
        owned, self._owned = self._owned, []
        try:
            self._settle(owned)
            if not failed:
                for thing in owned:
                    if hasattr(thing, "check"):
                        thing.check()
        finally:
            for thing in reversed(owned):
                thing.close()

    def _settle(self, owned: list[Any]) -> None:
        for thing in owned:
            if hasattr(thing, "synchronize") and getattr(thing, "handle", None):
                thing.synchronize()
