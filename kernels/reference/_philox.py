"""Random words by counter."""

import numpy as np

MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)
MASK = np.uint64(0xFFFFFFFF)


def philox(counters, key):
    """Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011) of (n, 4) words and a key of two words; gives (n, 4)."""
    c = [counters[:, i].astype(np.uint64) for i in range(4)]
    k = [int(word) for word in key]
    for _ in range(10):
        low = c[0] * MULTIPLIERS[0], c[2] * MULTIPLIERS[1]
        high = low[0] >> np.uint64(32), low[1] >> np.uint64(32)
        c = [
            high[1] ^ c[1] ^ np.uint64(k[0]),
            low[1] & MASK,
            high[0] ^ c[3] ^ np.uint64(k[1]),
            low[0] & MASK,
        ]
        k = [(word + step) & 0xFFFFFFFF for word, step in zip(k, WEYL, strict=True)]
    return np.stack(c, axis=1).astype(np.uint32)


def blocks(seed, offset, count):
    """The words of `count` consecutive blocks: counter offset + i as a 64-bit integer, key the seed."""
    index = np.arange(count, dtype=np.uint64) + np.uint64(offset)
    zero = np.zeros(count, np.uint64)
    counters = np.stack([index & MASK, index >> np.uint64(32), zero, zero], axis=1)
    return philox(counters, (seed & 0xFFFFFFFF, seed >> 32))


def doubles(high, low):
    """53 random bits of two words: an integer from 0 to 2**53 - 1, as float64."""
    return (high >> np.uint32(5)).astype(np.float64) * 2.0**26 + (low >> np.uint32(6)).astype(np.float64)
