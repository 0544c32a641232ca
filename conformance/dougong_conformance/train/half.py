"""Training in half precision by hand: float32 parameters, a copy of the network in the narrow dtype, a scaled loss."""

from __future__ import annotations

from typing import Any

from .tasks import Run, Task

GROWTH_INTERVAL = 100  # steps without an overflow before the scale doubles, where there is one


class HalfRun(Run):
    """The narrow network computes; the optimizer moves the float32 parameters, from which it is copied each step.

    The loss is in float32, times ``scale``; gradients that are not finite skip their step and halve the scale.
    """

    def __init__(self, task: Task, dougong: Any, device: str, narrow: str, scale: float = 1.0) -> None:
        super().__init__(task, dougong, device)
        self.narrow = task.build(dougong.nn).to(device, getattr(dougong, narrow))
        self.scale, self.good, self.skipped = scale, 0, 0

    def loss(self, inputs: Any, targets: Any) -> Any:
        self.narrow.load_state_dict(self.model.state_dict())
        self.narrow.zero_grad()
        logits = self.narrow(inputs).float()
        return self.dougong.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))

    def step(self, loss: Any) -> float:
        (loss * self.scale).backward()
        gradients = [part.grad.float() / self.scale for part in self.narrow.parameters()]
        if all(self.dougong.isfinite(g).all().item() for g in gradients):
            for part, gradient in zip(self.model.parameters(), gradients, strict=True):
                part.grad = gradient
            self.optimizer.step()
            self.good += 1
            self.scale *= 2 if self.scale > 1 and self.good % GROWTH_INTERVAL == 0 else 1
        else:
            self.skipped, self.good, self.scale = self.skipped + 1, 0, self.scale / 2
        return loss.item()
