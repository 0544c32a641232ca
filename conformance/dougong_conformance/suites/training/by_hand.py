"""Two networks of the digits that follow a float64 run written by hand in NumPy, and learn."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from ... import moved, tolerance
from ...case import Case, Context, Fail
from ...session import Session
from ...train import digits, networks, reference
from .common import case, require_determinism

ACCURACY = 0.96
DRIFT = 1e-5  # relative, of float32 against float64: some thirty times what good float32 runs show
DRIFT_STEPS = 100
SEED = 0
EPOCHS = {"mlp": 25, "cnn": 20}
RATE = {"mlp": 3e-3, "cnn": 1e-2}


def cases(context: Context) -> Iterator[Case]:
    for network in reference.NETWORKS:
        for name, rules, function in ABOUT_NETWORKS:
            yield case(f"{network}/{name}", rules, functools.partial(function, network), function)


class Run:
    """A network on the device, with its optimizer and its batches."""

    def __init__(self, session: Session, network: str) -> None:
        self.dougong, self.device, self.network = session.load_runtime(), session.device_string, network
        self.model = networks.build(self.dougong, network, self.device, SEED)
        self.optimizer = self.dougong.optim.Adam(self.model.parameters(), lr=RATE[network])

    def losses(self) -> Iterator[float]:
        batches = digits.load().batches(EPOCHS[self.network], SEED)
        return networks.train(self.dougong, self.model, self.optimizer, batches, self.device)


# -- the two networks ----------------------------------------------------------------------------------------------


def one_step(network: str, session: Session) -> None:
    """The gradients of one step are those of float64 within the bound, each parameter moves, and as it should."""
    run = Run(session, network)
    images, labels = next(digits.load().batches(1, SEED))
    before = networks.parameters(run.model)
    (loss,) = itertools.islice(run.losses(), 1)
    session.note(f"loss {loss:.4f}")
    _compare(network, "the gradient", networks.gradients(run.model), before, _gradients, images, labels)
    after = networks.parameters(run.model)
    for name, value in after.items():
        if np.array_equal(value, before[name]):
            raise Fail(f"{name} did not change in one step")
    _compare(network, "one step later, the parameter", after, before, _stepped, images, labels)


def _gradients(network: str, images: np.ndarray, labels: np.ndarray, *values: np.ndarray) -> list[np.ndarray]:
    shape = reference.NETWORKS[network]()
    p = dict(zip(shape.SHAPES, values, strict=True))
    gradients = reference.loss_and_gradients(shape, p, images, labels)[1]
    return [gradients[name] for name in shape.SHAPES]


def _stepped(network: str, images: np.ndarray, labels: np.ndarray, *values: np.ndarray) -> list[np.ndarray]:
    names = list(reference.NETWORKS[network].SHAPES)
    p = dict(zip(names, values, strict=True))
    gradients = _gradients(network, images, labels, *values)
    reference.Adam(RATE[network]).step(p, dict(zip(names, gradients, strict=True)))
    return [p[name] for name in names]


def _compare(
    network: str,
    what: str,
    found: dict[str, np.ndarray],
    before: dict[str, np.ndarray],
    function: Callable[..., list[np.ndarray]],
    images: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Found values against ``function`` of the initial parameters in float64, within the bound of class C."""
    names = list(reference.NETWORKS[network].SHAPES)
    compute = functools.partial(function, network, images, labels)
    starts = [before[name] for name in names]
    wanted = compute(*[start.astype(np.float64) for start in starts])
    errors = moved.expected_errors(compute, starts, wanted, SEED)
    for name, value, error in zip(names, wanted, errors, strict=True):
        if not np.isfinite(found[name]).all():
            raise Fail(f"{what} {name} is not finite")
        judgement = tolerance.composite(found[name], value, error)
        if not judgement.right:
            raise Fail(f"{what} {name}: {judgement.reason}", _worst(found[name], value))


def _worst(found: np.ndarray, wanted: np.ndarray) -> str:
    place = np.unravel_index(np.argmax(np.abs(found - wanted)), wanted.shape)
    index = tuple(map(int, place))
    return f"furthest off at {index}: wanted {float(wanted[index])!r}, found {float(found[index])!r}"


def curve(network: str, session: Session) -> None:
    """The losses of the first hundred steps stay within 1e-5 of a float64 run in NumPy with the same batches."""
    found = np.array(list(itertools.islice(Run(session, network).losses(), DRIFT_STEPS)))
    wanted = _reference_losses(network)
    drift = np.abs(found - wanted) / wanted
    worst = int(np.argmax(np.where(np.isnan(drift), np.inf, drift)))
    session.note(f"largest relative distance of the loss from float64: {drift[worst]:.2g} at step {worst}")
    if not np.all(drift <= DRIFT):
        first = int(np.argmax(~(drift <= DRIFT)))
        raise Fail(
            f"the loss of step {first} is {float(found[first])!r}, of a float64 run {float(wanted[first])!r}: "
            f"further apart than {DRIFT:g} relative (largest: {drift[worst]:.2g} at step {worst})"
        )


@functools.cache
def _reference_losses(network: str) -> np.ndarray:
    shape = reference.NETWORKS[network]()
    p = {name: value.astype(np.float64) for name, value in reference.initial(shape, SEED).items()}
    adam, losses = reference.Adam(RATE[network]), []
    for images, labels in itertools.islice(digits.load().batches(EPOCHS[network], SEED), DRIFT_STEPS):
        loss, gradients = reference.loss_and_gradients(shape, p, images, labels)
        adam.step(p, gradients)
        losses.append(loss)
    return np.array(losses)


def learns(network: str, session: Session) -> None:
    """The network learns to tell digits apart: at least 0.96 of those that it has not seen."""
    run, data = Run(session, network), digits.load()
    losses = list(run.losses())
    reached = networks.accuracy(run.dougong, run.model, data.held_out_images, data.held_out_labels, run.device)
    session.note(f"held-out accuracy {reached:.4f} after {len(losses)} steps, last loss {losses[-1]:.4f}")
    if not reached >= ACCURACY:
        raise Fail(f"the held-out accuracy is {reached:.4f} after {len(losses)} steps; wanted at least {ACCURACY}")


def repeats(network: str, session: Session) -> None:
    """On a device that declares determinism, training twice gives the same losses and parameters, bit for bit."""
    require_determinism(session)
    first, second = (_trained(session, network) for _ in range(2))
    session.note(f"loss {first['the losses'][-1]:.4f} after {len(first['the losses'])} steps, twice")
    for name, (a, b) in {name: (first[name], second[name]) for name in first}.items():
        if a.tobytes() != b.tobytes():
            raise Fail(f"two equal runs end with other bits in {name}, and the device declares DG_DEVICE_DETERMINISTIC")


def _trained(session: Session, network: str) -> dict[str, np.ndarray]:
    run = Run(session, network)
    losses = np.array(list(itertools.islice(run.losses(), 30)))
    return {"the losses": losses, **networks.parameters(run.model)}


ABOUT_NETWORKS = (
    ("one-step", ("RUN-008",), one_step),
    ("curve", ("RUN-005",), curve),
    ("repeats", ("RUN-009",), repeats),
    ("learns", ("RUN-003",), learns),
)
