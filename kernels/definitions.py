"""Reads the op files: YAML in, frozen objects out."""

from __future__ import annotations

import functools
import importlib
import json
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

ROOT = Path(__file__).parent
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's where it is there: ten times as fast

DTYPE_GROUPS = {
    "floats": ["float32", "float64", "float16", "bfloat16"],
    "integers": ["int8", "int16", "int32", "int64", "uint8"],
}
DTYPE_GROUPS["numbers"] = DTYPE_GROUPS["floats"] + DTYPE_GROUPS["integers"]
DTYPE_GROUPS["all"] = DTYPE_GROUPS["numbers"] + ["bool"]


@dataclass(frozen=True)
class TypeVariable:
    """A dtype that several inputs and outputs share."""

    name: str
    dtypes: tuple[str, ...]
    integers: str | None  # integer and bool inputs are converted to this dtype first
    index: bool  # holds indices: taken as it is, never promoted


@dataclass(frozen=True)
class Input:
    name: str
    type: str  # a type variable, a dtype, or accumulator(VARIABLE)
    optional: bool
    variadic: bool


@dataclass(frozen=True)
class Attribute:
    name: str
    type: str  # int float bool scalar dtype axis axes ints uint64 enum
    required: bool
    default: Any
    of: str | None  # axis, axes: the input whose axes are counted
    length: int | None  # ints: one number stands for that many
    values: tuple[str, ...]  # enum
    variable: str | None  # dtype: the type variable that it binds


@dataclass(frozen=True)
class Output:
    name: str
    dtype: str
    shape: str | None  # an expression; None: the inputs broadcast
    alias: str | None  # the input whose memory it is


@dataclass(frozen=True)
class Op:
    name: str
    summary: str
    since: str
    family: str
    types: tuple[TypeVariable, ...]
    inputs: tuple[Input, ...]
    attributes: tuple[Attribute, ...]
    outputs: tuple[Output, ...]
    returns: tuple[str, ...]  # the outputs that a caller sees
    require: tuple[tuple[str, str], ...]
    grad: dict[str, str] | str
    decompose: dict[str, str] | str  # how it is made of other ops; empty: it is a primitive
    front: bool
    tolerance: dict[str, Any]
    domain: dict[str, Any]
    cases: tuple[dict[str, Any], ...]

    @property
    def differentiable(self) -> bool:
        """Has a gradient: its own, or the one of what it is made of, if there is a float in it."""
        return bool(self.grad) or (bool(self.decompose) and self.family != "optimiser" and self._floating)

    @property
    def _floating(self) -> bool:
        floats = {t.name for t in self.types if set(t.dtypes) & set(DTYPE_GROUPS["floats"])}
        bare = [
            t.removeprefix("accumulator(").removesuffix(")")
            for t in [*(i.type for i in self.inputs), *(o.dtype for o in self.outputs if o.name in self.returns)]
        ]
        inputs, outputs = bare[: len(self.inputs)], bare[len(self.inputs) :]
        return bool(floats & set(inputs)) and bool(floats & set(outputs))

    @property
    def elementwise(self) -> bool:
        """Inputs broadcast to the shape of the output."""
        return self.family == "elementwise"


def op_names() -> list[str]:
    """The names of all ops, which are the names of their files, sorted."""
    return sorted(path.stem for path in (ROOT / "ops").glob("*.yaml"))


@functools.cache
def schema() -> dict[str, Any]:
    return json.loads((ROOT / "schema.json").read_text(encoding="utf-8"))


@functools.cache
def load(name: str) -> Op:
    """The op of that name. Raises KeyError if there is none."""
    path = ROOT / "ops" / f"{name}.yaml"
    if not path.is_file():
        raise KeyError(f"there is no op {name!r} in {path.parent}")
    raw = yaml.load(path.read_text(encoding="utf-8"), Loader)
    if raw["op"] != name:
        raise ValueError(f"{path}: `op` says {raw['op']!r}, the file name says {name!r}")
    return _parse(raw)


def oracle(name: str) -> ModuleType:
    """The oracle of an op: a module with a function of the op's name (see ``reference/README.md``)."""
    return importlib.import_module(f"{__package__}.reference.{name}")


def load_all() -> list[Op]:
    return [load(name) for name in op_names()]


def expand_dtypes(names: list[str]) -> tuple[str, ...]:
    """Dtype names with the groups of DTYPE_GROUPS replaced by their members."""
    return tuple(dtype for name in names for dtype in DTYPE_GROUPS.get(name, [name]))


def _parse(raw: dict[str, Any]) -> Op:
    outputs = tuple(_output(n, o) for n, o in raw["outputs"].items())
    return Op(
        name=raw["op"],
        summary=raw["summary"],
        since=raw["since"],
        family=raw["family"],
        types=tuple(_type_variable(n, t) for n, t in raw["types"].items()),
        inputs=tuple(_input(n, t) for n, t in raw["inputs"].items()),
        attributes=tuple(_attribute(n, a) for n, a in raw.get("attributes", {}).items()),
        outputs=outputs,
        returns=tuple(raw.get("returns", [o.name for o in outputs])),
        require=tuple((condition, message) for condition, message in raw.get("require", [])),
        grad=raw.get("grad", {}),
        decompose=raw.get("decompose", {}),
        front=raw.get("front", False),
        tolerance=raw["tolerance"],
        domain=raw.get("domain", {}),
        cases=tuple(raw.get("cases", [])),
    )


def _type_variable(name: str, raw: dict[str, Any]) -> TypeVariable:
    return TypeVariable(name, expand_dtypes(raw["dtypes"]), raw.get("integers"), raw.get("index", False))


def _input(name: str, text: str) -> Input:
    return Input(name, text.rstrip("?."), text.endswith("?"), text.endswith("..."))


def _attribute(name: str, raw: dict[str, Any]) -> Attribute:
    return Attribute(
        name=name,
        type=raw["type"],
        required="default" not in raw,
        default=raw.get("default"),
        of=raw.get("of"),
        length=raw.get("length"),
        values=tuple(raw.get("values", [])),
        variable=raw.get("variable"),
    )


def _output(name: str, raw: dict[str, Any]) -> Output:
    return Output(name, raw["dtype"], raw.get("shape"), raw.get("alias"))
