"""What a kernel is asked, and the answer that it must give: inputs drawn for a case, and its op's oracle run on them.

Nothing here knows an op: meaning comes from the op files, the oracles beside them, and `dougong_kernels.cases`.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from . import header, layouts, tolerance
from .launch import Call, OutputSpec

LEFT_OUT = tolerance.Judgement(np.zeros(0, bool))

Outputs = list[np.ndarray | None]


def kernels(module: str = "definitions") -> ModuleType:
    """A module of the package of op files."""
    return importlib.import_module(f"{header.definitions().__package__}.{module}")


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


@dataclass(frozen=True)
class Question:
    """One case of an op in one choice of dtypes, one for each type variable of the op."""

    op: str
    case: str
    dtypes: tuple[str, ...]
    first: bool = True  # the dtypes are the first that the case has
    repeated: bool = False  # the inputs are made constant along an axis, for the layout broadcast

    @property
    def id(self) -> str:
        return f"{self.op}/{'-'.join(self.dtypes) or 'any'}/{self.case}"


def of_op(name: str) -> Iterator[Question]:
    """Every case of an op in every choice of dtypes that the op allows."""
    op = kernels().load(name)
    for key, case in cases_by_id(name).items():
        choices = dtype_choices(op, case)
        for dtypes in choices:
            yield Question(name, key, dtypes, first=dtypes == choices[0])


@functools.cache
def cases_by_id(name: str) -> dict[str, dict[str, Any]]:
    """The cases of an op: its own, and those of its family."""
    op = kernels().load(name)
    return {case["id"]: case for case in [*op.cases, *kernels("cases").generic_cases(op)]}


def cases_of(op: Any) -> list[dict[str, Any]]:
    return list(cases_by_id(op.name).values())


def case_id(case: dict[str, Any]) -> str:
    return case["id"]


def dtype_choices(op: Any, case: Any) -> list[tuple[str, ...]]:
    """For each type variable one dtype. Index dtypes other than the first are tried with the first value dtype only."""
    allowed = [_allowed(variable, case) for variable in op.types]
    choices = []
    for choice in itertools.product(*allowed):
        odd_index = any(v.index and d != a[0] for v, d, a in zip(op.types, choice, allowed, strict=True))
        common = all(v.index or d == a[0] for v, d, a in zip(op.types, choice, allowed, strict=True))
        if common or not odd_index:
            choices.append(choice)
    return choices


def _allowed(variable: Any, case: Any) -> list[str]:
    """The dtypes of the op, or those of them that the case is about."""
    only = case.get("dtypes")
    if isinstance(only, dict):  # a list for each type variable
        only = only.get(variable.name)
    elif variable.index:
        only = None
    wanted = None if only is None else kernels().expand_dtypes(list(only))
    return [dtype for dtype in variable.dtypes if wanted is None or dtype in wanted]


@dataclass
class Answer:
    """A call, and what must come of it. ``references`` are the oracle's outputs; empty where the call must fail."""

    call: Call
    dtypes: tuple[str, ...]
    references: Outputs
    seed: int
    out_of_range: bool = False
    repeated: bool = False  # equal terms err alike: no square root of their number bounds the error of their sum

    def judge(self, outputs: Outputs, arithmetic: tolerance.Arithmetic) -> list[tolerance.Judgement]:
        """One judgement an output."""
        judged = self._judge(outputs, arithmetic)
        if arithmetic.flushes_subnormals and not all(judgement.right for judgement in judged):
            flushed = self.with_inputs([_flushed(x) for x in self.call.inputs])
            again = flushed._judge(outputs, arithmetic)
            judged = [b if b.right else a for a, b in zip(judged, again, strict=True)]
        return judged

    def with_inputs(self, inputs: Sequence[np.ndarray | None]) -> Answer:
        found = answer_to(self.call.op, inputs, self.call.attributes, self.dtypes, self.seed)
        return dataclasses.replace(found, repeated=self.repeated)

    def _judge(self, outputs: Outputs, arithmetic: tolerance.Arithmetic) -> list[tolerance.Judgement]:
        pairs = enumerate(zip(outputs, self.references, strict=True))
        return [LEFT_OUT if y is None else self._judge_output(i, y, r, arithmetic) for i, (y, r) in pairs]

    def _judge_output(self, i: int, y: np.ndarray, r: np.ndarray, arithmetic: tolerance.Arithmetic):
        rule = self.call.op.tolerance
        if not tolerance.is_float(y.dtype) or rule["class"] == "E":
            return tolerance.exact(y, r, arithmetic, either_zero=rule.get("either_zero", False))
        wide = np.asarray(r, np.float64)
        if rule["class"] == "U":
            return tolerance.ulps(y, wide, _ulp_limit(rule["ulp"], y.dtype), arithmetic)
        if rule["class"] == "C":
            return tolerance.composite(y, wide, self._expected_errors[i], arithmetic)
        s, k = self._magnitude
        if tolerance.sums_are_exact(self.call.inputs, s, y.dtype) and bool(np.all(wide % 1 == 0)):
            return tolerance.exact(y, wide, arithmetic)
        worst_case = dataclasses.replace(arithmetic, truncates_sums=True) if self.repeated else arithmetic
        return tolerance.reduction(y, wide, s, k, worst_case)

    @functools.cached_property
    def _magnitude(self) -> tuple[np.ndarray, np.ndarray]:
        module = kernels().oracle(self.call.op.name)
        with np.errstate(all="ignore"):
            return module.magnitude(*map(_widened, self.call.inputs), **self.call.attributes)

    @functools.cached_property
    def _expected_errors(self) -> list[np.ndarray]:
        working = tolerance.working_dtype(numpy_dtype(self.dtypes[0]))
        witness = tolerance.Witness(self._outputs_for, self.call.inputs, self.seed)
        return witness.errors(self._outputs_for(*self.call.inputs), working)

    def _outputs_for(self, *inputs: np.ndarray | None) -> list[np.ndarray]:
        """The oracle's outputs, one that is left out as a zero."""
        return [np.zeros(()) if r is None else r for r in oracle(self.call.op, inputs, self.call.attributes)]


