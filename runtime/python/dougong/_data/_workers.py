"""Worker processes of a DataLoader: what they do, and the parent's side of them.

A worker reads messages from one pipe and writes to another: an epoch begins, a batch is wanted, stop. Its random seeds
are the epoch's plus its number, and batch k always goes to the same worker, so that a run can be repeated.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import random
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any

from .. import _random
from ._collate import default_collate, default_convert
from ._spool import Spool

_GRACE = 2.0  # seconds for the workers to end by themselves


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this process is; what a stream needs to give out its own share of the examples."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Of the worker that calls it; None in any other process."""
    return _info


_END = object()  # there are no more examples


@dataclass(frozen=True)
class Fetch:
    """How a batch is made."""

    collate: Callable[[Any], Any] | None
    batched: bool
    iterable: bool
    batch_size: int | None  # of a stream
    drop_last: bool

    def open(self, dataset: Any) -> Callable[[Any], Any]:
        """A function from what the sampler gave to a batch, or to _END."""
        if self.iterable:
            iterator = iter(dataset)
            return lambda _: self._next(iterator)
        return lambda index: self._get(dataset, index)

    def _get(self, dataset: Any, index: Any) -> Any:
        if not self.batched:
            return (self.collate or default_convert)(dataset[index])
        if self.collate is None and hasattr(dataset, "batch"):
            return dataset.batch(index)
        return (self.collate or default_collate)([dataset[i] for i in index])

    def _next(self, iterator: Iterator[Any]) -> Any:
        if not self.batched:
            example = next(iterator, _END)
            return _END if example is _END else (self.collate or default_convert)(example)
        examples = list(islice(iterator, self.batch_size))
        if not examples or (self.drop_last and len(examples) < self.batch_size):
            return _END
        return (self.collate or default_collate)(examples)

    def batches(self, dataset: Any, indices: Iterable[Any]) -> Iterator[Any]:
        """In this process."""
        fetch = self.open(dataset)
        for index in indices:
            batch = fetch(index)
            if batch is _END:
                return
            yield batch


# -- in the worker -------------------------------------------------------------------------------------------------


class _Worker:
    def __init__(self, number: int, count: int, dataset: Any, fetch: Fetch, init_fn: Any, spool: Spool) -> None:
        self.number, self.count, self.dataset, self.init_fn = number, count, dataset, init_fn
        self.how, self.spool = fetch, spool
        self.epoch, self.begun = 0, False
        self.problem: tuple[str, Any] | None = None  # of the beginning: said for every batch

    def begin(self, epoch: int, seed: int) -> None:
        global _info
        self.epoch, self.problem = epoch, None
        seed = (seed + self.number) % 2**64
        _info = WorkerInfo(self.number, self.count, seed, self.dataset)
        _seed(seed)
        try:
            if not self.begun and self.init_fn is not None:
                self.init_fn(self.number)
            self.begun = True
            self.fetch = self.how.open(self.dataset)
        except Exception as error:
            self.problem = _described(error)

    def answer(self, task: int, index: Any) -> bytes:
        kind, value = self.problem or self._batch(index)
        return self.spool.write((self.epoch, task, kind, value))

    def _batch(self, index: Any) -> tuple[str, Any]:
        try:
            batch = self.fetch(index)
            return ("end", None) if batch is _END else ("batch", batch)
        except Exception as error:
            return _described(error)


def _described(error: Exception) -> tuple[str, Any]:
    """The error itself where it can be pickled, and how it came about."""
    import pickle

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return "error", (None, text)
    return "error", (error, text)


