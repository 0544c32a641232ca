"""``dougong.jit``: a function whose calls are captured once, and then replayed without Python.

See docs/jit.md for what may vary from call to call, and what is refused.
"""

from __future__ import annotations

import functools
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

from . import _capture, _core
from ._autograd import no_grad
from ._core import Tensor

__all__ = ["Jitted", "jit"]


def jit(function: Callable[..., Any] | None = None, *, limit: int = 8) -> Any:
    """Captures the kernels that a function calls, and replays them in later calls with the same kind of arguments.

    The first call with arguments of some shapes, dtypes and devices runs as it is, the second one is captured, and from
    the third one on the arguments are copied to where the captured kernels read them and the kernels run, without
    Python and in memory that was planned. Results are fresh tensors without history. Numbers drawn at random, an
    optimizer's steps and learning rates, and schedulers go on as without jit.

    A capture that would be wrong is made anew: after other shapes, train() and eval(), a parameter that was replaced.
    After `limit` captures others are not captured but run as they are, with a warning.

    Raises UnsupportedError for what a replay could not repeat: a function that reads the value of a tensor, writes into
    an argument, or replaces a tensor that it reads.
    """
    if function is None:
        return functools.partial(jit, limit=limit)
    if not callable(function):
        raise TypeError(f"jit takes a function; found {type(function).__name__}")
    return Jitted(function, limit)


