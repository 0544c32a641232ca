"""Weights that are normalised whenever they are read."""

from __future__ import annotations

from .. import _core, _creation
from .._autograd import no_grad
from .._core import Tensor
from . import functional
from ._module import Module
from .parametrize import register_parametrization

_ops = _core.ops


class _WeightNorm(Module):
    """A length and a direction for each slice along an axis (Salimans and Kingma, 2016)."""

    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def _length(self, direction: Tensor) -> Tensor:
        kept = None if self.dim is None else self.dim % direction.ndim
        return _ops.norm(direction, 2.0, [axis for axis in range(direction.ndim) if axis != kept], True)

    def forward(self, length: Tensor, direction: Tensor) -> Tensor:
        return direction * (length / self._length(direction))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return self._length(weight), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Trains length and direction of a weight apart: ``original0``, ``original1``. One length in all if dim is None."""
    return register_parametrization(module, name, _WeightNorm(dim))


class _SpectralNorm(Module):
    """The weight, as a matrix of axis `dim` by all others, over its greatest singular value (Miyato et al., 2018)."""

    def __init__(self, weight: Tensor, iterations: int, eps: float, dim: int) -> None:
        super().__init__()
        self.iterations, self.eps, self.dim = iterations, eps, dim % weight.ndim
        matrix = self._matrix(weight.detach())
        for name, size in zip("uv", matrix.shape, strict=True):
            draw = _creation.randn(size, dtype=weight.dtype, device=weight.device)
            self.register_buffer(f"_{name}", functional.normalize(draw, dim=0, eps=eps))
        self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        order = [self.dim, *(axis for axis in range(weight.ndim) if axis != self.dim)]
        return weight.permute(order).reshape(weight.shape[self.dim], -1)

    @no_grad()
    def _iterate(self, matrix: Tensor, count: int) -> None:
        for _ in range(count):
            self._u = functional.normalize(_ops.matmul(matrix, self._v), dim=0, eps=self.eps)
            self._v = functional.normalize(_ops.matmul(matrix.T, self._u), dim=0, eps=self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.iterations)
        return weight / _ops.sum(self._u * _ops.matmul(matrix, self._v))

    def right_inverse(self, weight: Tensor) -> Tensor:
        return weight


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int = 0
) -> Module:
    """Divides a weight by an estimate of its greatest singular value, which is bettered at each use while training."""
    weight = getattr(module, name)
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, eps, dim))
