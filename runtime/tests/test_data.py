"""Batches of examples."""

from __future__ import annotations

import dougong
import numpy as np
import pytest
from dougong.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)


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


class Stream(IterableDataset):
    """0 .. count - 1, of which each worker gives its share."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id, self.count, info.num_workers) if info else range(self.count))


def test_a_stream_is_cut_into_batches():
    assert [b.tolist() for b in DataLoader(Stream(5), 2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Stream(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(3), None)) == [0, 1, 2]
    assert [b.tolist() for b in DataLoader(Stream(2) + Stream(1), 2)] == [[0, 1], [0]]
    with pytest.raises(ValueError, match="order of its own"):
        DataLoader(Stream(3), shuffle=True)


def test_datasets_are_combined():
    both = ConcatDataset([[1, 2], [3]])
    assert len(both) == 3 and [both[i] for i in (0, 2, -1, -3)] == [1, 3, 3, 1]
    with pytest.raises(IndexError):
        both[3]
    assert StackDataset([1, 2], [3, 4])[1] == (2, 4)
    assert StackDataset(a=[1, 2], b=[3, 4])[0] == {"a": 1, "b": 3}
    with pytest.raises(ValueError, match="one length"):
        StackDataset([1], [1, 2])


def test_random_split_gives_every_example_to_one_part(dataset):
    parts = random_split(dataset, [0.75, 0.25], dougong.Generator().manual_seed(0))
    assert [len(part) for part in parts] == [8, 2]
    assert sorted(y.item() for part in parts for _, y in part) == list(range(10))
    (x, y) = next(iter(DataLoader(parts[0], 8)))
    assert (x[:, 0] == 2 * y).numpy().all() and y.tolist() == list(parts[0].indices)
    with pytest.raises(ValueError, match="sum to 10"):
        random_split(dataset, [3, 3])


def test_samplers_give_the_indices_that_they_promise():
    generator = dougong.Generator().manual_seed(0)
    assert list(SequentialSampler(range(3))) == [0, 1, 2]
    assert sorted(RandomSampler(range(5), generator=generator)) == [0, 1, 2, 3, 4]
    assert len(set(RandomSampler(range(100), num_samples=7, generator=generator))) == 7
    repeated = list(RandomSampler(range(3), replacement=True, num_samples=300, generator=generator))
    assert len(repeated) == 300 and set(repeated) == {0, 1, 2}
    assert sorted(SubsetRandomSampler([4, 7, 9], generator)) == [4, 7, 9]
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]] and len(BatchSampler(range(5), 2, True)) == 2


def test_weights_are_the_probabilities_of_a_weighted_sampler():
    generator = dougong.Generator().manual_seed(0)
    draws = list(WeightedRandomSampler([1.0, 0.0, 3.0], 4000, generator=generator))
    assert 1 not in draws and abs(draws.count(2) / 4000 - 0.75) < 0.03
    firsts = [next(iter(WeightedRandomSampler([1.0, 0.0, 3.0], 2, False, generator))) for _ in range(1000)]
    assert abs(firsts.count(2) / 1000 - 0.75) < 0.05
    assert set(WeightedRandomSampler([1.0, 0.0, 3.0], 2, False, generator)) == {0, 2}
    for wrong in ([0.0], [-1.0, 2.0], [float("nan")]):
        with pytest.raises(ValueError, match="weights"):
            WeightedRandomSampler(wrong, 1)


@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_shares_are_disjoint_equal_and_new_each_epoch(drop_last):
    def shares(epoch):
        samplers = [DistributedSampler(range(10), 4, rank, drop_last=drop_last) for rank in range(4)]
        for sampler in samplers:
            sampler.set_epoch(epoch)
        return [list(sampler) for sampler in samplers]

    first = shares(0)
    assert {len(share) for share in first} == {2 if drop_last else 3}
    together = [index for share in first for index in share]
    assert len(set(together)) == (8 if drop_last else 10)
    assert first == shares(0) != shares(1)
    with pytest.raises(ValueError, match="rank"):
        DistributedSampler(range(3), 2, 2)


def test_arguments_that_contradict_each_other_are_refused(dataset):
    wrong = [
        {"shuffle": True, "sampler": [0]},
        {"batch_sampler": [[0]], "batch_size": 2},
        {"batch_size": None, "drop_last": True},
        {"persistent_workers": True},
        {"prefetch_factor": 2},
        {"num_workers": 1, "prefetch_factor": 0},
        {"num_workers": -1},
    ]
    for options in wrong:
        with pytest.raises(ValueError):
            DataLoader(dataset, **options)


def test_samplers_choose_the_examples(dataset):
    def labels(**options):
        return [y.tolist() for _, y in DataLoader(dataset, **options)]

    assert labels(sampler=[5, 3, 1], batch_size=2) == [[5, 3], [1]]
    assert labels(batch_sampler=[[1], [2, 3]]) == [[1], [2, 3]]
    assert labels(batch_size=None, sampler=[7]) == [7]
    assert len(DataLoader(dataset, batch_sampler=[[1], [2, 3]])) == 2
