"""Module: what holds parameters, and calls forward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from .. import _capture, _core
from .._autograd import no_grad
from .._core import Tensor
from ._hooks import Hooked


class Parameter(Tensor):
    """A tensor that a module registers as its own, and that needs a gradient.

    It looks at the memory of the tensor that it is made of; it has no history.
    """

    def __new__(cls, data: Tensor, requires_grad: bool = True) -> Parameter:
        self = super().__new__(cls, data)
        self.requires_grad = requires_grad
        return self

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class IncompatibleKeys(NamedTuple):
    """What :meth:`Module.load_state_dict` could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def parse_to(args: tuple[Any, ...], device: Any, dtype: Any) -> tuple[Any, Any]:
    """The device and dtype that the arguments of ``to`` name; None where they name none."""
    for arg in args:
        if isinstance(arg, Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, _core.dtype):
            dtype = arg
        else:
            device = arg
    if dtype is not None and not dtype.is_floating_point:
        raise TypeError(f"a module can be converted to floating-point dtypes only; found {dtype!r}")
    return device, dtype


class Module(Hooked):
    """The base of all layers: a subclass calls ``super().__init__()``, sets its parts as attributes, has ``forward``.

    Parameters, modules and (by ``register_buffer``) buffers are found through the attributes that hold them.
    """

    training: bool

    def __init__(self) -> None:
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, {})
        self._init_hooks()
        object.__setattr__(self, "_non_persistent", set())
        object.__setattr__(self, "training", True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    # -- parts by attribute ----------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        _capture.note_module_change()
        tables = self.__dict__
        if "_parameters" not in tables:
            raise AttributeError(f"{type(self).__name__}: call super().__init__() before an attribute is set")
        if "parametrizations" in tables["_modules"] and name in tables["_modules"]["parametrizations"]:
            tables["_modules"]["parametrizations"][name].assign(value)
        elif isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self.register_module(name, value)
        elif name in tables["_buffers"]:
            self.register_buffer(name, value, name not in tables["_non_persistent"])
        elif name in tables["_parameters"] or name in tables["_modules"]:
            self._clear_part(name, value)
        else:
            object.__setattr__(self, name, value)

    def _clear_part(self, name: str, value: Any) -> None:
        kind = "_parameters" if name in self._parameters else "_modules"
        if value is not None:
            wanted = "an nn.Parameter" if kind == "_parameters" else "an nn.Module"
            raise TypeError(f"{type(self).__name__}.{name} must be {wanted} or None; found {type(value).__name__}")
        getattr(self, kind)[name] = None

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(table, {})
            if name in found:
                return found[name]
        computed = self.__dict__.get("_modules", {}).get("parametrizations")
        if computed is not None and name in computed:
            return computed[name]()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        _capture.note_module_change()
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _claim(self, name: str, table: dict[str, Any]) -> None:
        """Makes sure that `name` is in no other table, and hides no attribute."""
        _capture.note_module_change()
        if not isinstance(name, str) or not name or "." in name:
            raise KeyError(f"a part of a module needs a name without dots; found {name!r}")
        for other in (self._parameters, self._buffers, self._modules):
            if other is not table:
                other.pop(name, None)
        if name not in table and hasattr(type(self), name):
            raise KeyError(f"{type(self).__name__} already has an attribute {name!r}")
        self.__dict__.pop(name, None)

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(f"{name} must be an nn.Parameter or None; found {type(parameter).__name__}")
        if parameter is not None and not parameter.is_leaf:
            raise ValueError(f"{name} has a history: a parameter must be a leaf")
        self._claim(name, self._parameters)
        self._parameters[name] = parameter

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """A tensor that moves with the module but is not trained; in the state dict unless persistent is False."""
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"buffer {name} must be a tensor or None; found {type(tensor).__name__}")
        self._claim(name, self._buffers)
        self._buffers[name] = tensor
        (self._non_persistent.discard if persistent else self._non_persistent.add)(name)

    def register_module(self, name: str, module: Module | None) -> None:
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{name} must be an nn.Module or None; found {type(module).__name__}")
        self._claim(name, self._modules)
        self._modules[name] = module

    add_module = register_module

    # -- walks -----------------------------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        memo = set() if memo is None else memo
        if remove_duplicate and id(self) in memo:
            return
        memo.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, _joined(prefix, name), remove_duplicate)

    def modules(self) -> Iterator[Module]:
        return (module for _, module in self.named_modules())

    def _named_parts(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Tensor]]:
        owners = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        seen: set[int] = set()
        for path, module in owners:
            for name, part in getattr(module, table).items():
                if part is not None and not (remove_duplicate and id(part) in seen):
                    seen.add(id(part))
                    yield _joined(path, name), part

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Each parameter with its path; one that is tied comes once, under its first path."""
        return self._named_parts("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        return self._named_parts("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, path: str) -> Module:
        module = self
        for name in path.split(".") if path else []:
            if module._modules.get(name) is None:
                raise AttributeError(
                    f"{type(self).__name__} has no module {path!r}: {type(module).__name__} has no {name!r}"
                )
            module = module._modules[name]
        return module

    def get_parameter(self, path: str) -> Parameter:
        return self._get_part("_parameters", "parameter", path)

    def get_buffer(self, path: str) -> Tensor:
        return self._get_part("_buffers", "buffer", path)

    def _get_part(self, table: str, kind: str, path: str) -> Any:
        owner, _, name = path.rpartition(".")
        parts = getattr(self.get_submodule(owner), table)
        if parts.get(name) is None:
            raise AttributeError(f"{type(self).__name__} has no {kind} {path!r}")
        return parts[name]

    # -- the whole tree --------------------------------------------------------------------------------------------

    def apply(self, function: Callable[[Module], None]) -> Module:
        """Calls the function on every module, children first."""
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    def train(self, mode: bool = True) -> Module:
        if not isinstance(mode, bool):
            raise ValueError(f"train takes True or False; found {mode!r}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad = parameter.grad.detach().zero_()

    def to(self, *args: Any, device: Any = None, dtype: Any = None) -> Module:
        """Moves parameters, their gradients and buffers; a dtype applies to those that are floating-point.

        The parameters stay the same objects: ties and an optimizer's references hold.
        """
        device, dtype = parse_to(args, device, dtype)
        self._convert(lambda t: t.to(device=device, dtype=dtype if t.dtype.is_floating_point else None))
        return self

    def _convert(self, function: Callable[[Tensor], Tensor]) -> None:
        with no_grad():
            for parameter in self.parameters():
                gradient = parameter.grad
                parameter.grad = None
                parameter.data = function(parameter.data)
                parameter.grad = None if gradient is None else function(gradient)
            moved = {id(buffer): function(buffer) for buffer in self.buffers()}
            for module in self.modules():
                for name, buffer in module._buffers.items():
                    module._buffers[name] = None if buffer is None else moved[id(buffer)]

    def type(self, dtype: _core.dtype) -> Module:
        return self.to(dtype=dtype)

    def cpu(self) -> Module:
        return self.to(device="cpu:0")

    def float(self) -> Module:
        return self.to(dtype=_core.float32)

    def double(self) -> Module:
        return self.to(dtype=_core.float64)

    def half(self) -> Module:
        return self.to(dtype=_core.float16)

    def bfloat16(self) -> Module:
        return self.to(dtype=_core.bfloat16)

    # -- state -----------------------------------------------------------------------------------------------------

    def state_dict(self, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """Every parameter and persistent buffer by its path: the same memory, without history unless `keep_vars`.

        `prefix` is put before each path; one that is not empty ends with a dot.
        """
        state: dict[str, Tensor] = {}
        self._save_state(state, prefix, keep_vars)
        return state

    def _save_state(self, state: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for hook in tuple(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        for name, part in self._own_state(prefix):
            state[name] = part if keep_vars else part.detach()
        for name, module in self._modules.items():
            if module is not None:
                module._save_state(state, f"{prefix}{name}.", keep_vars)
        for hook in tuple(self._state_dict_hooks.values()):
            hook(self, state, prefix, {})

    def _own_state(self, prefix: str) -> Iterator[tuple[str, Tensor]]:
        for name, part in [*self._parameters.items(), *self._buffers.items()]:
            if part is not None and name not in self._non_persistent:
                yield prefix + name, part

    def _prefixed_modules(self) -> Iterator[tuple[str, Module]]:
        for path, module in self.named_modules(remove_duplicate=False):
            yield f"{path}." if path else "", module

    def load_state_dict(self, state_dict: Mapping[str, Tensor], strict: bool = True) -> IncompatibleKeys:
        """Copies values in, whatever device or dtype they are on. If anything does not fit, nothing is changed.

        What has no place is returned with what is missing, and is an error if `strict`.
        """
        state = dict(state_dict)
        missing: list[str] = []
        unexpected: list[str] = []
        problems: list[str] = []
        for prefix, module in self._prefixed_modules():
            for hook in tuple(module._load_state_dict_pre_hooks.values()):
                hook(module, state, prefix, {}, strict, missing, unexpected, problems)
        own = {name: part for prefix, module in self._prefixed_modules() for name, part in module._own_state(prefix)}
        missing += [name for name in own if name not in state]
        unexpected += [name for name in state if name not in own]
        problems += _mismatches(own, state)
        if strict:
            problems += [f"missing: {', '.join(missing)}"] if missing else []
            problems += [f"unexpected: {', '.join(unexpected)}"] if unexpected else []
        if problems:
            raise _core.InvalidArgumentError(
                f"the state does not fit {type(self).__name__}, and nothing was loaded:\n  " + "\n  ".join(problems)
            )
        with no_grad():
            for name, part in own.items():
                if name in state:
                    part.copy_(state[name])
        incompatible = IncompatibleKeys(missing, unexpected)
        for module in self.modules():
            for hook in tuple(module._load_state_dict_post_hooks.values()):
                hook(module, incompatible)
        return incompatible

    # -- for people ------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What __repr__ says between the parentheses, besides the children."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): {module!r}".replace("\n", "\n  ") for name, module in self._modules.items()]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        inside = "\n  ".join(([extra] if extra else []) + lines)
        return f"{type(self).__name__}(\n  {inside}\n)"


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _mismatches(own: Mapping[str, Tensor], state: Mapping[str, Any]) -> list[str]:
    problems = []
    for name, part in own.items():
        value = state.get(name, part)
        if not isinstance(value, Tensor):
            problems.append(f"{name}: wanted a tensor, found {type(value).__name__}")
        elif value.shape != part.shape:
            problems.append(f"{name}: the module has shape {part.shape}, the state {value.shape}")
    return problems
