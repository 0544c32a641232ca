"""What the ops mean: one YAML file an op in ``ops/``, and its oracle in ``reference/``.

This package is data for everybody else: the generator, the runtime's build, the judge, the docs. It knows no backend.
"""

from .definitions import (
    DTYPE_GROUPS,
    ROOT,
    Attribute,
    Input,
    Op,
    Output,
    TypeVariable,
    expand_dtypes,
    load,
    load_all,
    op_names,
    oracle,
    schema,
)

__all__ = [
    "DTYPE_GROUPS",
    "ROOT",
    "Attribute",
    "Input",
    "Op",
    "Output",
    "TypeVariable",
    "expand_dtypes",
    "load",
    "load_all",
    "op_names",
    "oracle",
    "schema",
]
