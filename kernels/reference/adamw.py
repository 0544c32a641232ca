"""One step of AdamW, or of Adam with an L2 penalty."""

import numpy as np


def adamw(p, gradient, exp_avg, exp_avg_sq, *, lr, beta1, beta2, epsilon, weight_decay, step, decoupled, maximize):
    """Loshchilov and Hutter 2019, with the bias corrections of Kingma and Ba 2015."""
    number = p.dtype.type
    g = -gradient if maximize else gradient
    if decoupled:
        p = p * number(1 - lr * weight_decay)
    elif weight_decay:
        g = g + number(weight_decay) * p
    exp_avg = number(beta1) * exp_avg + number(1 - beta1) * g
    exp_avg_sq = number(beta2) * exp_avg_sq + number(1 - beta2) * g * g
    denominator = np.sqrt(exp_avg_sq) / number(np.sqrt(1 - beta2**step)) + number(epsilon)
    return p - number(lr / (1 - beta1**step)) * exp_avg / denominator, exp_avg, exp_avg_sq
