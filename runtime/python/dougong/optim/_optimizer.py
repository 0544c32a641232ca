"""What all optimizers share: groups of parameters, and state that can be saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .. import _capture, _core, _creation
from .._autograd import enable_grad, no_grad
from .._core import Tensor


class Optimizer:
    """Changes parameters by their gradients; a parameter without a gradient is left alone.

    Parameters are tensors, or (name, tensor) pairs as from ``named_parameters()``, or dicts with "params" and options
    of their own. Their state is keyed by name, or else by the position among *all* parameters given: whether one is
    frozen, or has a gradient, does not move the others.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = _capture.checked_step(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError("an optimizer takes parameters in a list or another iterable; found one tensor")
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = {}
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("an optimizer needs at least one parameter; found none")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    # -- groups ----------------------------------------------------------------------------------------------------

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Adds parameters with options of their own; what is not given comes from the defaults."""
        if not isinstance(group, Mapping) or "params" not in group:
            raise TypeError('a parameter group is a dict with the key "params"')
        unknown = set(group) - set(self.defaults) - {"params", "initial_lr", "param_names"}
        if unknown:
            raise ValueError(f"{type(self).__name__} has no option {', '.join(sorted(map(str, unknown)))}")
        names, params = _names_and_parameters(group["params"])
        self._check_new(names, params)
        options = {**self.defaults, **{k: v for k, v in group.items() if k != "params"}}
        self._check_options(options)
        if names:
            options["param_names"] = names
        self.param_groups.append({"params": params, **options})

    def _check_options(self, options: Mapping[str, Any]) -> None:
        """Raises ValueError for an option out of range."""

    def _check_new(self, names: list[str], params: list[Tensor]) -> None:
        if self.param_groups and bool(names) != ("param_names" in self.param_groups[0]):
            raise ValueError("either all parameter groups have names or none has")
        known = {id(p) for group in self.param_groups for p in group["params"]}
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise TypeError(f"an optimizer changes tensors; found {type(parameter).__name__}")
            if not parameter.is_leaf:
                raise ValueError("an optimizer can only change leaves; found a tensor with a history")
            if id(parameter) in known:
                raise ValueError(f"a parameter of shape {parameter.shape} is given twice")
            known.add(id(parameter))
        taken = {name for group in self.param_groups for name in group.get("param_names", ())}
        twice = [name for name in names if name in taken or names.count(name) > 1]
        if twice:
            raise ValueError(f"two parameters have the name {twice[0]!r}")

    def _keyed_parameters(self) -> Iterator[tuple[Any, Tensor]]:
        position = 0
        for group in self.param_groups:
            for i, parameter in enumerate(group["params"]):
                yield (group["param_names"][i] if "param_names" in group else position), parameter
                position += 1

    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad = parameter.grad.detach().zero_()

    # -- steps -----------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step. A closure is called first, with gradients enabled, and its result is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            updates = [
                (parameter, gradient, group)
                for group in self.param_groups
                for parameter in group["params"]
                if (gradient := parameter.grad) is not None
            ]
            if _core._recording():
                _capture.note_updates(self, updates)
            else:
                self._apply(updates)
        return loss

    def _apply(self, updates: Iterable[tuple[Tensor, Tensor, dict[str, Any]]]) -> None:
        """The updates of (parameter, gradient, group). Before a replay they are called without being run."""
        for parameter, gradient, group in updates:
            self._update(parameter, _fitted_gradient(parameter, gradient), group)

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no step")

    def _state_tensor(self, parameter: Tensor, name: str) -> Tensor:
        """A state tensor like the parameter, zeros at first, on the device where the parameter is now."""
        state = self.state.setdefault(parameter, {})
        found = state.get(name)
        if found is None:
            found = state[name] = _core._unrecorded(lambda: _creation.zeros_like(parameter))
        elif found.device != parameter.device or found.dtype != parameter.dtype:
            found = state[name] = found.to(device=parameter.device, dtype=parameter.dtype)
        return found

    # -- saving ----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """State by key and the options of each group, for :func:`dougong.save`."""
        keys = {id(parameter): key for key, parameter in self._keyed_parameters()}
        groups = [
            {
                **{k: v for k, v in group.items() if k not in ("params", "param_names")},
                "params": [keys[id(p)] for p in group["params"]],
                "shapes": [list(p.shape) for p in group["params"]],
            }
            for group in self.param_groups
        ]
        state = {keys[id(parameter)]: dict(values) for parameter, values in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over options and state, each on its parameter's device. If anything does not fit, nothing changes."""
        own, groups = dict(self._keyed_parameters()), list(state_dict["param_groups"])
        self._check_loaded(groups, own, state_dict["state"])
        fresh = {own[key]: _on_device_of(own[key], values) for key, values in state_dict["state"].items()}
        for group, loaded in zip(self.param_groups, groups, strict=True):
            group.update({k: v for k, v in loaded.items() if k not in ("params", "shapes")})
        self.state = fresh

    def _check_loaded(self, groups: list[Mapping[str, Any]], own: dict[Any, Tensor], state: Mapping[Any, Any]) -> None:
        ours = [list(group["params"]) for group in self.state_dict()["param_groups"]]
        theirs = [list(group["params"]) for group in groups]
        if ours != theirs:
            raise _core.InvalidArgumentError(
                "the saved state is of other parameters: "
                f"the optimizer has {_described(ours)}, the state {_described(theirs)}"
            )
        for group in groups:
            for key, shape in zip(group["params"], group.get("shapes", ()), strict=False):
                if tuple(shape) != own[key].shape:
                    raise _core.InvalidArgumentError(
                        f"parameter {key!r} has shape {own[key].shape}, its saved state is of shape {tuple(shape)}"
                    )
        strange = [key for key in state if key not in own]
        if strange:
            raise _core.InvalidArgumentError(f"the saved state has no parameter for {strange[0]!r}")

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"  group {i}: {len(group['params'])} parameters")
            lines += [f"    {k}: {v}" for k, v in group.items() if k not in ("params", "param_names")]
        return "\n".join([*lines, ")"])


