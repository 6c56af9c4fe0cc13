"""The evaluator's story: pull the model now and then, and measure it on the test set.

The papers' Supervisor (Hardy et al., 2017): a peer of its own, so measuring never holds up
the server, and on no shaped link, so it never waits behind an update.
"""

from .messages import Pull, Score
from .worker import Await, Evaluate, Over, Story, Tell, hello, settled, tickets


def evaluator(
    node: str, incarnation: int, every: int, parameters: int, patience: float
) -> Story[None]:
    """Score the first model, then the next one at each multiple of `every` updates."""
    due = 0
    try:
        yield from hello(node, incarnation, patience)
        for ticket in tickets(incarnation):
            yield Tell(Pull(node, ticket, after=due))
            while not settled(model := (yield Await(patience)), ticket, parameters):
                pass
            if model is not None:
                accuracy, loss = yield Evaluate(model.theta)
                yield Tell(Score(node, model.version, accuracy, loss))
                due = (model.version // every + 1) * every
    except Over:
        return
