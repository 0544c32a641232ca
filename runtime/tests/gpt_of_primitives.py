"""Trains a small GPT on a device that has some kernels only: `gpt_of_primitives.py LIBRARY DEVICE`, in strict mode."""

from __future__ import annotations

import dougong
from dougong import Tensor, nn
from dougong.nn import functional as F

WORDS, WIDTH, HEADS, LENGTH, BATCH = 17, 16, 2, 8, 3


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def attend(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        parts = self.qkv(x).reshape(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        return self.out(y.permute(0, 2, 1, 3).reshape(batch, length, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Embeddings, two blocks, and a head that shares the table of the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, index: Tensor) -> Tensor:
        places = dougong.arange(index.shape[1], device=index.device)
        x = self.blocks(self.words(index) + self.places(places))
        return F.linear(self.norm(x), self.words.weight)


def train(device: str, steps: int) -> list[float]:
    """The loss of each step, computed on the device alone: what it cannot do raises UnsupportedError."""
    dougong.manual_seed(1)
    model = GPT().to(device)
    optimizer = dougong.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    text = dougong.tensor([[(i * i + b) % WORDS for i in range(LENGTH + 1)] for b in range(BATCH)], device=device)
    losses = []
    with dougong.strict():
        for _ in range(steps):
            optimizer.zero_grad()
            scores = model(text[:, :-1])
            loss = F.cross_entropy(scores.reshape(BATCH * LENGTH, WORDS), text[:, 1:].reshape(BATCH * LENGTH))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    return losses
