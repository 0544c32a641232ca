"""What a capture of :func:`dougong.jit` notes beside the recorded calls: what Python would have done in each of them.

The hooks are called by generators, optimizers, schedulers and modules, and do nothing unless this thread records.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from . import _core
from ._autograd import no_grad
from ._core import Tensor

_thread = threading.local()
ambient: list[Callable[[], Any]] = [_core.is_grad_enabled, _core._ledger_strict, lambda: str(_core.device(None))]
"""What calls depend on beside their arguments: functions of hashable values. Each value has a capture of its own."""
module_changes = 0  # how often an attribute or a part of any module was set


def by_numbers(update: Callable[..., None]) -> Callable[..., None]:
    """Marks an optimizer's ``_update`` whose attributes depend on the numbers of the group and of the parameter's state
    alone: parameters with the same numbers then need one rehearsal for all of them."""
    update.by_numbers = True  # type: ignore[attr-defined]
    return update


class _Update:
    """The update of one parameter, and the calls that it made."""

    def __init__(self, optimizer: Any, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        self.parameter = parameter
        self.begin = _core._record_position()
        _core._record_varying(lambda: optimizer._apply([(parameter, gradient, group)]))
        self.count = _core._record_position() - self.begin
        self.call = (parameter, _core._stand_in(gradient), group)
        self.state: dict[str, Any] = optimizer.state.get(parameter, {})
        self.tensors = [(name, value) for name, value in self.state.items() if isinstance(value, Tensor)]

    def numbers(self) -> dict[str, Any]:
        return {name: value for name, value in self.state.items() if not isinstance(value, Tensor)}

    def is_like(self, numbers: dict[str, Any]) -> bool:
        """Whether the state has these numbers, and the tensors that it had when it was captured."""
        state = self.state
        for name, tensor in self.tensors:
            if state.get(name) is not tensor:
                return False
        for name, number in numbers.items():
            if state.get(name) != number:
                return False
        return len(state) == len(self.tensors) + len(numbers)


class Updates:
    """The updates of one optimizer step: before each replay they are rehearsed, so that steps and rates go on."""

    def __init__(self, optimizer: Any, updates: list[tuple[Tensor, Tensor, dict[str, Any]]]) -> None:
        self.optimizer = optimizer
        self.updates = [_Update(optimizer, *update) for update in updates]
        self.groups = self._groups()
        self.options = self._options()
        self.classes: list[list[_Update]] = []  # updates that pass the same numbers

    def _groups(self) -> list[int]:
        return [len(group["params"]) for group in self.optimizer.param_groups]

    def _options(self) -> list[dict[str, Any]]:
        groups = self.optimizer.param_groups
        return [{name: value for name, value in group.items() if name != "params"} for group in groups]

    def check_options(self, effects: list[Any]) -> None:
        """Refuses options that were set after the step by something that will not be called for a replay."""
        stepped = any(isinstance(e, Step) and e.scheduler.optimizer is self.optimizer for e in effects)
        if not stepped and self.options != self._options():
            raise _core.UnsupportedError(
                "jit: the call changes the options of an optimizer, and a replay would not; do it outside of the "
                "function"
            )

    def bind(self, recording: Any) -> None:
        classes: dict[Any, list[_Update]] = {}
        marked = getattr(type(self.optimizer)._update, "by_numbers", False)
        for update in self.updates:
            pattern = recording.pattern(update.begin, update.count) if marked else None
            key = (pattern, id(update.call[2]), repr(update.numbers())) if pattern else update.begin
            classes.setdefault(key, []).append(update)
        self.classes = list(classes.values())

    def save(self) -> Callable[[], None]:
        state = self.optimizer.state
        numbers = {u.parameter: dict(state[u.parameter]) for u in self.updates if u.parameter in state}
        return lambda: state.update(numbers)

    def replay(self, recording: Any) -> None:
        if self.groups != self._groups():
            raise _core.UnsupportedError("jit: the optimizer has other parameters than when it was captured")
        for updates in self.classes:
            if len(updates) > 1 and self._are_alike(updates):
                self._rehearse_first(recording, updates)
            else:
                for update in updates:
                    self._rehearse(recording, update)

    def _are_alike(self, updates: list[_Update]) -> bool:
        state, numbers = self.optimizer.state, updates[0].numbers()
        return all(state.get(u.parameter, u.state) is u.state and u.is_like(numbers) for u in updates)

    def _rehearse(self, recording: Any, update: _Update) -> None:
        recording.rehearse(update.begin, update.begin + update.count, lambda: self.optimizer._apply([update.call]))

    def _rehearse_first(self, recording: Any, updates: list[_Update]) -> None:
        first, *others = updates
        self._rehearse(recording, first)
        recording.share(first.begin, first.count, [update.begin for update in others])
        numbers = first.numbers()
        for update in others:
            update.state.update(numbers)


class Step:
    """A scheduler's step, which runs before each replay."""

    def __init__(self, scheduler: Any) -> None:
        self.scheduler = scheduler

    def save(self) -> Callable[[], None]:
        groups = self.scheduler.optimizer.param_groups
        rates, own = [group["lr"] for group in groups], dict(vars(self.scheduler))

        def undo() -> None:
            vars(self.scheduler).update(own)
            for group, rate in zip(groups, rates, strict=True):
                group["lr"] = rate

        return undo

    def replay(self, recording: Any) -> None:
        self.scheduler.step()


