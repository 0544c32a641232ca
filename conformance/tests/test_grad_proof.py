"""No differentiable op and no input of one is left out of the proof of gradients; and the proof sees what is wrong."""

from __future__ import annotations

import functools
from collections import Counter

import numpy as np
import pytest
from dougong_conformance import corners, questions, second_order, subjects
from dougong_conformance.case import Context, Fail
from dougong_conformance.gradients import Gradients
from dougong_conformance.resolve import resolve
from dougong_conformance.session import Session
from dougong_conformance.subjects import Subject
from dougong_conformance.suites import grad, views


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(str(resolve("cpu:0", None).library), "cpu")


def differentiable_inputs() -> set[tuple[str, str]]:
    loaded = [questions.kernels().load(name) for name in questions.kernels().op_names()]
    return {(op.name, op.inputs[i].name) for op in loaded for i in subjects.differentiable(op)}


@functools.cache
def asked(kind: str) -> Counter[tuple[str, str]]:
    """How many cases of a kind ask for the gradient of each input: one that is there, and is a float."""
    found: Counter[tuple[str, str]] = Counter()
    for name, subject in cases_of(kind):
        op, (inputs, _) = questions.kernels().load(name), subjects.values(subject)
        wanted = range(len(inputs)) if op.inputs[0].variadic else subjects.differentiable(op)
        there = [i for i in wanted if inputs[i] is not None and inputs[i].dtype.kind == "f" and inputs[i].size]
        found.update({(name, op.inputs[min(i, len(op.inputs) - 1)].name) for i in there})
    return found


@functools.cache
def all_cases() -> tuple:
    return tuple(c for c in grad.cases(Context()) if isinstance(getattr(c.run, "args", None), tuple))


def cases_of(kind: str) -> list[tuple[str, Subject]]:
    split = [(c.id.split("/"), c.run.args[0]) for c in all_cases()]
    return [(words[1], subject) for words, subject in split if words[2] == kind]


@pytest.mark.parametrize("kind", ["formula", "device", "corners", "device-corners"])
def test_the_gradient_of_every_input_of_every_op_is_asked_for(kind):
    assert len(differentiable_inputs()) > 100
    assert sorted(differentiable_inputs() - set(asked(kind))) == []


def test_every_elementwise_op_and_matrix_product_is_asked_for_its_second_gradient():
    loaded = {name: questions.kernels().load(name) for name, _ in differentiable_inputs()}
    wanted = {(n, i) for n, i in differentiable_inputs() if loaded[n].elementwise or loaded[n].family == "matmul"}
    assert len(wanted) > 80
    assert sorted(wanted - set(asked("second"))) == []


def test_every_input_of_an_elementwise_op_is_broadcast_and_its_gradient_summed():
    """Over axes that it lacks, and over axes of size 1."""
    for name in sorted({name for name, _ in differentiable_inputs()}):
        op = questions.kernels().load(name)
        for i in subjects.differentiable(op) if op.elementwise and len(op.inputs) > 1 else []:
            shapes = [subjects.values(s)[0] for n, s in cases_of("formula") if n == name]
            summed = [
                (x[i].shape, np.broadcast_shapes(*(y.shape for y in x if y is not None)))
                for x in shapes
                if x[i] is not None
            ]
            assert any(len(own) < len(whole) for own, whole in summed), (name, i)
            assert any(own != whole and 1 in own for own, whole in summed), (name, i)


# -- corners -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found_at_corners(session) -> dict[str, list[corners.Found]]:
    """Of every op, along every direction."""
    dougong, found = session.load_runtime(), {}
    for name, subject in cases_of("corners"):
        found.setdefault(name, []).extend(corners.at_corners(Gradients(dougong, subject)))
    return found


def test_at_corners_something_is_known_of_every_input(found_at_corners):
    known = {
        (name, found.input.partition("[")[0])
        for name, all_found in found_at_corners.items()
        for found in all_found
        if np.any(found.bounds.known)
    }
    assert sorted(differentiable_inputs() - known) == []


