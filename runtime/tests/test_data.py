"""Batches of examples."""

from __future__ import annotations

import dougong
import numpy as np
import pytest
from dougong.data import DataLoader, TensorDataset, default_collate


@pytest.fixture
def dataset():
    return TensorDataset(dougong.arange(10).float().reshape(10, 1) * 2, dougong.arange(10))


def test_dataset_gives_rows_of_each_tensor(dataset):
    assert len(dataset) == 10
    x, y = dataset[3]
    assert (x.tolist(), y.item()) == ([6], 3)
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        TensorDataset(dougong.zeros(2), dougong.zeros(3))


@pytest.mark.parametrize(("drop_last", "sizes"), [(False, [4, 4, 2]), (True, [4, 4])])
def test_batches_come_in_order_and_the_last_one_may_be_dropped(dataset, drop_last, sizes):
    loader = DataLoader(dataset, batch_size=4, drop_last=drop_last)
    batches = list(loader)
    assert len(loader) == len(sizes)
    assert [len(y) for _, y in batches] == sizes
    assert [v for _, y in batches for v in y.tolist()] == list(range(sum(sizes)))
    assert all((x[:, 0] == 2 * y).numpy().all() for x, y in batches)


def test_shuffled_batches_hold_each_example_once_and_follow_the_generator(dataset):
    def epoch(loader):
        return [v for _, y in loader for v in y.tolist()]

    loader = DataLoader(dataset, 3, shuffle=True, generator=dougong.Generator().manual_seed(1))
    first, second = epoch(loader), epoch(loader)
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    again = DataLoader(dataset, 3, shuffle=True, generator=dougong.Generator().manual_seed(1))
    assert epoch(again) == first
    dougong.manual_seed(1)
    assert epoch(DataLoader(dataset, 3, shuffle=True)) == first


def test_any_sequence_is_collated_field_by_field():
    examples = [{"x": np.float32(i), "y": (i, dougong.ones(2) * i), "name": str(i)} for i in range(3)]
    (batch,) = DataLoader(examples, batch_size=3)
    assert batch["x"].tolist() == [0, 1, 2]
    assert batch["y"][0].tolist() == [0, 1, 2]
    assert batch["y"][1].tolist() == [[0, 0], [1, 1], [2, 2]]
    assert batch["name"] == ["0", "1", "2"]
    assert default_collate([[1, 2], [3, 4]])[1].tolist() == [2, 4]
    assert list(DataLoader([5, 6], 2, collate_fn=sum)) == [11]


def test_wrong_batch_size_is_refused(dataset):
    with pytest.raises(ValueError, match="batch_size"):
        DataLoader(dataset, 0)
    assert list(DataLoader([], 2)) == []
