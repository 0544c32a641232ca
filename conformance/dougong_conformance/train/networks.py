"""The networks of `reference` as a user of dougong writes them, and the loop that trains them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from . import reference


def build(dougong: Any, name: str, device: str, seed: int) -> Any:
    """The network ``mlp`` or ``cnn`` with the reference's initial parameters."""
    model = _LAYERS[name](dougong.nn)
    values = reference.initial(reference.NETWORKS[name], seed)
    model.load_state_dict({key: dougong.tensor(value) for key, value in values.items()})
    return model.to(device)


def _mlp(nn: Any) -> Any:
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def _cnn(nn: Any) -> Any:
    class ToImages(nn.Module):
        """Rows of 64 pixels as images with one channel."""

        def forward(self, rows: Any) -> Any:
            return rows.reshape(rows.shape[0], 1, 8, 8)

    def block(channels: int, out_channels: int) -> list[Any]:
        return [nn.Conv2d(channels, out_channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]

    return nn.Sequential(ToImages(), *block(1, 8), *block(8, 16), nn.Flatten(), nn.Linear(64, 10))


_LAYERS = {"mlp": _mlp, "cnn": _cnn}


def train(dougong: Any, model: Any, optimizer: Any, batches: Iterable[Any], device: str) -> Iterator[float]:
    """One step a batch; yields its loss."""
    for images, labels in batches:
        optimizer.zero_grad()
        loss = dougong.nn.functional.cross_entropy(
            model(dougong.tensor(images, device=device)), dougong.tensor(labels, device=device)
        )
        loss.backward()
        optimizer.step()
        yield loss.item()


def accuracy(dougong: Any, model: Any, images: np.ndarray, labels: np.ndarray, device: str) -> float:
    with dougong.no_grad():
        found = model(dougong.tensor(images, device=device)).argmax(1)
    return float((found.cpu().numpy() == labels).mean())


def parameters(model: Any) -> dict[str, np.ndarray]:
    return {name: part.detach().cpu().numpy().copy() for name, part in model.named_parameters()}


def gradients(model: Any) -> dict[str, np.ndarray]:
    return {name: part.grad.cpu().numpy().copy() for name, part in model.named_parameters()}