def test_each_kink_that_is_found_has_a_stated_gradient(found_at_corners):
    kinked = {n for n, all_found in found_at_corners.items() for f in all_found if np.any(f.bounds.kink)}
    assert len(kinked) > 15
    assert sorted(kinked - {kink["op"] for kink in grad.kinks()}) == []


def test_points_have_zeros_of_both_signs_ties_and_the_ops_own_numbers():
    inputs, attributes = subjects.values(Subject("clamp", "both", corners=True))
    x, low, high = inputs
    assert np.any(x == low) and np.any(x == high) and np.any(low == high) and np.any(low > high)
    assert not np.any((x == low) & (x == high))
    assert np.any((x == 0) & np.signbit(x)) and np.any((x == 0) & ~np.signbit(x))
    (x,), attributes = subjects.values(Subject("elu", "alpha", corners=True))
    assert set(np.float32([attributes["alpha"], -attributes["alpha"], 0, 1])) <= set(np.float32(x))


def slopes(function, point, direction):
    return corners.slopes(
        lambda x: function(*x), [np.array(x) for x in point], [np.array(d) for d in direction], seed=0
    )


def test_slopes_of_a_kink_are_those_of_both_sides():
    found = slopes(np.abs, [[0.0, 1.0]], [[1.0, 1.0]])
    assert np.allclose(found.left, [-1, 1], rtol=0, atol=1e-9)
    assert np.allclose(found.right, [1, 1], rtol=0, atol=1e-9)
    assert np.allclose([found.least, found.greatest], [[-1, 1], [1, 1]], rtol=0, atol=1e-3)
    assert found.known.all()


def test_slopes_along_a_tie_agree_and_across_it_do_not():
    along = slopes(np.maximum, [[2.0], [2.0]], [[1.0], [1.0]])
    assert np.allclose([along.left, along.right, along.least, along.greatest], 1, rtol=0, atol=1e-8)
    across = slopes(np.maximum, [[2.0], [2.0]], [[1.0], [0.0]])
    assert np.allclose([across.left, across.right], [[0], [1]], rtol=0, atol=1e-9)


def test_nothing_is_known_where_a_function_jumps_ends_or_is_vertical():
    with np.errstate(all="ignore"):
        assert not slopes(np.sqrt, [[0.0]], [[1.0]]).known.any()
        assert not slopes(np.log, [[0.0]], [[1.0]]).known.any()
        assert not slopes(lambda x: np.sign(x) * np.sqrt(np.abs(x)), [[0.0]], [[1.0]]).known.any()
        assert not slopes(np.reciprocal, [[0.0]], [[1.0]]).known.any()


# -- planted faults ------------------------------------------------------------------------------------------------


def fails(function, *arguments) -> str:
    try:
        function(*arguments)
    except Fail as fail:
        return fail.message
    return ""


@pytest.fixture
def change(monkeypatch):
    """``change(function)``: the runtime's gradients pass through the function from now on."""
    true = Gradients.by_runtime

    def plant(function):
        def changed(self, device, inputs, directions, layout="dense"):
            found = true(self, device, inputs, directions, layout)
            there = [inputs[i] for i in self.wanted]
            return [
                np.asarray(g, old.dtype) for g, old in zip(function(self, device, there, found), found, strict=True)
            ]

        monkeypatch.setattr(Gradients, "by_runtime", changed)

    return plant


def survivors(session, kind, ops, ask) -> list[str]:
    """The ops of which no case of the kind fails."""
    wanted = [(name, subject) for name, subject in cases_of(kind) if name in ops]
    caught = {name for name, subject in wanted if fails(ask, subject, session)}
    assert {name for name, _ in wanted} == set(ops)
    return sorted(set(ops) - caught)


def test_forgotten_sum_over_broadcast_axes_is_caught_for_every_op(session, change):
    """Of an input that was broadcast only the first part of the sum is given."""

    def forgetful(asked, place, inputs, found):
        whole = max((x.size for x in inputs), default=0)
        return [g / (whole / g.size) if g.size else g for g in found]

    flat = {"floor_divide"}
    ops = {n for n, _ in differentiable_inputs() if questions.kernels().load(n).elementwise} - flat
    several = {name for name in ops if sum(n == name for n, _ in differentiable_inputs()) > 1}
    assert len(several) > 15
    change(forgetful)
    broadcast = [(n, s) for n, s in cases_of("formula") if n in several and s.case.startswith("broadcast-")]
    caught = {name for name, subject in broadcast if fails(grad.formula, subject, session)}
    assert sorted(several - caught) == []


