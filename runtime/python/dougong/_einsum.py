"""Sums of products, told by letters for axes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from . import _core
from ._core import Tensor

_ops = _core.ops
_PRODUCT_TYPES = (_core.float32, _core.float64, _core.float16, _core.bfloat16, _core.int32, _core.int64)


@dataclass
class _Term:
    """A tensor and one label for each of its axes; axes of an ellipsis are "1", "2", ... counted from the last."""

    tensor: Tensor
    labels: list[str]

    def arranged(self, labels: Sequence[str]) -> Tensor:
        """The axes in this order, with an axis of size 1 for a label that is not there."""
        present = [label for label in labels if label in self.labels]
        tensor = self.tensor.permute(*[self.labels.index(label) for label in present]) if present else self.tensor
        return tensor.reshape(*[self.size(label) for label in labels])

    def size(self, label: str) -> int:
        return self.tensor.shape[self.labels.index(label)] if label in self.labels else 1


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """The sum of products that the equation tells, as in NumPy: ``einsum("bij,bjk->bik", a, b)``.

    A letter stands for an axis. Axes with one letter are multiplied with each other (a letter twice in one operand: the
    diagonal) and summed where the result does not have it. ``...`` stands for all other axes, which broadcast. Without
    ``->`` the result has the letters that occur once, in alphabetical order, behind those of ``...``.

    Operands are contracted from left to right. Raises ValueError for an equation that does not fit the operands.
    """
    parts, output = _parsed(equation, operands)
    dtype = operands[0].dtype
    for operand in operands[1:]:
        dtype = _core.promote_types(dtype, operand.dtype)
    inner = dtype if dtype in _PRODUCT_TYPES else _core.int64
    terms = [_term(operand.to(dtype=inner), part) for operand, part in zip(operands, parts, strict=True)]
    _check_sizes(terms)
    result = terms[0]
    for i, term in enumerate(terms[1:], 2):
        wanted = {*output, *(label for later in terms[i:] for label in later.labels)}
        result = _product(result, term, wanted)
    result = _summed(result, set(output))
    y = result.arranged(output)
    return y if inner == dtype else y.to(dtype=dtype)


def _parsed(equation: str, operands: Sequence[Tensor]) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand and of the result."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if not operands or len(terms) != len(operands):
        raise ValueError(f"einsum: {equation!r} tells of {len(terms)} operands; found {len(operands)}")
    for text in [*terms, right]:
        if not re.fullmatch(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*", text):
            raise ValueError(f"einsum: {text!r} in {equation!r} may hold letters and one '...'")
    parts = [_labels(text, operand, equation) for text, operand in zip(terms, operands, strict=True)]
    hidden = sorted({label for part in parts for label in part if label.isdigit()}, key=int, reverse=True)
    if arrow:
        before, dots, after = right.partition("...")
        output = [*before, *(hidden if dots else []), *after]
    else:
        letters = "".join(terms).replace(".", "")
        output = hidden + sorted(letter for letter in set(letters) if letters.count(letter) == 1)
    unknown = set(output) - {label for part in parts for label in part}
    if unknown or len(set(output)) != len(output):
        raise ValueError(f"einsum: the result of {equation!r} must have letters of the operands, each once")
    return parts, output


def _labels(text: str, operand: Tensor, equation: str) -> list[str]:
    before, dots, after = text.partition("...")
    hidden = operand.ndim - len(before) - len(after)
    if hidden < 0 or (hidden > 0 and not dots):
        raise ValueError(f"einsum: {text!r} in {equation!r} does not fit an operand of shape {operand.shape}")
    return [*before, *(str(i) for i in range(hidden, 0, -1)), *after]


def _term(tensor: Tensor, labels: list[str]) -> _Term:
    """With each label once: of axes that share one, the diagonal."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            tensor = _diagonal(tensor, first, second)
            labels = [other for i, other in enumerate(labels) if i not in (first, second)] + [label]
    return _Term(tensor, labels)


def _diagonal(tensor: Tensor, first: int, second: int) -> Tensor:
    """The elements with one index on both axes, as the last axis."""
    size = tensor.shape[first]
    if size != tensor.shape[second]:
        raise ValueError(f"einsum: a letter stands for axes of sizes {size} and {tensor.shape[second]} of one operand")
    rest = [i for i in range(tensor.ndim) if i not in (first, second)]
    flat = tensor.permute(*rest, first, second).reshape(*[tensor.shape[i] for i in rest], size * size)
    return flat[..., :: size + 1]


def _check_sizes(terms: list[_Term]) -> None:
    sizes: dict[str, int] = {}
    for term in terms:
        for label, size in zip(term.labels, term.tensor.shape, strict=True):
            known = sizes.setdefault(label, size)
            if size != known and 1 not in (size, known):
                name = "an axis of '...'" if label.isdigit() else repr(label)
                raise ValueError(f"einsum: {name} stands for axes of sizes {known} and {size}")
            sizes[label] = size if known == 1 else known


def _summed(term: _Term, wanted: set[str]) -> _Term:
    gone = [i for i, label in enumerate(term.labels) if label not in wanted]
    if not gone:
        return term
    return _Term(_ops.sum(term.tensor, gone), [label for label in term.labels if label in wanted])


def _product(a: _Term, b: _Term, wanted: set[str]) -> _Term:
    """The product of two, summed over what nobody wants any more: elementwise, or as a matrix product."""
    a, b = _summed(a, wanted | set(b.labels)), _summed(b, wanted | set(a.labels))
    both = [label for label in a.labels if label in b.labels]
    common, gone = [x for x in both if x in wanted], [x for x in both if x not in wanted]
    rows, columns = [x for x in a.labels if x not in both], [x for x in b.labels if x not in both]
    if not gone:
        labels = common + rows + columns
        return _Term(_ops.mul(a.arranged(labels), b.arranged(labels)), labels)
    a, b = _stretched(a, b, both), _stretched(b, a, both)
    left, right = a.arranged(common + rows + gone), b.arranged(common + gone + columns)
    count = math.prod(a.size(x) for x in gone)
    batch = [a.size(x) for x in common]
    height, width = [a.size(x) for x in rows], [b.size(x) for x in columns]
    left = left.reshape(*batch, math.prod(height), count)
    product = _ops.matmul(left, right.reshape(*batch, count, math.prod(width)))
    return _Term(product.reshape(*batch, *height, *width), common + rows + columns)


def _stretched(term: _Term, other: _Term, labels: list[str]) -> _Term:
    """With axes of size 1 among the labels as long as the other's."""
    sizes = [other.size(x) if x in labels and term.size(x) == 1 else term.size(x) for x in term.labels]
    return term if sizes == list(term.tensor.shape) else _Term(term.tensor.expand(*sizes), term.labels)
