"""The parts of a run in virtual time that its nodes use."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ....core.wire.messages import Request
from ....learning.learners.base import Evaluation
from ....vectors import Vector
from ....world.laws import Law
from ..alarms import Alarms
from ..clock import Heap

NodeT = TypeVar("NodeT")


@dataclass(frozen=True, slots=True)
class Surroundings(Generic[NodeT]):
    """The parts of a run used by nodes."""

    clock: Heap
    alarms: Alarms
    seed: int
    step: Law
    """Seconds of a whole core for one mini-batch."""
    request: Callable[[NodeT, Request], int]
    """Send a message to the server, over the node's own links; return its size in bytes."""
    out_of_reach: Callable[[NodeT], bool]
    """Return whether the node's connection has been given up."""
    draw_fault: Callable[[NodeT], bool]
    """Draw whether a fault strikes in this iteration; return whether the node is down now."""
    evaluate: Callable[[Vector], Evaluation]
    """Return the result of a model on the test set."""
