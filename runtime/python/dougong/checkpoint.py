"""Activation recompute: calls that save nothing for the backward pass, and are made again when it comes to them.

``y = checkpoint(block, x)`` gives, bit for bit, the result and the gradients of ``y = block(x)``. Between the two
passes it keeps the arguments alone, in place of every value inside that a gradient needs; the price is a second forward
pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _core, _random
from ._autograd import enable_grad
from ._core import Tensor

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, made again by the backward pass in place of saving what is inside.

    The function must do the same again: its work may depend on its arguments, on parameters and on random numbers.
    These are drawn again alike, from the generators of devices, unless `preserve_rng_state` is False. Gradients of all
    kinds work: those of parameters that only the function knows, of gradients, through nested checkpoints. What the
    second run finds changed, in an argument or in what it does, is an InvalidArgumentError. It runs once a backward
    pass, whole, even where only part of it is needed.
    """
    if use_reentrant:
        raise ValueError("checkpoint: there is no reentrant form; leave use_reentrant out")
    if not _core.is_grad_enabled():
        return function(*args, **kwargs)
    rng = _random.snapshot() if preserve_rng_state else None
    with _core._Recomputation(_Again(function, args, kwargs, rng)):
        return function(*args, **kwargs)


class _Again:
    """The second run. Tensors among the arguments are kept as the tape keeps them, so that a checkpoint around this
    one need not keep them either."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any, rng: Any) -> None:
        self.function, self.rng = function, rng
        self.args, self.kwargs = _mapped(_kept, args), _mapped(_kept, kwargs)

    def __call__(self) -> None:
        with enable_grad():
            args, kwargs = _mapped(_unpacked, self.args), _mapped(_unpacked, self.kwargs)
            if self.rng is None:
                self.function(*args, **kwargs)
                return
            with _random.replayed(self.rng):
                self.function(*args, **kwargs)


def _kept(value: Any) -> Any:
    return _core._SavedTensor(value) if isinstance(value, Tensor) else value


def _unpacked(value: Any) -> Any:
    return value.unpack("checkpoint") if isinstance(value, _core._SavedTensor) else value


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    if type(value) in (tuple, list):
        return type(value)(_mapped(function, item) for item in value)
    if type(value) is dict:
        return {key: _mapped(function, item) for key, item in value.items()}
    return function(value)


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
) -> Any:
    """The functions one after the other, such as an ``nn.Sequential``, cut into segments that are each a checkpoint.

    The last segment saves what it needs: its backward pass comes at once. Segments differ by one function in length.
    """
    functions = list(functions)
    if not 1 <= segments <= max(len(functions), 1):
        raise ValueError(f"checkpoint_sequential: {len(functions)} functions make 1 segment or more; found {segments}")
    ends = [len(functions) * (i + 1) // segments for i in range(segments)]
    for begin, end in zip([0, *ends], ends, strict=False):
        segment = _Chain(functions[begin:end])
        last = end == len(functions)
        options = {"use_reentrant": use_reentrant, "preserve_rng_state": preserve_rng_state}
        input = segment(input) if last else checkpoint(segment, input, **options)
    return input


class _Chain:
    def __init__(self, functions: list[Callable[..., Any]]) -> None:
        self.functions = functions

    def __call__(self, value: Any) -> Any:
        for function in self.functions:
            value = function(value)
        return value
