"""Says what is wrong with an output: the first wrong elements, in decimal and in hex, and how far off they are."""

from __future__ import annotations

import numpy as np

from . import tolerance
from .launch import Call, OutputSpec

SHOWN = 5


def explain(
    call: Call, spec: OutputSpec, y: np.ndarray, reference: np.ndarray, judgement: tolerance.Judgement, layout: str
) -> tuple[str, str]:
    """The sentence, and the lines below it."""
    expected = tolerance.rounded(reference, y.dtype)
    wrong = np.argwhere(judgement.wrong)
    lines = [describe(call, layout)]
    lines += [_element(tuple(index), y, expected, reference) for index in wrong[:SHOWN]]
    if len(wrong) > SHOWN:
        lines.append(f"... and {len(wrong) - SHOWN} more")
    lines += [f"{name} = {value:.4g}" for name, value in judgement.measured.items()]
    first = f"; first {lines[1]}" if len(wrong) else ""
    return f"{call.op.name}, output {spec.name}: {judgement.reason}{first}", "\n".join(lines)


def describe(call: Call, layout: str) -> str:
    """The call in one line: shapes, attributes, layout."""
    inputs = ", ".join("null" if x is None else f"{x.dtype}{list(x.shape)}" for x in call.inputs)
    attributes = "".join(f", {name}={value}" for name, value in call.attributes.items())
    outputs = ", ".join(f"{spec.dtype}{list(spec.shape)}" for spec in call.outputs)
    return f"{call.op.name}({inputs}{attributes}) -> {outputs}, layout {layout}"


def _element(index: tuple[int, ...], y: np.ndarray, expected: np.ndarray, reference: np.ndarray) -> str:
    place = ", ".join(map(str, index))
    text = f"[{place}] expected {_number(expected, index)}, got {_number(y, index)}"
    if not tolerance.is_float(y.dtype):
        return text
    exact = np.asarray(reference, np.float64)[index]
    off = tolerance.distance(np.asarray(y[index]), exact) / tolerance.ulp(exact, y.dtype)
    return f"{text}, {float(off):.4g} ulp"


def _number(array: np.ndarray, index: tuple[int, ...]) -> str:
    """In decimal and in hex. The bits are read from the array: a bool that is neither 0 nor 1 must show."""
    value, raw = array[index], int(tolerance.bits(array)[index])
    decimal = repr(float(value)) if tolerance.is_float(array.dtype) else str(value)
    return f"{decimal} (0x{raw:0{2 * array.dtype.itemsize}x})"
