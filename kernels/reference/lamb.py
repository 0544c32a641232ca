"""One step of LAMB."""

import numpy as np


def lamb(p, gradient, exp_avg, exp_avg_sq, *, lr, beta1, beta2, epsilon, weight_decay, step, maximize):
    """Algorithm 2 of You et al. (2020), with phi the identity; a norm of zero scales nothing."""
    number = p.dtype.type
    g = -gradient if maximize else gradient
    exp_avg = number(beta1) * exp_avg + number(1 - beta1) * g
    exp_avg_sq = number(beta2) * exp_avg_sq + number(1 - beta2) * g * g
    denominator = np.sqrt(exp_avg_sq) / number(np.sqrt(1 - beta2**step)) + number(epsilon)
    direction = exp_avg / number(1 - beta1**step) / denominator
    if weight_decay:
        direction = direction + number(weight_decay) * p
    own, length = np.sqrt(np.sum(p * p)), np.sqrt(np.sum(direction * direction))
    trust = own / length if own > 0 and length > 0 else number(1)
    return p - number(lr) * trust * direction, exp_avg, exp_avg_sq
