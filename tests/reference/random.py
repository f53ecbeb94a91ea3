"""Random numbers by counter, in plain Python: number i of a stream is a hash of (stream, i)."""

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    """Hash 64 bits by the finaliser of splitmix64."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def stream(seed: int, group: int, attempt: int) -> int:
    """Return where a stream starts; numbers below zero count as their 64 bits."""
    z = mix((seed + GAMMA) & MASK)
    z = mix((z + group + GAMMA) & MASK)
    return mix((z + attempt + GAMMA) & MASK)


def bits(start: int, counter: int) -> int:
    """Return number `counter` of a stream: 64 bits."""
    return mix((start + (counter + 1) * GAMMA) & MASK)


def below(start: int, counter: int, n: int) -> int:
    """Return number `counter` of a stream in 0, ..., n - 1."""
    return ((bits(start, counter) >> 32) * n) >> 32
