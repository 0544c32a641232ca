"""Gradients: modes, ``grad``, and functions with a backward of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Tensor


class _Mode:
    """Sets whether calls are recorded, as a context or a decorator."""

    enabled: bool

    def __enter__(self) -> None:
        self._before = _core.is_grad_enabled()
        _core._set_grad_enabled(self.enabled)

    def __exit__(self, *_: object) -> None:
        _core._set_grad_enabled(self._before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return wrapper


class no_grad(_Mode):
    """Calls inside leave no history."""

    enabled = False


class enable_grad(_Mode):
    """Calls inside leave a history, also within no_grad."""

    enabled = True


def _tensors(value: Tensor | Sequence[Tensor]) -> list[Tensor]:
    return [value] if isinstance(value, Tensor) else list(value)


def _gradients(value: Tensor | Sequence[Tensor | None] | None) -> list[Tensor | None]:
    return [] if value is None else _tensors(value)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Adds the gradients of the tensors into the ``grad`` of all leaves that they came from.

    ``grad_tensors`` are the gradients of the tensors themselves; a single element has 1.
    """
    gradients = _gradients(grad_tensors)
    retain = create_graph if retain_graph is None else retain_graph
    _core._backward(_tensors(tensors), gradients, retain, create_graph, [])


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the outputs for the inputs; no ``grad`` is touched."""
    gradients = _gradients(grad_outputs)
    retain = create_graph if retain_graph is None else retain_graph
    found = _core._backward(_tensors(outputs), gradients, retain, create_graph, _tensors(inputs))
    if not allow_unused:
        for position, gradient in enumerate(found):
            if gradient is None:
                raise _core.InvalidArgumentError(
                    f"grad: the outputs do not depend on input {position}; allow_unused=True gives None for it"
                )
    return tuple(found)


class TensorHook:
    """What :meth:`Tensor.register_hook` returns: it passes gradients on to the hook until it is removed."""

    def __init__(self, hook: Callable[[Tensor], Tensor | None]) -> None:
        self._hook: Callable[[Tensor], Tensor | None] | None = hook

    def __call__(self, gradient: Tensor) -> Tensor | None:
        return None if self._hook is None else self._hook(gradient)

    def remove(self) -> None:
        self._hook = None


class Context:
    """What a :class:`Function` keeps between forward and backward."""

    _saved: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors, arguments or others, for ``saved_tensors`` in backward."""
        self._saved = tuple(None if tensor is None else _core._SavedTensor(tensor) for tensor in tensors)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was kept. Raises if one was written in place since."""
        return tuple(None if kept is None else kept.unpack("a Function") for kept in self._saved)


class Function:
    """A call with a gradient of its own: define static ``forward(ctx, *args)`` and ``backward(ctx, *gradients)``."""

    @staticmethod
    def forward(ctx: Context, *args: Any) -> Any:
        raise NotImplementedError

    @staticmethod
    def backward(ctx: Context, *gradients: Tensor) -> Any:
        raise NotImplementedError

    @classmethod
    def apply(cls, *args: Any) -> Any:
        ctx = Context()
        with no_grad():
            result = cls.forward(ctx, *args)
        outputs = list(result) if isinstance(result, tuple) else [result]
        outputs = [o.detach() if any(o is a for a in args) else o for o in outputs]
        positions, count = [i for i, a in enumerate(args) if isinstance(a, Tensor)], len(args)

        def backward_of_tensors(gradients: list[Tensor]) -> tuple[Tensor | None, ...]:
            found = cls.backward(ctx, *gradients)
            found = found if isinstance(found, tuple) else (found,)
            if len(found) != count:
                raise _core.InvalidArgumentError(
                    f"{cls.__name__}.backward returned {len(found)} gradients for {count} arguments"
                )
            return tuple(found[i] for i in positions)

        _core._record_python(cls.__name__, [args[i] for i in positions], outputs, backward_of_tensors)
        return tuple(outputs) if isinstance(result, tuple) else outputs[0]