def test_ties_that_both_take_all_or_none_are_caught(session, change):
    ops = ("maximum", "minimum", "max", "min", "max_pool2d")

    def greedy(asked, place, inputs, found):
        if asked.op.elementwise:
            tie = inputs[0] == inputs[1]
            return [np.where(tie, 2 * g, g) for g in found]
        return [2 * g if np.unique(x).size < x.size else g for x, g in zip(inputs, found, strict=True)]

    change(greedy)
    assert survivors(session, "corners", ops, grad.at_corners) == []


def test_gradient_that_is_lost_at_zeros_is_caught(session, change):
    """A mask, where the formula divides by what may be zero."""
    ops = ("mul", "square", "sin", "prod", "cumprod", "matmul", "exp", "where", "lerp", "addcmul", "erf", "logsumexp")
    change(lambda asked, place, inputs, found: [np.where(x == 0, 0, g) for x, g in zip(inputs, found, strict=True)])
    caught = survivors(session, "corners", ops, grad.at_corners)
    assert caught == ["square"]  # whose gradient is 0 there


def test_not_a_number_at_a_kink_is_caught(session, change):
    ops = ("abs", "relu", "hypot", "norm", "maximum", "leaky_relu", "sort")
    change(
        lambda asked, place, inputs, found: [np.where(x == 0, np.nan, g) for x, g in zip(inputs, found, strict=True)]
    )
    assert survivors(session, "corners", ops, grad.at_corners) == []


def test_device_that_is_wrong_at_corners_is_caught(host, change):
    device = Session(str(host), "host")
    ops = ("add", "mul", "maximum", "sort", "norm", "softmax", "gelu", "clamp")
    assert survivors(device, "device-corners", ops, grad.on_device) == sorted(ops)
    change(lambda asked, place, inputs, found: [g * (1 + 1e-4 * (place == "host:0")) for g in found])
    assert survivors(device, "device-corners", ops, grad.on_device) == []


@pytest.mark.parametrize("name", views.MAPS)
def test_other_map_than_the_views_is_caught(session, monkeypatch, name):
    views.is_transposed(name, session)
    ours, numpys = views.MAPS[name]
    if not numpys(np.zeros(views.SHAPE)).size:
        return
    monkeypatch.setitem(views.MAPS, name, (ours, lambda x: numpys(x[::-1])))
    assert "not the transposed map" in fails(views.is_transposed, name, session)


@pytest.mark.parametrize("number", range(len(grad.kinks())))
def test_other_side_of_a_kink_is_caught(session, number):
    """Each number of a stated gradient matters."""
    kink = grad.kinks()[number]
    grad.at_kink(kink, session)
    wanted = [None if g is None else np.array(g, np.float64) for g in kink["gradients"]]
    for i, gradient in enumerate(wanted):
        for place in () if gradient is None else np.ndindex(gradient.shape):
            other = gradient.copy()
            other[place] = 0.5 if np.isnan(other[place]) or np.isinf(other[place]) else other[place] + 0.5
            stated = [other.tolist() if j == i else g for j, g in enumerate(kink["gradients"])]
            assert "the gradient is" in fails(grad.at_kink, {**kink, "gradients": stated}, session)


def test_wrong_second_gradient_is_caught_for_every_op(session, monkeypatch):
    """A term of the second gradient is forgotten: what is left is nine tenths of it."""
    true = second_order._second
    curved: set[str] = set()

    def forgetful(asked, *arguments):
        found = true(asked, *arguments)
        curved.update(asked.op.name for g in found if np.any(np.abs(g) > 1e-3))
        return [g * 0.9 for g in found]

    monkeypatch.setattr(second_order, "_second", forgetful)
    every = {name for name, _ in cases_of("second")}
    survived = survivors(session, "second", every, grad.of_gradient)
    assert {"mul", "matmul", "exp", "tanh", "gelu", "softmax", "pow"} <= curved
    assert set(survived) == every - curved
