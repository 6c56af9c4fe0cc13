"""Codecs whose paper presumes another optimizer than the scenario has."""

from ..codecs import DGC
from ..optimizers import SGD
from ..scenario.demand import Shortfall
from ..scenario.model import Scenario


def unfit_optimizer(scenario: Scenario) -> list[Shortfall]:
    """Return a warning if the codec of `scenario` presumes plain SGD and the optimizer differs."""
    training = scenario.training
    if not isinstance(training.codec, DGC) or training.optimizer == SGD():
        return []
    reason = DGC.presumes_sgd
    return [
        Shortfall(
            "warning",
            f"optimizer: {training.optimizer.kind}: the codec {training.codec.kind} presumes sgd: "
            f"{reason}: leave the optimizer out, or choose another codec",
        )
    ]
