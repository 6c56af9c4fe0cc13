"""States of a durable server, compared bit for bit."""


def same(one, other) -> bool:
    """Return whether two states are equal, bit for bit."""
    return one.tree == other.tree and all(
        (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()
        for a, b in zip(one.leaves, other.leaves, strict=True)
    )
