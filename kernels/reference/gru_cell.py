"""One step of a gated recurrent unit (Cho et al., 2014)."""

import numpy as np

from ._gates import linear, sigmoid


def gru_cell(x, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    input_reset, input_update, input_new = np.split(linear(x, weight_ih, bias_ih), 3, axis=1)
    hidden_reset, hidden_update, hidden_new = np.split(linear(hidden, weight_hh, bias_hh), 3, axis=1)
    reset, update = sigmoid(input_reset + hidden_reset), sigmoid(input_update + hidden_update)
    new = np.tanh(input_new + reset * hidden_new)
    return (1 - update) * new + update * hidden
