"""Activations as modules: each calls the function of that name, with the arguments that it was made with."""

from __future__ import annotations

from typing import Any, ClassVar

from .._core import Tensor
from . import functional, init
from ._layers import _parameter
from ._module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Activation(Module):
    """A function of one tensor and of constants, which the class names with their defaults, in order.

    `inplace`, where PyTorch has it, comes last. It allows the input to be written over, which is never done here.
    """

    function: str
    constants: ClassVar[dict[str, Any]] = {}
    may_be_in_place = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        names = [*self.constants, *["inplace"] * self.may_be_in_place]
        if len(args) > len(names) or set(kwargs) - set(names[len(args) :]):
            raise TypeError(f"{type(self).__name__} takes ({', '.join(names)}); found {args}, {kwargs}")
        given = {**self.constants, **dict(zip(names, args, strict=False)), **kwargs}
        for name in self.constants:
            if given[name] is _REQUIRED:
                raise TypeError(f"{type(self).__name__}: {name} is missing")
            setattr(self, name, given[name])

    def forward(self, input: Tensor) -> Tensor:
        return getattr(functional, self.function)(input, *[getattr(self, name) for name in self.constants])

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self.constants)


_REQUIRED = object()


class ReLU(_Activation):
    function = "relu"
    may_be_in_place = True


class ReLU6(_Activation):
    function = "relu6"
    may_be_in_place = True


class Sigmoid(_Activation):
    function = "sigmoid"


class Tanh(_Activation):
    function = "tanh"


class LogSigmoid(_Activation):
    function = "logsigmoid"


class SELU(_Activation):
    function = "selu"
    may_be_in_place = True


class SiLU(_Activation):
    function = "silu"
    may_be_in_place = True


class Mish(_Activation):
    function = "mish"
    may_be_in_place = True


class Softsign(_Activation):
    function = "softsign"


class Tanhshrink(_Activation):
    function = "tanhshrink"


class Hardsigmoid(_Activation):
    function = "hardsigmoid"
    may_be_in_place = True


class Hardswish(_Activation):
    function = "hardswish"
    may_be_in_place = True


class GELU(_Activation):
    function, constants = "gelu", {"approximate": "none"}


class LeakyReLU(_Activation):
    function, constants = "leaky_relu", {"negative_slope": 0.01}
    may_be_in_place = True


class ELU(_Activation):
    function, constants = "elu", {"alpha": 1.0}
    may_be_in_place = True


class CELU(_Activation):
    function, constants = "celu", {"alpha": 1.0}
    may_be_in_place = True


class Softplus(_Activation):
    function, constants = "softplus", {"beta": 1.0, "threshold": 20.0}


class Hardtanh(_Activation):
    function, constants = "hardtanh", {"min_val": -1.0, "max_val": 1.0}
    may_be_in_place = True


class Hardshrink(_Activation):
    function, constants = "hardshrink", {"lambd": 0.5}


class Softshrink(_Activation):
    function, constants = "softshrink", {"lambd": 0.5}


class Threshold(_Activation):
    function, constants = "threshold", {"threshold": _REQUIRED, "value": _REQUIRED}
    may_be_in_place = True


class GLU(_Activation):
    function, constants = "glu", {"dim": -1}


class Softmax(_Activation):
    function, constants = "softmax", {"dim": -1}


class LogSoftmax(_Activation):
    function, constants = "log_softmax", {"dim": -1}


class Softmin(_Activation):
    function, constants = "softmin", {"dim": -1}


class PReLU(Module):
    """The input where it is positive, else times a trained weight: one, or one for each channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = _parameter((num_parameters,), device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
