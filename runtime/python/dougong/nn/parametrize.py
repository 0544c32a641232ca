"""Parameters that are computed from others whenever they are read: ``register_parametrization(layer, "weight", P())``.

A parametrization is a module: its forward makes the value. If it has ``right_inverse(value)``, which gives what forward
makes the value from (one tensor, or several), then the value stays as it was, and can be assigned.
"""

from __future__ import annotations

from typing import Any

from .. import _core
from .._autograd import no_grad
from .._core import Tensor
from ._containers import ModuleDict, ModuleList
from ._module import Module, Parameter

__all__ = ["ParametrizationList", "is_parametrized", "register_parametrization", "remove_parametrizations"]


class ParametrizationList(ModuleList):
    """The parametrizations of one parameter, and what they begin with: ``original``, or ``original0`` and so on."""

    def __init__(self, parametrizations: list[Module], value: Tensor) -> None:
        super().__init__(parametrizations)
        with no_grad():
            originals = self._inverse(value)
        self.names = ["original"] if isinstance(originals, Tensor) else [f"original{i}" for i in range(len(originals))]
        for name, tensor in zip(self.names, self._listed(originals), strict=True):
            parameter = Parameter(tensor.detach(), requires_grad=value.requires_grad)
            self.register_parameter(name, parameter)

    @staticmethod
    def _listed(originals: Any) -> list[Tensor]:
        return [originals] if isinstance(originals, Tensor) else list(originals)

    def _inverse(self, value: Tensor) -> Any:
        for parametrization in reversed(list(self)):
            if hasattr(parametrization, "right_inverse"):
                value = parametrization.right_inverse(value)
        return value

    def forward(self) -> Tensor:
        first, *others = self
        value = first(*[getattr(self, name) for name in self.names])
        for parametrization in others:
            value = parametrization(value)
        return value

    @no_grad()
    def assign(self, value: Tensor) -> None:
        """Lets the value be this one, as far as the parametrizations allow."""
        if not all(hasattr(parametrization, "right_inverse") for parametrization in self):
            raise _core.UnsupportedError("a parametrization without right_inverse cannot be assigned a value")
        for name, tensor in zip(self.names, self._listed(self._inverse(value)), strict=True):
            getattr(self, name).copy_(tensor)


def is_parametrized(module: Module, name: str | None = None) -> bool:
    """Whether this parameter, or any without a name, is computed."""
    lists = module._modules.get("parametrizations")
    return lists is not None and (len(lists) > 0 if name is None else name in lists)


def register_parametrization(module: Module, name: str, parametrization: Module) -> Module:
    """Lets the parameter be computed; a second one works on the result of the first."""
    known = list(module.parametrizations[name]) if is_parametrized(module, name) else []
    value = getattr(module, name) if known else module._parameters.get(name)
    if value is None:
        raise ValueError(f"{type(module).__name__} has no parameter {name!r}")
    fresh = ParametrizationList([*known, parametrization], _with_need(module, name, value))
    with no_grad():
        if fresh().shape != value.shape:
            raise ValueError(f"a parametrization must keep the shape {value.shape} of {name}; found {fresh().shape}")
    if "parametrizations" not in module._modules:
        module.register_module("parametrizations", ModuleDict())
    module._parameters.pop(name, None)
    module.parametrizations._modules[name] = fresh
    return module


def _with_need(module: Module, name: str, value: Tensor) -> Tensor:
    """The value as a leaf, which needs a gradient if the parameter did."""
    if not is_parametrized(module, name):
        return value
    originals = module.parametrizations[name].parameters(recurse=False)
    return Parameter(value.detach(), requires_grad=any(original.requires_grad for original in originals))


def remove_parametrizations(module: Module, name: str, leave_parametrized: bool = True) -> Module:
    """An ordinary parameter again: with the computed value, or with the original if there is one alone."""
    if not is_parametrized(module, name):
        raise ValueError(f"{type(module).__name__} has no parametrization of {name!r}")
    removed = module.parametrizations[name]
    if not leave_parametrized and len(removed.names) > 1:
        raise ValueError("leave_parametrized=False needs a single original tensor")
    with no_grad():
        value = removed() if leave_parametrized else removed.original
    needed = any(parameter.requires_grad for parameter in removed.parameters(False))
    del module.parametrizations[name]
    if len(module.parametrizations) == 0:
        del module._modules["parametrizations"]
    module.register_parameter(name, Parameter(value.detach().clone(), requires_grad=needed))
    return module
