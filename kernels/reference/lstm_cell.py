"""One step of a long short-term memory (Hochreiter and Schmidhuber, 1997, with forget gates)."""

import numpy as np

from ._gates import linear, sigmoid


def lstm_cell(x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh):
    gates = linear(x, weight_ih, bias_ih) + linear(hidden, weight_hh, bias_hh)
    enter, forget, fresh, leave = np.split(gates, 4, axis=1)
    cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(fresh)
    return sigmoid(leave) * np.tanh(cell), cell