class Draws:
    """The draws from one generator: a replay draws the numbers that come next."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator
        self.seed, self.start = generator.get_state()
        self.used = 0
        self.taken: list[tuple[int, int]] = []  # first counter, and the one behind the last
        self.calls: list[tuple[int, int]] = []  # number of the call, counters from the start

    def claim(self, call: int, seed: int, offset: int) -> bool:
        mine = seed == self.seed and any(first <= offset < end for first, end in self.taken)
        if mine:
            self.calls.append((call, offset - self.start))
        return mine

    def replay(self, recording: Any, seed: int, offset: int) -> None:
        for call, counters in self.calls:
            recording.set_random(call, seed, offset + counters)
        self.generator.set_state((seed, offset + self.used))


class Snapshot:
    """The attributes and parts of a module, by identity."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.values = _attributes(module)

    def changed(self) -> list[str]:
        now = _attributes(self.module)
        names = [*self.values, *(name for name in now if name not in self.values)]
        missing = object()
        return [n for n in names if not _same(self.values.get(n, missing), now.get(n, missing))]


def _attributes(module: Any) -> dict[str, Any]:
    values = {}
    for name, value in vars(module).items():
        if isinstance(value, dict) and name.startswith("_"):
            values.update({f"{name}.{key}": part for key, part in value.items()})
        else:
            values[name] = value
    return values


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, (bool, int, float, str)) and type(a) is type(b) and a == b)


class Capture:
    """Notes of one capture, while it is made and for its replays."""

    def __init__(self) -> None:
        self.effects: list[Any] = []
        self.draws: dict[int, Draws] = {}
        self.modules: dict[int, Snapshot] = {}
        self.module_changes = 0

    def __enter__(self) -> Capture:
        _core._record()
        _thread.capture = self
        return self

    def __exit__(self, *_: object) -> None:
        _thread.capture = None
        _core._record_abort()

    def close(self) -> list[tuple[Any, str]]:
        """Ends the notes; returns the modules' attributes that the calls have set."""
        for draws in self.draws.values():
            draws.used = draws.generator.get_state()[1] - draws.start
        for effect in self.effects:
            if isinstance(effect, Updates):
                effect.check_options(self.effects)
        changed = [(s.module, name) for s in self.modules.values() for name in s.changed()]
        self.modules = {key: Snapshot(snapshot.module) for key, snapshot in self.modules.items()}
        self.module_changes = module_changes
        return changed

    def modules_fit(self) -> bool:
        """Whether the modules are as they were when the calls were captured."""
        if self.module_changes != module_changes:
            if any(snapshot.changed() for snapshot in self.modules.values()):
                return False
            self.module_changes = module_changes
        return True

    def bind(self, recording: Any) -> None:
        for call, seed, offset in recording.random_calls():
            any(draws.claim(call, seed, offset) for draws in self.draws.values())
        for effect in self.effects:
            if isinstance(effect, Updates):
                effect.bind(recording)

    def prepare(self, recording: Any) -> None:
        """Does what Python would have done by now. If a part of it fails, none of it was done."""
        undo = [effect.save() for effect in self.effects]
        states = [draws.generator.get_state() for draws in self.draws.values()]
        try:
            with no_grad():
                for effect in self.effects:
                    effect.replay(recording)
        except BaseException:
            for restore in undo:
                restore()
            raise
        for draws, (seed, offset) in zip(self.draws.values(), states, strict=True):
            draws.replay(recording, seed, offset)


# ---- Hooks, for a thread that is recording -----------------------------------------------------------------------


def note_updates(optimizer: Any, updates: list[tuple[Tensor, Tensor, dict[str, Any]]]) -> None:
    _thread.capture.effects.append(Updates(optimizer, updates))


def checked_step(step: Callable[..., Any]) -> Callable[..., Any]:
    """An optimizer's own ``step``, which is refused while recording unless it comes to ``Optimizer.step``."""

    @functools.wraps(step)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _core._recording():
            return step(self, *args, **kwargs)
        effects = _thread.capture.effects
        known = len(effects)
        result = step(self, *args, **kwargs)
        if not any(isinstance(e, Updates) and e.optimizer is self for e in effects[known:]):
            raise _core.UnsupportedError(
                f"jit: the step of {type(self).__name__} cannot be replayed: its numbers would be frozen. Give the "
                "optimizer an _update of one parameter, which Optimizer.step calls"
            )
        return result

    return checked


def note_step(scheduler: Any) -> None:
    _thread.capture.effects.append(Step(scheduler))


def note_module(module: Any) -> None:
    modules = _thread.capture.modules
    if id(module) not in modules:
        modules[id(module)] = Snapshot(module)


def note_draw(generator: Any, counters: int) -> None:
    draws = _thread.capture.draws.setdefault(id(generator), Draws(generator))
    draws.taken.append((generator.offset, generator.offset + max(counters, 1)))


def check_seeding(generator: Any, seed: int, offset: int) -> None:
    """A generator may go back to a state of the same call, as recomputation does; another state would be frozen."""
    draws = _thread.capture.draws.setdefault(id(generator), Draws(generator))
    if seed != draws.seed or not draws.start <= offset <= max([draws.start, *(end for _, end in draws.taken)]):
        raise _core.UnsupportedError(
            "jit: the state of a generator is set within the call to one that does not come from the same call; each "
            "replay would draw the same numbers. Seed it outside of the function"
        )


def note_module_change() -> None:
    global module_changes
    module_changes += 1
