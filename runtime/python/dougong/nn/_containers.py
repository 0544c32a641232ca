"""Modules that hold modules."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._core import Tensor
from ._module import Module, Parameter


class _Indexed(Module):
    """Children named 0, 1, 2, ..."""

    def _name(self, index: Any) -> str:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} modules")
        return list(self._modules)[index]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)._of(list(self._modules.values())[index])
        return self._modules[self._name(index)]

    @classmethod
    def _of(cls, modules: list[Module]) -> Any:
        raise NotImplementedError

    def __setitem__(self, index: int, module: Module) -> None:
        self.register_module(self._name(index), module)

    def __delitem__(self, index: int) -> None:
        del self._modules[self._name(index)]
        kept = list(self._modules.values())
        self._modules.clear()
        self.extend(kept)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(list(self._modules.values()))

    def append(self, module: Module) -> Any:
        self.register_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Puts a module before the one at the index, as a list does."""
        kept = list(self._modules.values())
        kept.insert(index, module)
        self._modules.clear()
        return self.extend(kept)

    def pop(self, index: int = -1) -> Module:
        module = self[index]
        del self[index]
        return module

    def extend(self, modules: Iterable[Module]) -> Any:
        for module in modules:
            self.append(module)
        return self


class Sequential(_Indexed):
    """Modules called one after the other: ``Sequential(a, b)``, or ``Sequential({"first": a, "second": b})``."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.register_module(name, module)
        else:
            self.extend(modules)

    @classmethod
    def _of(cls, modules: list[Module]) -> Sequential:
        return cls(*modules)

    def forward(self, x: Any) -> Any:
        for module in self._modules.values():
            x = module(x)
        return x


class ModuleList(_Indexed):
    """A list whose modules are parts of the module that holds it."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    @classmethod
    def _of(cls, modules: list[Module]) -> ModuleList:
        return cls(modules)


class ModuleDict(Module):
    """A dictionary whose modules are parts of the module that holds it."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()) -> None:
        super().__init__()
        self.update(modules)

    def __getitem__(self, name: str) -> Module:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self._modules.pop(name, None)
        self.register_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def pop(self, name: str) -> Module:
        return self._modules.pop(name)

    def clear(self) -> None:
        self._modules.clear()

    def keys(self) -> Iterable[str]:
        return self._modules.keys()

    def values(self) -> Iterable[Module]:
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Module]]:
        return self._modules.items()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        for name, module in dict(modules).items():
            self[name] = module


class ParameterList(Module):
    """A list whose parameters are parts of the module that holds it. A plain tensor in it becomes a parameter."""

    def __init__(self, values: Iterable[Tensor] = ()) -> None:
        super().__init__()
        self.extend(values)

    def _name(self, index: Any) -> str:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} parameters")
        return str(index % len(self))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ParameterList(list(self)[index])
        return self._parameters[self._name(index)]

    def __setitem__(self, index: int, value: Tensor) -> None:
        self.register_parameter(self._name(index), _as_parameter(value))

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(list(self._parameters.values()))

    def append(self, value: Tensor) -> ParameterList:
        self.register_parameter(str(len(self)), _as_parameter(value))
        return self

    def extend(self, values: Iterable[Tensor]) -> ParameterList:
        for value in values:
            self.append(value)
        return self


class ParameterDict(Module):
    """A dictionary whose parameters are parts of the module that holds it. A plain tensor in it becomes a parameter."""

    def __init__(self, values: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] = ()) -> None:
        super().__init__()
        self.update(values)

    def __getitem__(self, name: str) -> Parameter:
        return self._parameters[name]

    def __setitem__(self, name: str, value: Tensor) -> None:
        self.register_parameter(name, _as_parameter(value))

    def __delitem__(self, name: str) -> None:
        del self._parameters[name]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, name: str) -> bool:
        return name in self._parameters

    def keys(self) -> Iterable[str]:
        return self._parameters.keys()

    def values(self) -> Iterable[Parameter]:
        return self._parameters.values()

    def items(self) -> Iterable[tuple[str, Parameter]]:
        return self._parameters.items()

    def update(self, values: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]) -> None:
        for name, value in dict(values).items():
            self[name] = value


def _as_parameter(value: Tensor) -> Parameter:
    return value if isinstance(value, Parameter) else Parameter(value)
