from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sim_driver import Device, Plugin, library_path

VARIABLES = ("DEVICES", "SEED", "DELAY_US", "DELAY_EVERY", "QUIRKS", "FAULTS")


@pytest.fixture
def open_sim(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Plugin]]:
    """open_sim(QUIRKS="handles", ...) opens the plugin with DOUGONG_SIM_QUIRKS=handles and no other variable."""
    for variable in VARIABLES:
        monkeypatch.delenv(f"DOUGONG_SIM_{variable}", raising=False)
    opened: list[Plugin] = []

    def open_plugin(**environment: str) -> Plugin:
        for variable, value in environment.items():
            monkeypatch.setenv(f"DOUGONG_SIM_{variable}", value)
        opened.append(Plugin(library_path()))
        opened[-1].initialize()
        return opened[-1]

    yield open_plugin
    for plugin in opened:
        plugin.close()


@pytest.fixture
def device(open_sim: Callable[..., Plugin]) -> Iterator[Device]:
    opened = open_sim().open_device()
    yield opened
    opened.close()
