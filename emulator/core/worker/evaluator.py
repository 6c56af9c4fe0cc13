"""The evaluator's coroutine: pull the model now and then, and measure it on the test set.

The evaluator is the papers' Supervisor (Hardy et al., 2017). It is a node of its own, so measuring
never holds up the server; no link of it is shaped, so it never waits behind an update.
"""

from collections.abc import Generator
from typing import Any

from ..wire.messages import ModelReply, Pull, Score
from .worker import Await, Begun, Evaluate, Over, Tell, hello, settled, tickets


def evaluator(
    node: str, incarnation: int, parameters: int, timeout: float
) -> Generator[Tell | Await | Begun | Evaluate, Any, None]:
    """Score the versions kept by the server for evaluation, until the server says bye.

    The model has `parameters` parameters; the server has `timeout` seconds to answer.
    """
    after = 0
    try:
        yield from hello(node, incarnation, timeout)
        for ticket in tickets(incarnation):
            yield Tell(Pull(node, ticket, after))
            while not settled(model := (yield Await(timeout)), ticket, parameters, ModelReply):
                pass
            if model is not None:
                measured = yield Evaluate(model.theta)
                yield Tell(Score(node, model.version, *measured))
                after = model.version + 1
    except Over:
        return
