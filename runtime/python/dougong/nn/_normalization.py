"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _autograd, _core, _creation
from .._core import Tensor
from . import functional, init
from ._module import Module, Parameter


def _parameter(shape: tuple[int, ...], device: Any, dtype: Any) -> Parameter:
    return Parameter(_creation.empty(shape, device=device, dtype=dtype))


class RMSNorm(Module):
    """x / sqrt(mean of squares + eps) over the last axes, times weight. See :func:`functional.rms_norm`."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self.register_parameter("weight", _parameter(shape, device, dtype) if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """(x - mean) / sqrt(variance + eps) over each of the groups of channels, axis 1, times weight, plus bias."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_groups < 1 or num_channels % num_groups:
            raise ValueError(f"GroupNorm: {num_channels} channels must be a multiple of num_groups {num_groups}")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        for name in ("weight", "bias"):
            self.register_parameter(name, _parameter((num_channels,), device, dtype) if affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.affine:
            init.ones_(self.weight)
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class _ChannelNorm(Module):
    """Weight and bias for each channel, and running statistics, which belong to the state."""

    ndims: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name in ("weight", "bias"):
            self.register_parameter(name, _parameter((num_features,), device, dtype) if affine else None)
        tracked = track_running_stats
        zeros = _creation.zeros
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", zeros(num_features, device=device, dtype=dtype) if tracked else None)
        count = zeros((), device=device, dtype=_core.int64) if tracked else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            with _autograd.no_grad():
                self.running_mean.zero_()
                self.running_var.fill_(1)
                self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            init.zeros_(self.bias)

    def _check(self, input: Tensor) -> None:
        if input.ndim not in self.ndims:
            wanted = " or ".join(map(str, self.ndims))
            raise ValueError(f"{type(self).__name__} takes input with {wanted} axes; found shape {input.shape}")

    def _count(self) -> float:
        """One batch more; the momentum for it: without one, all batches weigh the same."""
        if self.num_batches_tracked is not None:
            _core.ops.add(self.num_batches_tracked, 1, out=self.num_batches_tracked)
            if self.momentum is None:
                return 1 / self.num_batches_tracked.item()
        return self.momentum or 0.0

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_ChannelNorm):
    """While training, each channel with the mean and variance of the batch; else with the running ones.

    Without running statistics those of the batch are always used.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        momentum = self._count() if self.training else 0.0
        by_batch = self.training or self.running_mean is None
        return functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, by_batch, momentum, self.eps
        )


class BatchNorm1d(_BatchNorm):
    __doc__, ndims = _BatchNorm.__doc__, (2, 3)


class BatchNorm2d(_BatchNorm):
    __doc__, ndims = _BatchNorm.__doc__, (4,)


class BatchNorm3d(_BatchNorm):
    __doc__, ndims = _BatchNorm.__doc__, (5,)


class _InstanceNorm(_ChannelNorm):
    """Each channel of each instance with its own mean and variance; in evaluation with running ones, if they are kept.

    The input may lack the axis of the batch.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        if input.ndim == self.ndims[0]:
            return self.forward(input.unsqueeze(0)).squeeze(0)
        by_input = self.training or self.running_mean is None
        return functional.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, by_input, self.momentum, self.eps
        )


class InstanceNorm1d(_InstanceNorm):
    __doc__, ndims = _InstanceNorm.__doc__, (2, 3)


class InstanceNorm2d(_InstanceNorm):
    __doc__, ndims = _InstanceNorm.__doc__, (3, 4)


class InstanceNorm3d(_InstanceNorm):
    __doc__, ndims = _InstanceNorm.__doc__, (4, 5)
