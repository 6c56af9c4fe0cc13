"""The model that a worker holds, whose parts come from the shards of a server in any order."""

from collections.abc import Sequence

from ..layout import Layout, Segment
from ..vectors import Frames, Vector
from .floats import Values
from .held_model import HeldModel


class HeldParts:
    """A `HeldModel` for each shard. A part is held as soon as it has come."""

    def __init__(self, values: Values, layout: Layout, segments: Sequence[Segment]) -> None:
        """`segments` are the layers of the shards."""
        self._parts = {segment: HeldModel(values, layout.part(segment)) for segment in segments}

    @property
    def version(self) -> int | None:
        """Version held of all parts; None if there is none: the next answers are whole parts."""
        versions = {part.version for part in self._parts.values()}
        return versions.pop() if len(versions) == 1 else None

    def forget(self) -> None:
        """Drop all parts; the next answers will be whole parts."""
        for part in self._parts.values():
            part.forget()

    def store_segment(self, version: int, segment: Segment, theta: Vector) -> Vector:
        """Hold a copy of `theta`, the part of `segment` at `version`, and return the copy."""
        return self._parts[segment].store(version, theta)

    def decode_segment(
        self, version: int, segment: Segment, frames: Frames, base: int | None
    ) -> Vector:
        """Hold and return the part of `segment`, decoded as by `HeldModel.decode`."""
        return self._parts[segment].decode(version, frames, base)
