"""Loss of single frames: of each apart, or in bursts by the chain of a loss model."""

from collections.abc import Callable
from random import Random

from ...world.link import Side


def loss_of(side: Side, draws: Random) -> Callable[[], bool] | None:
    """Return a function that draws whether the next frame is lost; None for a lossless side."""
    if side.loss_model is not None:
        chain = side.loss_model.chain.draws(draws)
        return lambda: next(chain)
    if not side.loss:
        return None
    loss, draw = float(side.loss), draws.random
    return lambda: draw() < loss