def _names_and_parameters(params: Any) -> tuple[list[str], list[Tensor]]:
    if isinstance(params, Tensor):
        return [], [params]
    if isinstance(params, (set, frozenset)):
        raise TypeError("parameters need an order: give a list, not a set")
    items = list(params)
    named = [isinstance(item, tuple) for item in items]
    if not any(named):
        return [], items
    if not all(named):
        raise ValueError("either all parameters of a group have names or none has")
    return [name for name, _ in items], [parameter for _, parameter in items]


def _fitted_gradient(parameter: Tensor, gradient: Tensor) -> Tensor:
    if gradient.device != parameter.device:
        raise _core.InvalidArgumentError(f"a parameter is on {parameter.device}, its gradient on {gradient.device}")
    return gradient if gradient.dtype == parameter.dtype else gradient.to(dtype=parameter.dtype)


def _on_device_of(parameter: Tensor, values: Mapping[str, Any]) -> dict[str, Any]:
    def fitted(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        dtype = parameter.dtype if value.dtype.is_floating_point else value.dtype
        return value.detach().to(device=parameter.device, dtype=dtype, copy=True)

    return {name: fitted(value) for name, value in values.items()}


def _described(groups: list[list[Any]]) -> str:
    texts = [", ".join(map(str, keys[:4])) + (", ..." if len(keys) > 4 else "") for keys in groups]
    return " and ".join(f"{len(keys)} ({text})" for keys, text in zip(groups, texts, strict=True))


def check_not_negative(**options: float) -> None:
    for name, value in options.items():
        if not value >= 0:
            raise ValueError(f"{name} may not be negative; found {value}")
