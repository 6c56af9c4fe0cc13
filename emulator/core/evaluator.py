"""The evaluator's story: pull the model now and then, and measure it on the test set.

The papers' Supervisor (Hardy et al., 2017): a peer of its own, so measuring never holds up
the server, and on no shaped link, so it never waits behind an update.
"""

from .messages import Pull, Score
from .worker import Await, Evaluate, Over, Story, Tell, hello, settled, tickets


def evaluator(node: str, incarnation: int, parameters: int, patience: float) -> Story[None]:
    """Score each version that the server has kept to be measured, until the server says bye."""
    after = 0
    try:
        yield from hello(node, incarnation, patience)
        for ticket in tickets(incarnation):
            yield Tell(Pull(node, ticket, after))
            while not settled(model := (yield Await(patience)), ticket, parameters):
                pass
            if model is not None:
                accuracy, loss = yield Evaluate(model.theta)
                yield Tell(Score(node, model.version, accuracy, loss))
                after = model.version + 1
    except Over:
        return
