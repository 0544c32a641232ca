"""Work on several threads gives the bits of one thread, in a forked child too, and beside other threads."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

WORK = """
    import hashlib
    import os
    import sys
    import threading

    import dougong
    from dougong.nn import functional as F

    def digest():
        dougong.manual_seed(1)
        x = dougong.rand(700, 1500) - 0.5
        h = x.to(dtype=dougong.bfloat16)
        results = [
            x * 2 + 1, x.T * 3, h + h, x.sum(), x.sum(0), x.sum(1), x.T.sum(0), x.max(), x.var(0), F.softmax(x),
            F.softmax(x, 0), F.log_softmax(h), F.layer_norm(x, (1500,)), dougong.logsumexp(x, 1), x.cumsum(1),
            F.gelu(x), h.sum(1),
        ]
        whole = hashlib.sha256()
        for result in results:
            whole.update(result.to(dtype=dougong.float32).numpy().tobytes())
        return whole.hexdigest()

    print(digest())
    if sys.argv[1] == "fork":
        child = os.fork()
        if child == 0:
            print(digest(), flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    if sys.argv[1] == "threads":
        found = []
        threads = [threading.Thread(target=lambda: found.append(digest())) for _ in range(1)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            x = dougong.rand(300000)
            assert abs((x + x).sum().item() - 2 * x.sum().item()) < 1
        for thread in threads:
            thread.join()
        print(*found)
"""


def digests(threads: int, how: str = "alone") -> list[str]:
    environment = dict(os.environ, DOUGONG_NUM_THREADS=str(threads))
    command = [sys.executable, "-c", textwrap.dedent(WORK), how]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(("threads", "how"), [(2, "alone"), (5, "alone"), (3, "fork"), (3, "threads")])
def test_the_bits_are_those_of_one_thread(threads: int, how: str) -> None:
    assert set(digests(threads, how)) == set(digests(1)), how
