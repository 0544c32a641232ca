"""A request for a source, the program that answers it, and the text that all kernels share."""

from __future__ import annotations

from dataclasses import dataclass, field
from string import Template
from typing import Any

from . import dialect


@dataclass(frozen=True)
class Operand:
    """An input or output of the call. `dtype` is empty if it was left out; `dense`: row-major without gaps."""

    name: str
    dtype: str
    ndim: int
    dense: bool


@dataclass(frozen=True)
class Request:
    """What the source is for. `attributes` are those that change it; of `lists` the lengths are known."""

    op: str
    dialect: str
    operands: tuple[Operand, ...]
    rank: int
    wide_index: bool
    few: bool
    doubles: bool
    max_group: int
    shared_memory: int
    attributes: dict[str, Any]
    lists: dict[str, int]

    def operand(self, name: str) -> Operand:
        return next(operand for operand in self.operands if operand.name == name)

    @property
    def given(self) -> list[Operand]:
        return [operand for operand in self.operands if operand.dtype]

    @property
    def dtypes(self) -> set[str]:
        return {operand.dtype for operand in self.given}

    @property
    def index(self) -> str:
        """The type of indices and sizes: int where every offset fits."""
        return "long" if self.wide_index else "int"


@dataclass
class Pass:
    """One launch: groups along each axis are the product of named numbers, divided upwards; and items in a group."""

    function: str
    arguments: list[tuple[str, str]]
    groups: list[tuple[list[str], int]]
    group: tuple[int, int, int] = (1, 1, 1)


@dataclass
class Program:
    source: str
    passes: list[Pass]
    options: list[str] = field(default_factory=list)


GROUP = 128  # items in a group where nothing asks for another number


def parameters(
    request: Request, outputs: set[str], numbers: list[tuple[str, str]]
) -> tuple[str, list[tuple[str, str]]]:
    """The parameter list of a kernel and the arguments for it: buffers with their offsets, then numbers."""
    texts, arguments = [], []
    for operand in request.given:
        constant = "" if operand.name in outputs else "const "
        texts.append(f"GLOBAL {constant}{dialect.storage(operand.dtype)} *{operand.name}_p")
        texts.append(f"{request.index} {operand.name}_offset")
        arguments += [(operand.name, "buffer"), (f"{operand.name}_offset", request.index)]
    for name, type_ in numbers:
        texts.append(f"{type_} {name}")
        arguments.append((name, type_))
    return ", ".join(texts), arguments


def kernel(
    request: Request, name: str, outputs: set[str], numbers: list[tuple[str, str]], body: str
) -> tuple[str, list[tuple[str, str]]]:
    """A whole kernel function and its arguments."""
    texts, arguments = parameters(request, outputs, numbers)
    return f"KERNEL void {name}({texts}) {{\n{body}}}\n", arguments


def program(request: Request, functions: list[str], passes: list[Pass]) -> Program:
    return Program(dialect.prelude(request) + "\n".join(functions), passes)


def linear(function: str, arguments: list[tuple[str, str]], *count: str) -> Pass:
    """One item for each of `count` (a product of names)."""
    return Pass(function, arguments, [(list(count), GROUP), ([], 1), ([], 1)], (GROUP, 1, 1))


def fill(template: str, **words: object) -> str:
    """A text with its $words replaced."""
    return Template(template.lstrip("\n")).substitute(words)


def load(request: Request, operand: Operand, at: str) -> str:
    """The value of an operand's element."""
    return dialect.load(operand.dtype, f"{operand.name}_p", at)


def store(operand: Operand, at: str, value: str) -> str:
    return dialect.store(operand.dtype, f"{operand.name}_p", at, value)


def unravel(index_type: str, sizes: list[str], linear_name: str, prefix: str) -> str:
    """`prefix0`, `prefix1`, ... from a row-major number; the first size is not needed."""
    lines = [f"  {index_type} {prefix}_rest = {linear_name};"] if sizes else []
    for axis in reversed(range(len(sizes))):
        if axis == 0:
            lines.append(f"  const {index_type} {prefix}0 = {prefix}_rest;")
        else:
            lines.append(f"  const {index_type} {prefix}{axis} = {prefix}_rest % {sizes[axis]};")
            lines.append(f"  {prefix}_rest /= {sizes[axis]};")
    return "\n".join(lines) + ("\n" if lines else "")


def position(name: str, strides: list[str], prefix: str) -> str:
    """The element's place in the buffer."""
    return " + ".join([f"{name}_offset", *(f"{prefix}{axis} * {stride}" for axis, stride in enumerate(strides))])
