"""The two networks and Adam by hand in NumPy. Everything is computed in the dtype of the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

Parameters = dict[str, np.ndarray]


class Mlp:
    """64 - 64 - 10 with relu. Weights are (out, in)."""

    SHAPES = {"0.weight": (64, 64), "0.bias": (64,), "2.weight": (10, 64), "2.bias": (10,)}  # noqa: RUF012

    def forward(self, p: Parameters, images: np.ndarray) -> tuple[np.ndarray, Any]:
        hidden = images @ p["0.weight"].T + p["0.bias"]
        active = np.maximum(hidden, 0)
        return active @ p["2.weight"].T + p["2.bias"], (images, hidden, active)

    def backward(self, p: Parameters, saved: Any, dlogits: np.ndarray) -> Parameters:
        images, hidden, active = saved
        dhidden = (dlogits @ p["2.weight"]) * (hidden > 0)
        return {
            "0.weight": dhidden.T @ images,
            "0.bias": dhidden.sum(0),
            "2.weight": dlogits.T @ active,
            "2.bias": dlogits.sum(0),
        }


class Cnn:
    """Two blocks of 3 by 3 convolution, relu and 2 by 2 pooling, with 8 and 16 channels; then a linear layer."""

    SHAPES = {  # noqa: RUF012
        "1.weight": (8, 1, 3, 3),
        "1.bias": (8,),
        "4.weight": (16, 8, 3, 3),
        "4.bias": (16,),
        "8.weight": (10, 64),
        "8.bias": (10,),
    }

    def forward(self, p: Parameters, images: np.ndarray) -> tuple[np.ndarray, Any]:
        x, first = _block(images.reshape(-1, 1, 8, 8), p["1.weight"], p["1.bias"])
        x, second = _block(x, p["4.weight"], p["4.bias"])
        flat = x.reshape(len(x), -1)
        return flat @ p["8.weight"].T + p["8.bias"], (first, second, flat)

    def backward(self, p: Parameters, saved: Any, dlogits: np.ndarray) -> Parameters:
        first, second, flat = saved
        gradients = {"8.weight": dlogits.T @ flat, "8.bias": dlogits.sum(0)}
        dx = (dlogits @ p["8.weight"]).reshape(len(flat), 16, 2, 2)
        dx, gradients["4.weight"], gradients["4.bias"] = _block_backward(dx, p["4.weight"], second)
        _, gradients["1.weight"], gradients["1.bias"] = _block_backward(dx, p["1.weight"], first)
        return gradients


def _block(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, Any]:
    patches = _patches(x)
    y = np.einsum("nchwij,ocij->nohw", patches, weight, optimize=True) + bias[:, None, None]
    pooled, chosen = _pool(np.maximum(y, 0))
    return pooled, (patches, y, chosen)


def _block_backward(dpooled: np.ndarray, weight: np.ndarray, saved: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    patches, y, chosen = saved
    dy = _unpool(dpooled, chosen) * (y > 0)
    flipped = weight[:, :, ::-1, ::-1]
    dx = np.einsum("nohwij,ocij->nchw", _patches(dy), flipped, optimize=True)
    return dx, np.einsum("nohw,nchwij->ocij", dy, patches, optimize=True), dy.sum((0, 2, 3))


def _patches(x: np.ndarray) -> np.ndarray:
    """The 3 by 3 neighbourhood of each pixel, with zeros outside: (n, c, h, w, 3, 3)."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))


def _windows(x: np.ndarray) -> np.ndarray:
    """The 2 by 2 windows side by side: (n, c, h / 2, w / 2, 4)."""
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)


def _pool(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The greatest value of each window, and which of the four it is: the first one among equals."""
    windows = _windows(x)
    chosen = windows.argmax(-1)
    return np.take_along_axis(windows, chosen[..., None], -1)[..., 0], chosen


def _unpool(dy: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    n, c, h, w = dy.shape
    windows = np.zeros((n, c, h, w, 4), dy.dtype)
    np.put_along_axis(windows, chosen[..., None], dy[..., None], -1)
    return windows.reshape(n, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, 2 * h, 2 * w)


NETWORKS = {"mlp": Mlp, "cnn": Cnn}


def initial(network: Any, seed: int) -> Parameters:
    """Uniform within 1 / sqrt(inputs of an output), as float32 numbers, so that every precision begins alike."""
    rng = np.random.default_rng(seed)
    parameters, bound = {}, 1.0
    for name, shape in network.SHAPES.items():
        if name.endswith("weight"):
            bound = 1 / np.sqrt(np.prod(shape[1:]))
        parameters[name] = rng.uniform(-bound, bound, shape).astype(np.float32)
    return parameters


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean loss, and its gradient for the logits."""
    rows = np.arange(len(labels))
    shifted = logits - logits.max(1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(1))
    gradient = np.exp(shifted - log_sum[:, None])
    gradient[rows, labels] -= 1
    return (log_sum - shifted[rows, labels]).mean(), gradient / gradient.dtype.type(len(labels))


def loss_and_gradients(network: Any, p: Parameters, images: np.ndarray, labels: np.ndarray) -> tuple[float, Parameters]:
    logits, saved = network.forward(p, images.astype(next(iter(p.values())).dtype))
    loss, dlogits = cross_entropy(logits, labels)
    return loss, network.backward(p, saved, dlogits)


class Adam:
    """Adam with bias correction and no weight decay."""

    def __init__(self, lr: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> None:
        self.lr, self.beta1, self.beta2, self.epsilon = lr, beta1, beta2, epsilon
        self.steps = 0
        self.mean: Parameters = {}
        self.square: Parameters = {}

    def step(self, p: Parameters, gradients: Parameters) -> None:
        self.steps += 1
        for name, g in gradients.items():
            mean = self.mean.get(name, np.zeros_like(g)) * self.beta1 + g * (1 - self.beta1)
            square = self.square.get(name, np.zeros_like(g)) * self.beta2 + g * g * (1 - self.beta2)
            self.mean[name], self.square[name] = mean, square
            corrected = mean / (1 - self.beta1**self.steps)
            scale = np.sqrt(square / (1 - self.beta2**self.steps)) + self.epsilon
            p[name] = p[name] - self.lr * corrected / scale


def accuracy(network: Any, p: Parameters, images: np.ndarray, labels: np.ndarray) -> float:
    return float((network.forward(p, images)[0].argmax(1) == labels).mean())
