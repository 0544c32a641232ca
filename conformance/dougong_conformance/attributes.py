"""Fills the attribute struct of an op, `dg_<op>_attributes_t`, from normalised Python values."""

from __future__ import annotations

from typing import Any

from .native import NULL, C, dtype_code, ffi


def make(op: Any, values: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The struct, or null where the op has no attributes, and what must stay alive with it.

    ``op`` is a `dougong_kernels.definitions.Op`; the values carry its attribute names.
    """
    if not op.attributes:
        return NULL, []
    type_name = f"dg_{op.name}_attributes_t"
    struct, alive = ffi.new(f"{type_name} *"), []
    struct.struct_size = ffi.sizeof(type_name)
    for attribute in op.attributes:
        _SETTERS[attribute.type](struct, attribute, values[attribute.name], alive)
    return struct, [struct, *alive]


def _set_integers(struct: Any, attribute: Any, value: Any, alive: list[Any]) -> None:
    numbers = [int(v) for v in value]
    array = ffi.new("int64_t[]", numbers or 1)
    alive.append(array)
    setattr(struct, attribute.name, array)
    setattr(struct, f"{attribute.name}_count", len(numbers))


def _set_scalar(struct: Any, attribute: Any, value: Any, alive: list[Any]) -> None:
    scalar = getattr(struct, attribute.name)
    if isinstance(value, complex):
        scalar.kind, scalar.real, scalar.imaginary = C.DG_SCALAR_COMPLEX, value.real, value.imag
    elif isinstance(value, float):
        scalar.kind, scalar.real = C.DG_SCALAR_FLOAT, value
    else:
        scalar.kind, scalar.integer = C.DG_SCALAR_INT, int(value)


def _setter(convert: Any) -> Any:
    return lambda struct, attribute, value, alive: setattr(struct, attribute.name, convert(attribute, value))


_SETTERS = {
    "int": _setter(lambda _, value: int(value)),
    "float": _setter(lambda _, value: float(value)),
    "bool": _setter(lambda _, value: int(bool(value))),
    "axis": _setter(lambda _, value: int(value)),
    "uint64": _setter(lambda _, value: int(value)),
    "dtype": _setter(lambda _, value: dtype_code(str(value))),
    "enum": _setter(lambda attribute, value: attribute.values.index(value)),
    "axes": _set_integers,
    "ints": _set_integers,
    "scalar": _set_scalar,
}
