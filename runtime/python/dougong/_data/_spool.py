"""Objects between processes: what is small in a message, what is large in a file of memory, mapped and not copied."""

from __future__ import annotations

import itertools
import mmap
import os
import pickle
import shutil
import tempfile
from typing import Any

_INLINE = 512  # bytes: a pipe must hold the messages of all batches under way, so that nobody ever waits to write
_ALIGNMENT = 64
_MEMORY = "/dev/shm"


class Spool:
    """A folder of files that are each written by one process and read by another, once."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._names = itertools.count()

    @classmethod
    def make(cls) -> Spool:
        return cls(tempfile.mkdtemp(prefix="dougong-data-", dir=_MEMORY if os.path.isdir(_MEMORY) else None))

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, value: Any) -> bytes:
        """A message from which :meth:`read` makes the value, in any process."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
        sizes = [part.nbytes for part in parts]
        if sum(sizes) <= _INLINE:
            return pickle.dumps((None, [bytes(part) for part in parts]))
        name = f"{os.getpid()}-{next(self._names)}"
        with open(os.path.join(self.folder, name), "xb") as file:
            for part in parts:
                file.write(part)
                file.write(bytes(-part.nbytes % _ALIGNMENT))
        return pickle.dumps((name, sizes))

    def read(self, message: bytes) -> Any:
        """The value; arrays in it look at the file's memory, which goes when they go."""
        name, parts = pickle.loads(message)
        if name is not None:
            parts = self._mapped(os.path.join(self.folder, name), parts)
        return pickle.loads(parts[0], buffers=parts[1:])

    @staticmethod
    def _mapped(path: str, sizes: list[int]) -> list[memoryview]:
        with open(path, "r+b") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0))
        os.unlink(path)
        parts, begin = [], 0
        for size in sizes:
            parts.append(whole[begin : begin + size])
            begin += size + -size % _ALIGNMENT
        return parts
