"""One step of a recurrent network: from its input, or, for a layer, from the input's share of the gates."""

from __future__ import annotations

from typing import Any

from ... import _core, _functions
from ..._autograd import Context, Function
from ..._core import Tensor
from ._basic import linear

_ops = _core.ops


class _Parts(Function):
    """Equal parts along an axis. Their gradients are joined, once, and not each widened to the whole."""

    @staticmethod
    def forward(ctx: Context, x: Tensor, count: int, axis: int) -> tuple[Tensor, ...]:
        size = x.shape[axis] // count
        ctx.axis = axis
        return tuple(_functions.narrow(x, axis, i * size, size) for i in range(count))

    @staticmethod
    def backward(ctx: Context, *gradients: Tensor | None) -> Any:
        known = next(gradient for gradient in gradients if gradient is not None)
        return _ops.cat([_zeros_like(known) if g is None else g for g in gradients], ctx.axis), None, None


def _zeros_like(x: Tensor) -> Tensor:
    return _ops.full(x.shape, 0, x.dtype, device=x.device)


def parts(x: Tensor, count: int, axis: int) -> tuple[Tensor, ...]:
    """The tensor cut into `count` equal parts along an axis."""
    return _Parts.apply(x, count, axis)


def steps(x: Tensor) -> list[Tensor]:
    """The tensor at each place of its first axis."""
    return [part.squeeze(0) for part in parts(x, x.shape[0], 0)] if x.shape[0] else []


def rnn_step(input_gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None, nonlinearity: str) -> Tensor:
    """The next hidden state, where `input_gates` is input @ weight_ih.T + bias_ih."""
    gates = input_gates + linear(hidden, weight, bias)
    return _ops.relu(gates) if nonlinearity == "relu" else _ops.tanh(gates)


def lstm_step(
    input_gates: Tensor, state: tuple[Tensor, Tensor], weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor]:
    """See :func:`lstm_cell`."""
    hidden, cell = state
    entry, forget, candidate, exit = parts(input_gates + linear(hidden, weight, bias), 4, -1)
    cell = _ops.sigmoid(forget) * cell + _ops.sigmoid(entry) * _ops.tanh(candidate)
    return _ops.sigmoid(exit) * _ops.tanh(cell), cell


def gru_step(input_gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """See :func:`gru_cell`."""
    input_reset, input_update, input_new = parts(input_gates, 3, -1)
    hidden_reset, hidden_update, hidden_new = parts(linear(hidden, weight, bias), 3, -1)
    reset = _ops.sigmoid(input_reset + hidden_reset)
    update = _ops.sigmoid(input_update + hidden_update)
    new = _ops.tanh(input_new + reset * hidden_new)
    return new + update * (hidden - new)


def _checked(name: str, input: Tensor) -> None:
    if input.ndim not in (1, 2):
        raise _core.InvalidArgumentError(f"{name}: the input is (batch, features), or (features); found {input.shape}")


def lstm_cell(
    input: Tensor,
    hx: tuple[Tensor, Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The next hidden and cell state (Hochreiter and Schmidhuber, 1997); gates are in, forget, cell, out."""
    _checked("lstm_cell", input)
    if input.ndim == 1:
        hidden, cell = lstm_cell(input.unsqueeze(0), (hx[0].unsqueeze(0), hx[1].unsqueeze(0)), w_ih, w_hh, b_ih, b_hh)
        return hidden.squeeze(0), cell.squeeze(0)
    return _ops.lstm_cell(input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh)


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The next hidden state (Cho et al., 2014); gates are reset, update, new, and reset acts after the product."""
    _checked("gru_cell", input)
    if input.ndim == 1:
        return gru_cell(input.unsqueeze(0), hx.unsqueeze(0), w_ih, w_hh, b_ih, b_hh).squeeze(0)
    return _ops.gru_cell(input, hx, w_ih, w_hh, b_ih, b_hh)


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """tanh of both linear maps."""
    return rnn_step(linear(input, w_ih, b_ih), hx, w_hh, b_hh, "tanh")


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """relu of both linear maps."""
    return rnn_step(linear(input, w_ih, b_ih), hx, w_hh, b_hh, "relu")
