"""Networks as a user of dougong writes them. Each gives logits with the classes last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def gpt(
    nn: Any,
    classes: int,
    length: int,
    width: int = 48,
    heads: int = 4,
    layers: int = 1,
    dropout: float = 0.0,
    around: Callable[..., Any] | None = None,
) -> Any:
    """A decoder alone: (batch, positions) codes to (batch, positions, classes). ``around(block, x)`` calls a block."""

    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.position = nn.Embedding(classes, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([self.block() for _ in range(layers)])
            self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, classes)

        def block(self) -> Any:
            options = {"dropout": dropout, "activation": "gelu", "batch_first": True, "norm_first": True}
            return nn.TransformerEncoderLayer(width, heads, 4 * width, **options)

        def forward(self, codes: Any) -> Any:
            x = self.token(codes) + self.position.weight[: codes.shape[1]]
            for block in self.blocks:
                x = block(x, is_causal=True) if around is None else around(lambda y, b=block: b(y, is_causal=True), x)
            return self.out(self.norm(x))

    return Gpt()


def rows(nn: Any, classes: int, width: int = 48) -> Any:
    """An LSTM that reads an image of 8 by 8 as a sequence of 8 rows: (batch, 64) to (batch, classes)."""

    class Rows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.out = nn.LSTM(8, width, batch_first=True), nn.Linear(width, classes)

        def forward(self, images: Any) -> Any:
            states, _ = self.lstm(images.reshape(images.shape[0], 8, 8))
            return self.out(states[:, -1])

    return Rows()


def resnet(nn: Any, classes: int, width: int = 8) -> Any:
    """Two residual blocks with batch norms, the second with stride 2, then the mean over the image."""

    class Block(nn.Module):
        def __init__(self, channels: int, out_channels: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(channels, out_channels, 3, stride=stride, padding=1, bias=False)
            self.second = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
            self.norms = nn.ModuleList([nn.BatchNorm2d(out_channels), nn.BatchNorm2d(out_channels)])
            self.short = (
                None if stride == 1 and channels == out_channels else self._short(channels, out_channels, stride)
            )

        def _short(self, channels: int, out_channels: int, stride: int) -> Any:
            convolution = nn.Conv2d(channels, out_channels, 1, stride=stride, bias=False)
            return nn.Sequential(convolution, nn.BatchNorm2d(out_channels))

        def forward(self, x: Any) -> Any:
            y = self.norms[1](self.second(self.norms[0](self.first(x)).relu()))
            return (y + (x if self.short is None else self.short(x))).relu()

    class Resnet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.norm = nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
            self.blocks = nn.Sequential(Block(width, width, 1), Block(width, 2 * width, 2))
            self.out = nn.Linear(2 * width, classes)

        def forward(self, images: Any) -> Any:
            x = self.norm(self.stem(images.reshape(images.shape[0], 1, 8, 8))).relu()
            return self.out(self.blocks(x).mean((2, 3)))

    return Resnet()
