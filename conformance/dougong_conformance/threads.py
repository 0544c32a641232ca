"""Several threads that use a plugin at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence


def in_threads(functions: Sequence[Callable[[], None]]) -> None:
    """Runs each in a thread of its own, all at a time. Raises the first error among theirs."""
    errors: list[Exception] = []
    start = threading.Barrier(len(functions))

    def guarded(function: Callable[[], None]) -> None:
        try:
            start.wait()
            function()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