@functools.lru_cache(maxsize=16)
def answer(question: Question, seed: int) -> Answer:
    op, case = kernels().load(question.op), cases_by_id(question.op)[question.case]
    own_seed = zlib.crc32(question.id.encode()) ^ seed
    inputs, attributes = kernels("cases").draw(op, case, question.dtypes, own_seed)
    if question.repeated:
        inputs = _repeated(op, inputs)
    found = answer_to(op, inputs, attributes, question.dtypes, own_seed)
    return dataclasses.replace(found, repeated=question.repeated)


def answer_to(
    op: Any, inputs: Sequence[np.ndarray | None], attributes: dict[str, Any], dtypes: tuple[str, ...], seed: int
):
    """Runs the oracle. An index that is out of range makes it raise IndexError: then the kernel must fail too."""
    out_of_range = False
    try:
        references = oracle(op, inputs, attributes)
    except IndexError:
        out_of_range = True
        references = oracle(op, _without_indices(op, inputs), attributes)
    outputs = _output_specs(op, inputs, dtypes, references)
    call = Call(op, tuple(inputs), attributes, outputs, broadcast=op.elementwise)
    return Answer(call, dtypes, [] if out_of_range else references, seed, out_of_range)


def oracle(op: Any, inputs: Sequence[np.ndarray | None], attributes: dict[str, Any]) -> Outputs:
    """All outputs of an op by its oracle; None for one whose input, which it is an alias of, is left out."""
    function = getattr(kernels().oracle(op.name), op.name)
    with np.errstate(all="ignore"):
        results = function(*map(_widened, inputs), **attributes)
    results = results if isinstance(results, tuple | list) else (results,)
    return [None if r is None else np.asarray(r) for r in results]


def _widened(x: np.ndarray | None) -> np.ndarray | None:
    """Floats as float64: the oracle computes in the precision of its inputs, and the truth wants all of it."""
    return x if x is None or not tolerance.is_float(x.dtype) else x.astype(np.float64, copy=False)


# -- parts ---------------------------------------------------------------------------------------------------------


def _output_specs(op: Any, inputs: Sequence, dtypes: tuple[str, ...], references: list[np.ndarray]):
    names = [i.name for i in op.inputs]
    return tuple(
        OutputSpec(
            output.name,
            np.shape(reference),
            numpy_dtype(_output_dtype(op, output.dtype, dtypes)),
            names.index(output.alias) if output.alias else None,
        )
        for output, reference in zip(op.outputs, references, strict=True)
    )


