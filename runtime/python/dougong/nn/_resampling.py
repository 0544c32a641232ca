"""Layers that pad, and that change the size of images."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Tensor
from . import functional
from ._module import Module

_Size = int | Sequence[int]


class _Pad(Module):
    """padding: one number for all ends, or (before, after) from the last axis on. A negative number cuts."""

    _axes: int
    _mode: str

    def __init__(self, padding: _Size) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self._axes) if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != 2 * self._axes:
            raise ValueError(
                f"{type(self).__name__}: padding must be one number or {2 * self._axes}; found {self.padding}"
            )

    def forward(self, input: Tensor) -> Tensor:
        return functional.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class ReflectionPad1d(_Pad):
    """Mirrored beyond both ends, without the border itself."""

    _axes, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Mirrored beyond the ends of the last two axes, without the border itself."""

    _axes, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Mirrored beyond the ends of the last three axes, without the border itself."""

    _axes, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The border again, beyond both ends."""

    _axes, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The border again, beyond the ends of the last two axes."""

    _axes, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """The border again, beyond the ends of the last three axes."""

    _axes, _mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Continued from the other end."""

    _axes, _mode = 1, "circular"


class CircularPad2d(_Pad):
    """The last two axes continued from their other ends."""

    _axes, _mode = 2, "circular"


class CircularPad3d(_Pad):
    """The last three axes continued from their other ends."""

    _axes, _mode = 3, "circular"


class ConstantPad1d(_Pad):
    """One value beyond both ends."""

    _axes, _mode = 1, "constant"

    def __init__(self, padding: _Size, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return functional.pad(input, self.padding, self._mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """One value beyond the ends of the last two axes."""

    _axes = 2


class ConstantPad3d(ConstantPad1d):
    """One value beyond the ends of the last three axes."""

    _axes = 3


class ZeroPad1d(_Pad):
    """Zeros beyond both ends."""

    _axes, _mode = 1, "constant"


class ZeroPad2d(_Pad):
    """Zeros beyond the ends of the last two axes."""

    _axes, _mode = 2, "constant"


class ZeroPad3d(_Pad):
    """Zeros beyond the ends of the last three axes."""

    _axes, _mode = 3, "constant"


class Upsample(Module):
    """Other sizes of the last axes; see `functional.interpolate`."""

    def __init__(
        self,
        size: _Size | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        how = self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        return functional.interpolate(input, *how)

    def extra_repr(self) -> str:
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


class Unfold(Module):
    """The windows of images as columns; see `functional.unfold`."""

    def __init__(self, kernel_size: _Size, dilation: _Size = 1, padding: _Size = 0, stride: _Size = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        text = f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}"
        return f"{text}, stride={self.stride}"


class Fold(Module):
    """Columns added up in images; see `functional.fold`."""

    def __init__(
        self, output_size: _Size, kernel_size: _Size, dilation: _Size = 1, padding: _Size = 0, stride: _Size = 1
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        lists = self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        return functional.fold(input, *lists)

    def extra_repr(self) -> str:
        text = f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}"
        return f"{text}, padding={self.padding}, stride={self.stride}"
