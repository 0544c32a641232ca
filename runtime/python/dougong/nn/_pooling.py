"""Layers of pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._core import Tensor
from . import functional
from ._module import Module

_Size = int | Sequence[int]
_Pieces = int | Sequence[int | None] | None


class _MaxPool(Module):
    _pool: Callable[..., Tensor]

    def __init__(
        self,
        kernel_size: _Size,
        stride: _Size | None = None,
        padding: _Size = 0,
        dilation: _Size = 1,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.ceil_mode = padding, dilation, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        sizes = self.kernel_size, self.stride, self.padding, self.dilation
        return type(self)._pool(input, *sizes, self.ceil_mode)

    def extra_repr(self) -> str:
        text = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}"
        return f"{text}, ceil_mode={self.ceil_mode}"


class MaxPool1d(_MaxPool):
    """The greatest value in each window of sequences."""

    _pool = staticmethod(functional.max_pool1d)


class MaxPool2d(_MaxPool):
    """The greatest value in each window of images."""

    _pool = staticmethod(functional.max_pool2d)


class MaxPool3d(_MaxPool):
    """The greatest value in each window of volumes."""

    _pool = staticmethod(functional.max_pool3d)


class AvgPool1d(Module):
    """The mean of each window of sequences."""

    _pool: Callable[..., Tensor] = staticmethod(functional.avg_pool1d)

    def __init__(
        self,
        kernel_size: _Size,
        stride: _Size | None = None,
        padding: _Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        sizes = self.kernel_size, self.stride, self.padding
        return type(self)._pool(input, *sizes, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        text = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        return f"{text}, ceil_mode={self.ceil_mode}, count_include_pad={self.count_include_pad}"


class AvgPool2d(AvgPool1d):
    """The mean of each window of images; divisor_override: what sums are divided by instead of their count."""

    _pool = staticmethod(functional.avg_pool2d)

    def __init__(
        self,
        kernel_size: _Size,
        stride: _Size | None = None,
        padding: _Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        sizes = self.kernel_size, self.stride, self.padding
        return type(self)._pool(input, *sizes, self.ceil_mode, self.count_include_pad, self.divisor_override)

    def extra_repr(self) -> str:
        override = "" if self.divisor_override is None else f", divisor_override={self.divisor_override}"
        return super().extra_repr() + override


class AvgPool3d(AvgPool2d):
    """The mean of each window of volumes; see AvgPool2d."""

    _pool = staticmethod(functional.avg_pool3d)


class _Adaptive(Module):
    _pool: Callable[..., Tensor]

    def __init__(self, output_size: _Pieces) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._pool(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The means of so many pieces of sequences."""

    _pool = staticmethod(functional.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_Adaptive):
    """The means of so many pieces of images."""

    _pool = staticmethod(functional.adaptive_avg_pool2d)


class AdaptiveMaxPool1d(_Adaptive):
    """The greatest values of so many pieces of sequences."""

    _pool = staticmethod(functional.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_Adaptive):
    """The greatest values of so many pieces of images."""

    _pool = staticmethod(functional.adaptive_max_pool2d)