def _seed(seed: int) -> None:
    random.seed(seed)
    _random.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def _work(worker: _Worker, tasks: Connection, results: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and ends the workers
    parent = multiprocessing.parent_process()
    waiting: deque[Any] = deque()
    with contextlib.suppress(BrokenPipeError, EOFError):
        while True:
            while tasks.poll():
                waiting.append(worker.spool.read(tasks.recv_bytes()))
            if any(message[0] == "stop" for message in waiting):
                return
            if not waiting:
                if parent is not None and wait([tasks, parent.sentinel]) == [parent.sentinel]:
                    worker.spool.remove()  # nobody else is left to do it
                    return
                continue
            kind, *rest = waiting.popleft()
            if kind == "epoch":
                worker.begin(*rest)
            else:
                results.send_bytes(worker.answer(*rest))


# -- in the parent -------------------------------------------------------------------------------------------------


class WorkerError(RuntimeError):
    """A worker died, or takes too long: the others are of no use any more."""


class WorkerTraceback(Exception):
    """The cause of an error that came out of a worker: where it was raised there."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


class Pool:
    """Running workers. ``close`` ends them, whatever they do."""

    def __init__(self, dataset: Any, fetch: Fetch, count: int, init_fn: Any, context: Any) -> None:
        self._owner, self._spool = os.getpid(), Spool.make()
        atexit.register(self.close)
        self.epoch = 0
        self.processes: list[Any] = []
        self._tasks: list[Connection] = []
        self._results: list[Connection] = []
        try:
            for number in range(count):
                self._start(_Worker(number, count, dataset, fetch, init_fn, self._spool), context)
        except BaseException:
            self.close()
            raise

    def _start(self, worker: _Worker, context: Any) -> None:
        tasks, to_worker = context.Pipe(duplex=False)
        from_worker, results = context.Pipe(duplex=False)
        name = f"DataLoader worker {worker.number}"
        process = context.Process(target=_work, args=(worker, tasks, results), daemon=True, name=name)
        process.start()
        # The worker alone holds its end now: its death is the end of the file.
        tasks.close(), results.close()
        self.processes.append(process)
        self._tasks.append(to_worker)
        self._results.append(from_worker)

    def begin(self, seed: int) -> int:
        """A new epoch; what is left of the one before does not come any more."""
        self.epoch += 1
        for number in range(len(self.processes)):
            self._send(number, ("epoch", self.epoch, seed))
        return self.epoch

    def submit(self, number: int, task: int, index: Any) -> None:
        self._send(number, ("batch", task, index))

    def _send(self, number: int, message: Any) -> None:
        try:
            self._tasks[number].send_bytes(self._spool.write(message))
        except OSError:
            self._raise_dead(number)

    def receive(self, timeout: float | None) -> tuple[int, str, Any]:
        """A task that is done, what became of it, and the batch or error."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if end is None else max(end - time.monotonic(), 0)
            ready = wait([*self._results, *(process.sentinel for process in self.processes)], left)
            if not ready:
                raise WorkerError(f"DataLoader: no worker gave a batch within {timeout} seconds (timeout)")
            for number, connection in enumerate(self._results):
                if connection in ready or self.processes[number].sentinel in ready:
                    found = self._read(number, connection)
                    if found is not None:
                        return found

    def _read(self, number: int, connection: Connection) -> tuple[int, str, Any] | None:
        try:
            if not connection.poll():
                self._raise_dead(number)
            epoch, task, kind, value = self._spool.read(connection.recv_bytes())
        except (EOFError, OSError):
            self._raise_dead(number)
        return (task, kind, value) if epoch == self.epoch else None

    def _raise_dead(self, number: int) -> None:
        process = self.processes[number]
        process.join(1)
        code = process.exitcode
        how = f"ended with exit code {code}" if code is None or code >= 0 else f"was killed by {_signal(-code)}"
        raise WorkerError(
            f"DataLoader: worker {number} (pid {process.pid}) {how}; if the system killed it, it may have been out of "
            "memory: try fewer workers or smaller batches"
        )

    def close(self) -> None:
        if os.getpid() != self._owner:
            return  # a fork's copy
        atexit.unregister(self.close)
        for tasks in self._tasks:
            with contextlib.suppress(OSError):
                tasks.send_bytes(self._spool.write(("stop",)))
        end = time.monotonic() + _GRACE
        for process in self.processes:
            process.join(max(end - time.monotonic(), 0))
        for ending in ("terminate", "kill"):
            for process in self.processes:
                if process.is_alive():
                    getattr(process, ending)()
                    process.join(1)
        for connection in [*self._tasks, *self._results]:
            connection.close()
        self._spool.remove()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def ordered_batches(pool: Pool, indices: Iterable[Any], seed: int, ahead: int, timeout: float | None) -> Iterator[Any]:
    """The batches in the order of their indices, `ahead` of them under way in each worker."""
    epoch, count = pool.begin(seed), len(pool.processes)
    active, waiting, done = list(range(count)), iter(indices), {}
    owners: list[int] = []  # of the tasks

    def submit() -> None:
        index = next(waiting, _END) if active else _END
        if index is _END:
            return
        owner = next(w for w in ((len(owners) + i) % count for i in range(count)) if w in active)
        owners.append(owner)
        pool.submit(owner, len(owners) - 1, index)

    for _ in range(ahead * count):
        submit()
    task = 0
    while task < len(owners):
        if pool.epoch != epoch:
            raise RuntimeError("DataLoader: another loop over the same persistent workers has begun")
        while task not in done:
            found, kind, value = pool.receive(timeout)
            done[found] = kind, value
        kind, value = done.pop(task)
        if kind == "end" and owners[task] in active:
            active.remove(owners[task])
        task += 1
        submit()
        if kind == "error":
            _raise_error(*value)
        if kind == "batch":
            yield value


def _raise_error(error: BaseException | None, text: str) -> None:
    if error is None:
        raise RuntimeError(f"DataLoader: a worker raised:\n{text}")
    raise error from WorkerTraceback(text)