def _output_dtype(op: Any, text: str, dtypes: tuple[str, ...]) -> str:
    """``T``, ``accumulator(T)`` or a dtype's own name."""
    chosen = {variable.name: dtype for variable, dtype in zip(op.types, dtypes, strict=True)}
    if text.startswith("accumulator("):
        return "float64" if chosen[text[12:-1]] == "float64" else "float32"
    return chosen.get(text, text)


def _wide(x: np.ndarray | None) -> np.ndarray | None:
    """Floats as float64, of the same class of arrays: oracles compute in the dtype of their inputs."""
    return x if x is None or not tolerance.is_float(x.dtype) else x.astype(np.float64)


def _ulp_limit(limit: Any, dtype: np.dtype) -> float:
    return float(limit.get(str(dtype), max(limit.values())) if isinstance(limit, dict) else limit)


def _index_variables(op: Any) -> set[str]:
    return {variable.name for variable in op.types if variable.index}


def _input_types(op: Any, count: int) -> list[str]:
    """The type of each input of a call; those of a variadic input all have its type."""
    types = [i.type for i in op.inputs]
    return types + types[-1:] * (count - len(types))


def _without_indices(op: Any, inputs: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
    """Each index 0, which is valid wherever some index is: for the shape of the outputs."""
    index = _index_variables(op)
    types = _input_types(op, len(inputs))
    return [np.zeros_like(x) if x is not None and t in index else x for x, t in zip(inputs, types, strict=True)]


def _repeated(op: Any, inputs: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
    """The data inputs made constant along their first axis; what outputs are aliases of is left as it is."""
    kept = _index_variables(op) | {"int64"}
    aliased = {output.alias for output in op.outputs}
    names = [i.name for i in op.inputs]
    names += names[-1:] * (len(inputs) - len(names))
    described = zip(inputs, _input_types(op, len(inputs)), names, strict=True)
    return [
        x if x is None or type_ in kept or name in aliased else layouts.repeat_along_an_axis(_summable(op, x))
        for x, type_, name in described
    ]


def _summable(op: Any, x: np.ndarray) -> np.ndarray:
    """Whole numbers where they are summed up: equal terms round alike, which no bound for independent errors covers."""
    return np.rint(x.astype(np.float64)).astype(x.dtype) if op.tolerance["class"] == "R" else x


def _flushed(x: np.ndarray | None) -> np.ndarray | None:
    if x is None or not tolerance.is_float(x.dtype):
        return x
    tiny = float(ml_dtypes.finfo(x.dtype).smallest_normal)
    with np.errstate(all="ignore"):
        return np.where(np.abs(x.astype(np.float64)) < tiny, x.dtype.type(0), x)


# -- what the list of cases needs to know ---------------------------------------------------------------------------


def layouts_of(question: Question) -> list[str]:
    """The layouts that make sense for the op and the case, dense first."""
    op = kernels().load(question.op)
    possible = [name for name in layouts.LAYOUTS if op.inputs or name != "broadcast"]
    return [*possible, "in-place"] if _may_be_in_place(op, cases_by_id(question.op)[question.case]) else possible


def _may_be_in_place(op: Any, case: dict[str, Any]) -> bool:
    """Whether an input of the case has the type and the shape of the first output."""
    first = op.outputs[0]
    if first.alias is not None or any(i.variadic for i in op.inputs):
        return False
    shapes = {i.name: _shape(case[i.name]) for i in op.inputs if case.get(i.name) is not None}
    typed = [i.name for i in op.inputs if i.type == first.dtype and i.name in shapes]
    if op.elementwise:
        return any(shapes[name] == np.broadcast_shapes(*shapes.values()) for name in typed)
    return any(first.shape == f"{name}.shape" for name in typed)


def _shape(spec: Any) -> tuple[int, ...]:
    """Of an input's SPEC in a case, see dougong_kernels.cases."""
    if isinstance(spec, list):
        return tuple(spec)
    return tuple(spec["shape"]) if "shape" in spec else np.shape(spec["values"])


def rules_of(question: Question) -> tuple[str, ...]:
    """The rules of device_api/SPEC.md that the op file says the case proves; one that must fail proves KRN-015."""
    case = cases_by_id(question.op)[question.case]
    return (*case.get("rules", ()), *(("KRN-015",) if "raises" in case else ()))
