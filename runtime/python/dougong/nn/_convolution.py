"""Layers of convolution and of its transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor
from . import functional
from ._layers import _init_affine as init_affine
from ._layers import _parameter as make_parameter
from ._module import Module

_Size = int | Sequence[int]
_BORDERS = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Module):
    """What both kinds have: sizes, a weight and a bias, uniform within 1 / sqrt(fan in)."""

    _axes: int

    def __init__(self, in_channels: int, out_channels: int, kernel_size: _Size, stride: _Size, groups: int) -> None:
        super().__init__()
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{type(self).__name__}: in_channels {in_channels}, out_channels {out_channels} must be multiples of "
                f"groups {groups}"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = self._each(kernel_size), self._each(stride)

    def _each(self, size: _Size) -> tuple[int, ...]:
        sizes = (size,) * self._axes if isinstance(size, int) else tuple(size)
        if len(sizes) != self._axes:
            raise ValueError(f"{type(self).__name__}: wanted one number or {self._axes}; found {size}")
        return sizes

    def _make_parameters(self, shape: tuple[int, ...], bias: bool, device: Any, dtype: Any) -> None:
        self.weight = make_parameter(shape, device, dtype)
        self.register_parameter("bias", make_parameter((self.out_channels,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init_affine(self.weight, self.bias)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        return f"{text}, {self._details()}, groups={self.groups}, bias={self.bias is not None}"

    def _details(self) -> str:
        raise NotImplementedError


class _Forward(_Convolution):
    _convolve: Callable[..., Tensor]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Size,
        stride: _Size = 1,
        padding: _Size | str = 0,
        dilation: _Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, groups)
        if padding_mode not in _BORDERS:
            raise ValueError(f"padding_mode must be one of {', '.join(_BORDERS)}; found {padding_mode!r}")
        self.padding = padding if isinstance(padding, str) else self._each(padding)
        self.dilation, self.padding_mode = self._each(dilation), padding_mode
        self._make_parameters((out_channels, in_channels // groups, *self.kernel_size), bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = functional.pad(input, self._borders(), self.padding_mode), 0
        return type(self)._convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _borders(self) -> list[int]:
        """(before, after) from the last axis on, as `pad` takes them."""
        if isinstance(self.padding, str):
            reach = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            total = reach if self.padding == "same" else [0] * self._axes
            return [n for t in reversed(total) for n in (t // 2, t - t // 2)]
        return [p for p in reversed(self.padding) for _ in range(2)]

    def _details(self) -> str:
        mode = "" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode!r}"
        return f"padding={self.padding!r}, dilation={self.dilation}{mode}"


class Conv1d(_Forward):
    """Cross-correlation of sequences (batch, channels, length)."""

    _axes, _convolve = 1, staticmethod(functional.conv1d)


class Conv2d(_Forward):
    """Cross-correlation of images (batch, channels, height, width)."""

    _axes, _convolve = 2, staticmethod(functional.conv2d)


class Conv3d(_Forward):
    """Cross-correlation of volumes (batch, channels, depth, height, width)."""

    _axes, _convolve = 3, staticmethod(functional.conv3d)


class _Transposed(_Convolution):
    _spread: Callable[..., Tensor]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Size,
        stride: _Size = 1,
        padding: _Size = 0,
        output_padding: _Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _Size = 1,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, groups)
        self.padding, self.output_padding = self._each(padding), self._each(output_padding)
        self.dilation = self._each(dilation)
        self._make_parameters((in_channels, out_channels // groups, *self.kernel_size), bias, device, dtype)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """output_size: the sizes of the last axes that are wanted, where several would do."""
        ends = self.output_padding if output_size is None else self._ends(input, output_size)
        lists = self.stride, self.padding, ends, self.groups, self.dilation
        return type(self)._spread(input, self.weight, self.bias, *lists)

    def _ends(self, input: Tensor, output_size: Sequence[int]) -> list[int]:
        sizes = zip(input.shape[-self._axes :], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in sizes]
        ends = [wanted - size for wanted, size in zip(output_size[-self._axes :], least, strict=True)]
        if any(not 0 <= end < step for end, step in zip(ends, self.stride, strict=True)):
            most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
            raise ValueError(f"output_size must lie between {least} and {most}; found {list(output_size)}")
        return ends

    def _details(self) -> str:
        return f"padding={self.padding}, output_padding={self.output_padding}, dilation={self.dilation}"


class ConvTranspose1d(_Transposed):
    """The adjoint of Conv1d: sequences (batch, channels, length) become longer ones."""

    _axes, _spread = 1, staticmethod(functional.conv_transpose1d)


class ConvTranspose2d(_Transposed):
    """The adjoint of Conv2d: images (batch, channels, height, width) become larger ones."""

    _axes, _spread = 2, staticmethod(functional.conv_transpose2d)


class ConvTranspose3d(_Transposed):
    """The adjoint of Conv3d: volumes (batch, channels, depth, height, width) become larger ones."""

    _axes, _spread = 3, staticmethod(functional.conv_transpose3d)