class _Call:
    """The arguments of a call: their tensors, and a key for all that is not a tensor's values."""

    def __init__(self, args: Any, kwargs: Any) -> None:
        self.tensors: list[Tensor] = []
        self.kept: list[Any] = []  # objects that the key knows by their id
        self.key = (*(value() for value in _capture.ambient), self._key(args), self._key(kwargs) if kwargs else None)

    def _key(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._tensor_key(value)
        if isinstance(value, (tuple, list)):
            return (type(value), *map(self._key, value))
        if isinstance(value, dict):
            return (dict, *((name, self._key(item)) for name, item in value.items()))
        if value is None or isinstance(value, (bool, int, str, bytes, _core.dtype)):
            return (type(value), value)
        if isinstance(value, float):
            return (type(value), value.hex())  # 0.0 is not -0.0
        if hasattr(value, "__array_interface__"):
            raise TypeError("jit: a NumPy array would be frozen in the capture; give it as a tensor")
        self.kept.append(value)
        return (type(value), id(value))

    def _tensor_key(self, tensor: Tensor) -> Any:
        if tensor.requires_grad:
            if not tensor.is_leaf:
                raise _core.UnsupportedError("jit: an argument has a history, which ends here; detach() it")
            self.kept.append(tensor)
            return (Tensor, id(tensor))
        self.tensors.append(tensor)
        return _core._tensor_kind(tensor)


def _rebuilt(value: Any, function: Callable[[Any], Any]) -> Any:
    """A tuple, list or dict with the function of its items; any other value as it is."""
    if isinstance(value, (tuple, list)):
        parts = [function(item) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {name: function(item) for name, item in value.items()}
    return value


def _with_tensors(value: Any, tensors: Any) -> Any:
    """The same structure with other tensors in the places of those that are copied."""
    if isinstance(value, Tensor):
        return value if value.requires_grad else next(tensors)
    return _rebuilt(value, lambda item: _with_tensors(item, tensors))


class _Fresh:
    """A result that is copied out after each replay."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()


def _result(value: Any) -> Any:
    """The structure of a result while recording, with the places of what the calls made."""
    if isinstance(value, Tensor):
        if value.requires_grad and not value.is_leaf and not _core._record_gradients():
            raise _core.UnsupportedError(
                "jit: a result needs a gradient, and no backward was run: results have no history. Call backward in "
                "the function, or call it under no_grad"
            )
        return _Fresh(value) if _core._record_made(value) else value
    return _rebuilt(value, _result)


def _copied(value: Any, inputs: list[Tensor]) -> Any:
    if isinstance(value, _Fresh):
        return value.tensor.clone()
    if isinstance(value, Tensor):
        return value.clone() if any(_core._same_storage(value, t) for t in inputs) else value
    return _rebuilt(value, lambda item: _copied(item, inputs))


def _detached(value: Any) -> Any:
    """A result as replays return it."""
    if isinstance(value, Tensor):
        return value if value.is_leaf else value.detach()
    return _rebuilt(value, _detached)


def _check_not_written(tensors: list[Tensor], versions: list[int]) -> None:
    for i, (tensor, version) in enumerate(zip(tensors, versions, strict=True)):
        if _core._storage_version(tensor) != version:
            raise _core.UnsupportedError(
                f"jit: the function writes into its tensor argument {i}, which a replay sees as a copy; clone it, or "
                "let the function find it without an argument"
            )


def _check_modules(changed: list[tuple[Any, str]]) -> None:
    for module, name in changed:
        label = f"{type(module).__name__}.{name.rpartition('.')[2]}"
        value = vars(module).get(name)
        if name.startswith(("_parameters.", "_buffers.")) or isinstance(value, Tensor):
            raise _core.UnsupportedError(
                f"jit: the call sets {label} to another tensor, and a replay would not; write into the same tensor "
                "with copy_"
            )
        if isinstance(value, (bool, int, float, str)):
            warnings.warn(f"jit: the call changes {label}, and replays will not", RuntimeWarning, stacklevel=5)


class _Changed(Exception):
    """The optimizer would make other calls than those that were captured."""


class _Replay:
    """One capture."""

    def __init__(self, function: Callable[..., Any], call: _Call, args: Any, kwargs: Any) -> None:
        self.kept = call.kept
        self.inputs = [tensor.detach().clone() for tensor in call.tensors]
        places = iter(self.inputs)
        args, kwargs = _with_tensors(args, places), _with_tensors(kwargs, places)
        versions = [_core._storage_version(tensor) for tensor in self.inputs]
        self.notes = _capture.Capture()
        with self.notes:
            self.result = _result(function(*args, **kwargs))
            _check_not_written(self.inputs, versions)
            _check_modules(self.notes.close())
            self.recording = _core._record_finish()
        self.notes.bind(self.recording)

    def copied_result(self) -> Any:
        with no_grad():
            return _copied(self.result, self.inputs)

    def run(self, call: _Call) -> Any:
        try:
            self.notes.prepare(self.recording)
        except _core.UnsupportedError as error:
            raise _Changed from error
        for place, tensor in zip(self.inputs, call.tensors, strict=True):
            _core._copy_into(place, tensor)
        self.recording.run()
        return self.copied_result()


class Jitted:
    """What :func:`jit` makes of a function. Calls of several threads come one after the other."""

    def __init__(self, function: Callable[..., Any], limit: int = 8) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function, self._limit = function, limit
        self._lock = threading.RLock()
        self._replays: dict[Any, list[_Replay]] = {}
        self._known: set[Any] = set()  # keys of calls that were run once as they are
        self._captured = 0

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _core._reads_refused():  # within a capture: a part of it
            return self._function(*args, **kwargs)
        with self._lock:
            call = _Call(args, kwargs)
            replay = self._find(call.key)
            if replay is not None:
                try:
                    return replay.run(call)
                except _Changed:
                    self._replays[call.key].remove(replay)
            return self._run(call, args, kwargs)

    def _find(self, key: Any) -> _Replay | None:
        for replay in tuple(self._replays.get(key, ())):
            if replay.recording.stale():
                self._replays[key].remove(replay)
            elif replay.recording.fits() and replay.notes.modules_fit():
                return replay
        return None

    def _run(self, call: _Call, args: Any, kwargs: Any) -> Any:
        if self._captured >= self._limit:
            self._warn()
            return self._function(*args, **kwargs)
        _core._refuse_reads(True)
        try:
            if call.key in self._known:
                return self._captured_call(call, args, kwargs)
            return self._first_call(call, args, kwargs)
        finally:
            _core._refuse_reads(False)

    def _first_call(self, call: _Call, args: Any, kwargs: Any) -> Any:
        versions = [_core._storage_version(tensor) for tensor in call.tensors]
        result = self._function(*args, **kwargs)
        _check_not_written(call.tensors, versions)
        self._known.add(call.key)
        return _detached(result)

    def _captured_call(self, call: _Call, args: Any, kwargs: Any) -> Any:
        self._captured += 1
        replay = _Replay(self._function, call, args, kwargs)
        self._replays.setdefault(call.key, []).append(replay)
        return replay.copied_result()

    def _warn(self) -> None:
        warnings.warn(
            f"jit: {getattr(self, '__name__', 'the function')} was captured {self._limit} times; other arguments, and "
            "whatever else makes a capture of its own, now run without one. Pad to few shapes, or raise limit=",
            RuntimeWarning,
            stacklevel=4,
        )

    def reset(self) -> None:
        """Forgets all captures, and gives their memory back."""
        with self._lock:
            self._replays, self._known, self._captured = {}, set(), 0

    @property
    def captures(self) -> list[dict[str, int]]:
        """Of each capture: its calls and kernels, the bytes of the arenas that were planned for intermediates, the
        bytes that these would take apart from each other, and the bytes of results and gradients."""
        return [replay.recording.stats() for replays in self._replays.values() for replay in replays]
