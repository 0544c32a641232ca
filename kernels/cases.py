"""Turns the cases of an op into concrete inputs: what the judge and the tests ask a kernel.

A case is a mapping: ``id``, a SPEC for each input, values for attributes, and perhaps ``dtypes`` (which it is about),
``expect`` (right values by output) and ``raises``. A SPEC is a list of sizes (values are drawn from the domain), or
one of ``{values: ...}``, ``{shape: ..., integers: [low, high]}`` and ``{shape: ..., special: true}``; null leaves an
optional input out; a variadic input has a list of SPECs.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .definitions import Attribute, Input, Op

Shapes = list[tuple[int, ...]]

# Shapes of elementwise ops: nothing, one, partial vectors of every width, several axes.
SHAPES: Shapes = [(), (0,), (1,), (17,), (1023,), (1025,), (2, 3, 4), (3, 0, 2)]
# Pairs that broadcast, by the inputs' places.
BROADCAST: list[Shapes] = [[(3, 1), (1, 4)], [(5,), (2, 3, 5)], [(2, 3, 4), ()], [(1, 1, 1), (3,)]]


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def draw(
    op: Op, case: dict[str, Any], dtypes: tuple[str, ...], seed: int
) -> tuple[list[np.ndarray | None], dict[str, Any]]:
    """Inputs in the op's order (a variadic one as several) and normalised attributes, as a kernel sees them.

    ``dtypes`` holds one name for each type variable of the op. The same seed gives the same values.
    """
    generator = np.random.default_rng(seed)
    bound = dict(zip((t.name for t in op.types), dtypes, strict=True))
    inputs: list[np.ndarray | None] = []
    for item in op.inputs:
        dtype, spec = numpy_dtype(input_dtype(item, bound)), case.get(item.name)
        specs = spec if item.variadic else [spec]
        inputs += [draw_one(one, dtype, op.domain.get(item.name), generator) for one in specs]
    return inputs, normalised(op, case, bound, inputs)


def input_dtype(item: Input, bound: dict[str, str]) -> str:
    if item.type.startswith("accumulator("):
        return "float64" if bound[item.type[len("accumulator(") : -1]] == "float64" else "float32"
    return bound.get(item.type, item.type)


def draw_one(spec: Any, dtype: np.dtype, domain: Any, generator: np.random.Generator) -> np.ndarray | None:
    if spec is None:
        return None
    if isinstance(spec, list):
        return values_of(tuple(spec), dtype, domain, generator)
    if "values" in spec:
        with np.errstate(all="ignore"):
            return np.asarray(np.array(spec["values"], dtype=object if dtype.kind in "iu" else None)).astype(dtype)
    shape = tuple(spec["shape"])
    if "integers" in spec:
        low, high = spec["integers"]
        return generator.integers(low, high, shape, endpoint=True).astype(dtype)
    return special_values(shape, dtype, spec.get("repeat", False))


def values_of(shape: tuple[int, ...], dtype: np.dtype, domain: Any, generator: np.random.Generator) -> np.ndarray:
    """Distinct where the dtype allows it, so that an element in the wrong place shows."""
    if dtype == np.bool_:
        return generator.random(shape) < 0.5
    low, high = domain or ((-4, 4) if dtype.kind not in "iu" else (0, 99) if dtype.kind == "u" else (-99, 99))
    if dtype.kind in "iu":
        return generator.integers(int(low), int(high), shape, endpoint=True).astype(dtype)
    return (low + (high - low) * generator.random(shape)).astype(dtype)


def special_values(shape: tuple[int, ...], dtype: np.dtype, repeat: bool) -> np.ndarray:
    """The values of :func:`specials` in turn, or each as often as there are values: the two meet in every pair."""
    pool = specials(dtype)
    places = np.arange(int(np.prod(shape))) // (len(pool) if repeat else 1) % len(pool)
    return pool[places].reshape(shape)


def specials(dtype: np.dtype) -> np.ndarray:
    """The values that kernels get wrong: NaN, infinities, zeros of both signs, subnormals, extremes, halves."""
    if dtype == np.bool_:
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array(
            sorted({info.min, info.min + 1, 0, 1, 2, 7, info.max - 1, info.max} | ({-1, -7} if info.min else set())),
            dtype,
        )
    info = ml_dtypes.finfo(dtype)
    tiny, least, top, eps = (float(v) for v in (info.smallest_normal, info.smallest_subnormal, info.max, info.eps))
    plain = [0.0, least, tiny, 0.5, 1 - eps / 2, 1.0, 1 + eps, 1.5, 2.5, 3.0, top, np.inf]
    return np.array([np.nan, *plain, *[-v for v in plain]]).astype(dtype)


# ---- Attributes ---------------------------------------------------------------------------------------------------


def normalised(op: Op, case: dict[str, Any], bound: dict[str, str], inputs: list[np.ndarray | None]) -> dict[str, Any]:
    return {a.name: normalised_one(op, a, case.get(a.name, a.default), bound, inputs) for a in op.attributes}


def normalised_one(op: Op, a: Attribute, value: Any, bound: dict[str, str], inputs: list[np.ndarray | None]) -> Any:
    if a.type == "dtype":
        return numpy_dtype(bound[a.variable]) if a.variable else value
    if a.type in ("axis", "axes"):
        position = [i.name for i in op.inputs].index(a.of)
        return normalised_axes(a, value, inputs[position].ndim)
    if a.type == "ints" and not isinstance(value, list):
        return [value] * (a.length or 1)
    if a.type == "enum":
        return value or a.values[0]
    return value


def normalised_axes(a: Attribute, value: Any, ndim: int) -> Any:
    if a.type == "axis":
        return (value or 0) % max(ndim, 1)
    axes = list(range(ndim)) if value is None else value if isinstance(value, list) else [value]
    return sorted(axis % max(ndim, 1) for axis in axes) if ndim else []


# ---- Cases that every op of a family has -----------------------------------------------------------------------


def generic_cases(op: Op) -> list[dict[str, Any]]:
    """Shapes, broadcasting and special values for elementwise ops; the others list theirs in their file."""
    if not op.elementwise:
        return []
    return shape_cases(op) + broadcast_cases(op) + special_cases(op)


def attributes_of(op: Op) -> dict[str, Any]:
    """Values for the attributes that have no default."""
    return {a.name: 1 for a in op.attributes if a.required and a.type != "dtype"}


def shape_cases(op: Op) -> list[dict[str, Any]]:
    names = [item.name for item in op.inputs]
    return [
        {"id": "shape-" + ("x".join(map(str, shape)) or "0d"), **{n: list(shape) for n in names}, **attributes_of(op)}
        for shape in SHAPES
    ]


def broadcast_cases(op: Op) -> list[dict[str, Any]]:
    names = [item.name for item in op.inputs]
    if len(names) < 2:
        return []
    cases = []
    for number, shapes in enumerate(BROADCAST):
        given = {name: list(shapes[i % 2]) for i, name in enumerate(names)}
        cases.append({"id": f"broadcast-{number}", **given, **attributes_of(op), "rules": ["OPS-032"]})
    return cases


def special_cases(op: Op) -> list[dict[str, Any]]:
    """Every special value, for two inputs every pair; longer than a vector, so that head and tail both meet them."""
    names = [item.name for item in op.inputs]
    size = 26 * 26 if len(names) > 1 else 67
    given = {name: {"shape": [size], "special": True, "repeat": i % 2 == 1} for i, name in enumerate(names)}
    return [{"id": "special-values", **given, **attributes_of(op), "rules": special_rules(op)}]


def special_rules(op: Op) -> list[str]:
    """The rules of device_api/SPEC.md that special values prove."""
    if op.outputs[0].dtype == "bool":
        return ["OPS-007", "OPS-020"]
    return ["OPS-019", "OPS-031"] if op.tolerance["class"] in "UC" else ["OPS-008", "OPS-019"]
