"""Checks of the training: its model, data and weights, and parts that do not fit together."""

from collections.abc import Iterator
from decimal import Decimal

from ..aggregation import Krum, MultiKrum, TrimmedMean
from ..codecs import DGC
from ..errors import DataError, ScenarioError, counted
from ..learning.learners.numpy import refusal as no_perceptron
from ..learning.models import OwnModel
from ..optimizers import SGD
from ..scenario import Scenario
from ..scenario.reading.training_checks import gradients_of_a_step
from ..scenario.sections.server_section import HOST
from ..scenario.sections.training_section import initial_model
from ..scenario.timeline.compiled import verbs_of_faults
from ..synchronization import AnySynchronization, Barrier, ComputeGroups, Softsync
from ..world.faults.corrupt import VERB
from ..world.stop_conditions import CONDITIONS
from .finding import Finding, Situation, raised, refusal, warning


def trainable_model(situation: Situation) -> list[Finding]:
    """Refuse a layer table in a run that trains."""
    if not situation.trains:
        return []
    return raised(lambda: situation.scenario.training.trainable, ScenarioError)


def data_split(situation: Situation) -> list[Finding]:
    """Refuse data that is missing or damaged, and a split that leaves a device too few examples."""
    return raised(lambda: situation.split, DataError, ScenarioError)


def readable_initial_model(situation: Situation) -> list[Finding]:
    """Refuse weights in `training.initial` that are not of the model."""
    if not situation.trains:
        return []
    return raised(lambda: initial_model(situation.scenario.training), ScenarioError)


def learner_fit(scenario: Scenario) -> Iterator[Finding]:
    """Refuse models and goals that the learner of virtual time cannot train or reach."""
    learner = scenario.virtual.learner
    for key in scenario.stop.limits if learner == "none" else ():
        if why := CONDITIONS[key].unlearnt:
            yield refusal(f"stop.{key}", why)
    if learner != "numpy":
        return
    if isinstance(scenario.training.network, OwnModel):
        why = "numpy knows no Keras models: take tensorflow, or leave learner out"
        yield refusal("virtual.learner", why)
    elif why := no_perceptron(scenario.training.layout):
        yield refusal("virtual.learner", why)


def measures_in_virtual_time(scenario: Scenario) -> Iterator[Finding]:
    """Refuse measures of a run in containers that virtual time alone can make."""
    measure = scenario.measure
    remedy = "leave it out, or play the scenario with --on virtual"
    if measure is not None and measure.momentum is not None:
        yield refusal("measure.momentum", f"containers keep no trajectory: {remedy}")
    if measure is not None and measure.compression is not None:
        yield refusal(
            "measure.compression", f"devices in containers tell of no layer alone: {remedy}"
        )


def relayed_messages(scenario: Scenario) -> Iterator[Finding]:
    """Refuse relays for messages with flipped bits, and beside gateways of bottlenecks."""
    if scenario.server.relay != HOST:
        return
    if VERB in verbs_of_faults(scenario):
        yield refusal(
            "server.relay",
            "a relay takes no messages with flipped bits: leave it out, or the faults `corrupt`",
        )
    if scenario.bottlenecks:
        yield refusal(
            "server.relay",
            "the packets behind a bottleneck go to the server alone: leave one of the two out",
        )


def unfit_optimizer(scenario: Scenario) -> list[Finding]:
    """Warn of another optimizer than plain SGD with a codec that presumes it."""
    training = scenario.training
    if not isinstance(training.codec, DGC) or training.optimizer == SGD():
        return []
    why = (
        f"{training.optimizer.kind}: the codec {training.codec.kind} presumes sgd: "
        f"{DGC.presumes_sgd}: leave the optimizer out, or choose another codec"
    )
    return [warning("training.optimizer", why)]


def unguarded_quarantine(scenario: Scenario) -> list[Finding]:
    """Return a warning if the aggregation withstands liars only while all devices are heard.

    A device in quarantine sends no gradient, so a step may have one gradient less.
    """
    if scenario.server.quarantine is None:
        return []
    training, devices = scenario.training, len(scenario.nodes)
    all_heard = gradients_of_a_step(training.synchronization, devices)
    fewer = _with_one_fewer(training.synchronization, devices)
    if all_heard is None or fewer is None:
        return []
    match training.aggregation:
        case TrimmedMean(trim=trim):
            share = Decimal(repr(float(trim)))
            if not int(share * all_heard) or int(share * fewer):
                return []
            lost = (
                f"trim: {trim} leaves out nothing of the {fewer} gradients of a step while a "
                f"device is in quarantine, and {int(share * all_heard)} at each end of "
                f"{all_heard}: "
            )
            least = -(-100 // fewer) if fewer else 100
            remedy = f"write {least}% or more" if least < 50 else "have more devices"
        case Krum(liars=liars) | MultiKrum(liars=liars) as krum:
            if all_heard < krum.least or fewer >= krum.least:
                return []
            lost = (
                f"to withstand {counted(liars, 'liar')}, a step needs {krum.least} gradients (2 · "
                f"liars + 3), and has {fewer} while a device is in quarantine: "
            )
            remedy = f"write {liars - 1} liars" if liars > 1 else "have more devices"
        case _:
            return []
    return [warning("training.aggregation", f"{lost}{remedy}")]


def _with_one_fewer(policy: AnySynchronization, devices: int) -> int | None:
    """Return the gradients of a step of `devices` of which one is in quarantine; None: unknown."""
    gradients = gradients_of_a_step(policy, devices)
    if gradients is None:
        return None
    match policy:
        case Barrier() | Softsync():
            return gradients_of_a_step(policy, devices - 1)
        case ComputeGroups():  # of the smallest group
            return gradients - 1
    return min(gradients, devices - 1)  # another device is drawn in its place, if there is one
