"""The whole state of a training run in one file: ``dougong.save_training`` and ``dougong.load_training``.

It is a safetensors file of :func:`dougong.save`. A run that loads it goes on bit for bit as the one that saved it would
have, if its own code depends on nothing else.
"""

from __future__ import annotations

import os
import random
import sys
from typing import Any

from . import _core, _random, _serialization

_VERSION = 1


def save_training(path: str | os.PathLike[str], **parts: Any) -> None:
    """Writes the state of the parts, and of all random numbers.

    ``save_training(path, model=model, optimizer=optimizer, scheduler=scheduler, step=7)``: a part has ``state_dict``,
    such as a module, an optimizer, a scheduler or a scaler; or it is a Generator; or a value that
    :func:`dougong.save` takes. The random numbers are those of all devices, of Python's ``random`` and of NumPy's
    ``numpy.random``. An older file stays as it is until the new one is complete.
    """
    states = {name: _state_of(part) for name, part in parts.items()}
    _serialization.save({"training": _VERSION, "parts": states, "random": random_state()}, path)


def load_training(path: str | os.PathLike[str], device: Any = None, **parts: Any) -> dict[str, Any]:
    """Brings the parts, and all random numbers, to what :func:`save_training` wrote; returns the values.

    ``step = load_training(path, model=model, optimizer=optimizer, scheduler=scheduler)["step"]``: the parts are new
    objects of the same build, and take over their states by name, each on its own device. `device` is where tensors
    among the values go, by default where they were. Parts that the file does not have are an error, and nothing is
    changed then; parts that are not asked for are returned as their states.
    """
    content = _serialization.load(path, device)
    if not isinstance(content, dict) or content.get("training") != _VERSION:
        raise _core.InvalidArgumentError(
            f"{os.fspath(path)} does not hold a training run of version {_VERSION}: was it written by save_training?"
        )
    states = content["parts"]
    missing = [name for name in parts if name not in states]
    if missing:
        raise _core.InvalidArgumentError(f"{os.fspath(path)} has no {', '.join(missing)}; it has {', '.join(states)}")
    for name, part in parts.items():
        if not _is_stateful(part):
            raise TypeError(f"load_training: {name} must have load_state_dict, or be a Generator; found {type(part)}")
    for name, part in parts.items():
        _restore(part, states[name])
    set_random_state(content["random"])
    return {name: state for name, state in states.items() if name not in parts}


def _is_stateful(part: Any) -> bool:
    return hasattr(part, "load_state_dict") or isinstance(part, _random.Generator)


def _state_of(part: Any) -> Any:
    if isinstance(part, _random.Generator):
        return part.get_state()
    return part.state_dict() if hasattr(part, "state_dict") else part


def _restore(part: Any, state: Any) -> None:
    if isinstance(part, _random.Generator):
        part.set_state(state)
    else:
        part.load_state_dict(state)


def random_state() -> dict[str, Any]:
    """Of all devices' generators, Python's ``random``, and NumPy's ``numpy.random`` if that is in use."""
    state: dict[str, Any] = {"devices": _random.snapshot(), "python": random.getstate()}
    if "numpy" in sys.modules:
        kind, words, *rest = sys.modules["numpy"].random.get_state()
        state["numpy"] = [kind, words.tolist(), *rest]
    return state


def set_random_state(state: dict[str, Any]) -> None:
    """Brings all of them back to a :func:`random_state`."""
    _random.restore(state["devices"])
    random.setstate(state["python"])
    if "numpy" in state:
        import numpy as np

        np.random.set_state(tuple(state["numpy"]))
