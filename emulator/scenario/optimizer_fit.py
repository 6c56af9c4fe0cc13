"""Codecs whose paper presumes another optimizer than the scenario has."""

from ..optimizers import SGD
from .demand import Shortfall
from .model import Scenario


def unfit_optimizer(scenario: Scenario) -> list[Shortfall]:
    """Return a warning if the codec of `scenario` presumes plain SGD, and the optimizer is another.

    A codec says so with the reason in `presumes_sgd`.
    """
    training = scenario.training
    reason: str = getattr(training.codec, "presumes_sgd", "")
    if not reason or training.optimizer == SGD():
        return []
    return [
        Shortfall(
            "warning",
            f"optimizer: {training.optimizer.kind}: the codec {training.codec.kind} presumes sgd: "
            f"{reason}: leave the optimizer out, or choose another codec",
        )
    ]
