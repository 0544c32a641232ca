"""einsum gives what NumPy's gives, on every kind of equation."""

from __future__ import annotations

import dougong
import numpy as np
import pytest

EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ba", (2, 3)),
    ("ii", (3, 3)),
    ("iij->ij", (3, 3, 2)),
    ("iii->i", (3, 3, 3)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("ij,ij->j", (4, 2), (4, 2)),
    ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("ij,kl,jk->il", (2, 3), (4, 5), (3, 4)),
    ("ab,ab,b->a", (2, 3), (2, 3), (3,)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("i...->...i", (2, 3, 4)),
    ("...,...", (2, 3), (3,)),
    (" , i j -> i j ", (), (2, 2)),
    ("ij,jk->ik", (2, 0), (0, 4)),
]


@pytest.mark.parametrize("equation, shapes", [(e, s) for e, *s in EQUATIONS], ids=[e[0] for e in EQUATIONS])
def test_einsum_gives_what_numpy_gives(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes)]
    found = dougong.einsum(equation, *map(dougong.tensor, arrays)).numpy()
    wanted = np.einsum(equation, *arrays)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_einsum_of_small_integers_wraps_in_their_dtype() -> None:
    x = dougong.tensor([[100, 100]], dtype=dougong.int8)
    result = dougong.einsum("ij,ij->i", x, x)
    assert result.dtype == dougong.int8
    assert result.tolist() == [32]  # 20000 - 78 * 256


def test_einsum_has_the_gradients_of_its_products() -> None:
    a, b = (dougong.tensor(np.random.default_rng(i).normal(size=(2, 3)), requires_grad=True) for i in (0, 1))
    dougong.einsum("ij,kj->ik", a, b).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), np.broadcast_to(b.detach().numpy().sum(0), (2, 3)))
    square = dougong.tensor(np.ones((3, 3)), requires_grad=True)
    dougong.einsum("ii", square).backward()
    assert np.array_equal(square.grad.numpy(), np.eye(3))


@pytest.mark.parametrize(
    "equation, shapes, said",
    [
        ("ij", [(2, 3), (3, 4)], "1 operands; found 2"),
        ("ij,jk->il", [(2, 3), (3, 4)], "letters of the operands"),
        ("ij->ii", [(2, 3)], "each once"),
        ("ij,jk->ik", [(2, 3), (4, 4)], "'j' stands for axes of sizes 3 and 4"),
        ("ijk", [(2, 3)], "does not fit an operand of shape (2, 3)"),
        ("i", [(2, 3)], "does not fit"),
        ("i$", [(2, 3)], "may hold letters"),
        ("ii", [(2, 3)], "sizes 2 and 3"),
    ],
)
def test_einsum_says_what_is_wrong_with_an_equation(equation: str, shapes: list[tuple[int, ...]], said: str) -> None:
    with pytest.raises(ValueError) as caught:
        dougong.einsum(equation, *[dougong.zeros(*shape) for shape in shapes])
    assert said in str(caught.value)
