"""Hooks: what a module calls besides its forward, and the handles that take them away again."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from .. import _capture, _core
from .._core import Tensor

_Hook = Callable[..., Any]


class HookHandle:
    """Takes a hook away again: by ``remove()``, or at the end of a ``with`` block."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Any], hook: Any, prepend: bool = False) -> None:
        _capture.note_module_change()
        self._hooks, self._id = hooks, next(HookHandle._ids)
        later = dict(hooks) if prepend else {}
        for known in later:
            del hooks[known]
        hooks[self._id] = hook
        hooks.update(later)

    def remove(self) -> None:
        _capture.note_module_change()
        self._hooks.pop(self._id, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Hooked:
    """The hooks of a module, in the order of their registration; a hook with ``prepend`` goes before the others."""

    _TABLES = (
        "_forward_pre_hooks",
        "_forward_hooks",
        "_backward_pre_hooks",
        "_backward_hooks",
        "_state_dict_pre_hooks",
        "_state_dict_hooks",
        "_load_state_dict_pre_hooks",
        "_load_state_dict_post_hooks",
    )

    def _init_hooks(self) -> None:
        for name in self._TABLES:
            object.__setattr__(self, name, {})

    def register_forward_pre_hook(self, hook: _Hook, *, prepend: bool = False, with_kwargs: bool = False) -> HookHandle:
        """Calls ``hook(module, args)`` before forward; what it returns, if anything, replaces the arguments.

        With `with_kwargs` it is ``hook(module, args, kwargs)``, and it returns both or nothing.
        """
        return HookHandle(self._forward_pre_hooks, (hook, with_kwargs), prepend)

    def register_forward_hook(self, hook: _Hook, *, prepend: bool = False, with_kwargs: bool = False) -> HookHandle:
        """Calls ``hook(module, args, output)`` after forward; what it returns, if anything, replaces the output.

        With `with_kwargs` it is ``hook(module, args, kwargs, output)``.
        """
        return HookHandle(self._forward_hooks, (hook, with_kwargs), prepend)

    def register_full_backward_pre_hook(self, hook: _Hook, *, prepend: bool = False) -> HookHandle:
        """Calls ``hook(module, grad_output)`` before the backward of the module; it may return other gradients."""
        return HookHandle(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: _Hook, *, prepend: bool = False) -> HookHandle:
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs are there.

        Both are tuples, with None for what is no tensor or has no gradient; only positional arguments and outputs that
        are a tensor, or a tuple or list of tensors, are seen. What the hook returns, if anything, replaces grad_input.
        """
        return HookHandle(self._backward_hooks, hook, prepend)

    def register_state_dict_pre_hook(self, hook: _Hook) -> HookHandle:
        """Calls ``hook(module, prefix, keep_vars)`` before the module's part of a state dict is made."""
        return HookHandle(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: _Hook) -> HookHandle:
        """Calls ``hook(module, state_dict, prefix, {})`` once the module and its children are in; it may change it."""
        return HookHandle(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: _Hook) -> HookHandle:
        """Calls ``hook(module, state_dict, prefix, {}, strict, missing_keys, unexpected_keys, error_msgs)`` at first.

        It may change the state dict, which is a copy, and may add to the three lists.
        """
        return HookHandle(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: _Hook) -> HookHandle:
        """Calls ``hook(module, incompatible_keys)`` after a state was loaded; it may change what is returned.

        A state that does not fit is refused before: let a pre-hook put it right.
        """
        return HookHandle(self._load_state_dict_post_hooks, hook)

    # -- calls -----------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _core._recording():
            _capture.note_module(self)
        if not (self._forward_pre_hooks or self._forward_hooks or self._backward_pre_hooks or self._backward_hooks):
            return self.forward(*args, **kwargs)
        args, kwargs = self._before_forward(args, kwargs)
        watch = _Watch(self) if self._backward_pre_hooks or self._backward_hooks else None
        output = self.forward(*(watch.inputs(args) if watch else args), **kwargs)
        for hook, with_kwargs in tuple(self._forward_hooks.values()):
            changed = hook(self, args, kwargs, output) if with_kwargs else hook(self, args, output)
            output = output if changed is None else changed
        return watch.outputs(output) if watch else output

    def _before_forward(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        for hook, with_kwargs in tuple(self._forward_pre_hooks.values()):
            changed = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if changed is None:
                continue
            if not with_kwargs:
                args = changed if isinstance(changed, tuple) else (changed,)
            elif isinstance(changed, tuple) and len(changed) == 2:
                args, kwargs = changed
            else:
                raise TypeError(
                    f"{type(self).__name__}: a forward pre-hook with kwargs returns None or (args, kwargs); "
                    f"found {type(changed).__name__}"
                )
        return args, kwargs


class _Watch:
    """One call of a module with backward hooks: a node of the tape before it, and one after it."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.grad_output: tuple[Tensor | None, ...] = ()
        self.count = 0  # of the positional arguments
        self.entered = False  # whether there is an input whose gradient will come

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.count = len(args)
        places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        self.entered = _core.is_grad_enabled() and any(args[i].requires_grad for i in places)
        return _with_node("backward_hook", args, places, lambda gradients: self._leave(places, gradients))

    def outputs(self, output: Any) -> Any:
        single = not isinstance(output, (tuple, list))
        parts = (output,) if single else tuple(output)
        places = [i for i, part in enumerate(parts) if isinstance(part, Tensor)]
        watched = _with_node(
            "backward_pre_hook", parts, places, lambda gradients: self._enter(places, len(parts), gradients)
        )
        if single:
            return watched[0]
        return type(output)(*watched) if hasattr(output, "_fields") else type(output)(watched)

    def _enter(self, places: list[int], count: int, gradients: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        grads = _spread(places, count, gradients)
        for hook in tuple(self.module._backward_pre_hooks.values()):
            grads = self._replaced(grads, hook(self.module, grads))
        self.grad_output = grads
        if not self.entered:
            self._run((None,) * self.count)
        return tuple(grads[i] for i in places)

    def _leave(self, places: list[int], gradients: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        grads = self._run(_spread(places, self.count, gradients))
        return tuple(grads[i] for i in places)

    def _run(self, grad_input: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        for hook in tuple(self.module._backward_hooks.values()):
            grad_input = self._replaced(grad_input, hook(self.module, grad_input, self.grad_output))
        return grad_input

    def _replaced(self, before: tuple[Tensor | None, ...], found: Any) -> tuple[Tensor | None, ...]:
        if found is None:
            return before
        found = (found,) if isinstance(found, Tensor) else tuple(found)
        if len(found) != len(before):
            raise _core.InvalidArgumentError(
                f"a backward hook of {type(self.module).__name__} returned {len(found)} gradients; wanted {len(before)}"
            )
        return found


def _spread(places: list[int], count: int, gradients: list[Tensor | None]) -> tuple[Tensor | None, ...]:
    whole: list[Tensor | None] = [None] * count
    for place, gradient in zip(places, gradients, strict=True):
        whole[place] = gradient
    return tuple(whole)


def _with_node(name: str, values: tuple[Any, ...], places: list[int], backward: _Hook) -> tuple[Any, ...]:
    """The values, whose tensors have one node of the tape as their history: `backward` maps its gradients."""
    tensors = [values[i] for i in places]
    if not (_core.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
        return values
    passed = [tensor.detach() for tensor in tensors]
    _core._record_python(name, tensors, passed, backward)
    whole = list(values)
    for place, tensor in zip(places, passed, strict=True):
        whole[place] = tensor
    return tuple(whole)
