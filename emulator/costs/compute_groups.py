"""Compute groups of a scenario: the members, the devices' mini-batches, the mean time of a round.

With `assign: speed` devices are sorted by the expected time of an iteration, the fastest first;
equal devices keep the file's order. The time has two parts: computing a device's share of a
mini-batch within its CPU quota, and an exchange with the server, as `exchange.py` reckons it. Of a
cut model the device's part counts, and the bytes that cross the cut are carried too. The section
`virtual` and calibrations do not count, so that both runtimes, on every host, form the same groups.

A round takes as long as the group's slowest member, and the server's work. A member's time is
`shift` + `scale` · X, where X has a law of `world/laws.py` and all members draw on their own. The
mean of the largest time is the integral of 1 - F_1(t) ··· F_k(t) over t ≥ 0.

The server serves the updates of a group one after the other. It begins with the first to arrive, so
a group with random times is done sooner than all of its services after the last arrival.

A CPU quota is a budget for each period of 100 ms, so the time of a step depends on how long the
device has rested: no formula in the mean time of a step tells it. With quotas rounds are played on
the kernel's rule.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from .. import chance
from ..scenario import Scenario
from ..synchronization import ComputeGroups
from ..synchronization.groups import blocks, dealt
from ..world.cpu_quota import Quota
from ..world.laws import Exponential, Fixed, Law, LogNormal, Normal, Uniform, Weibull
from .exchange import exchanges

OPERATIONS = 6
"""Operations for each parameter and example: 2 in the forward pass, 4 in the backward pass."""
SPEED = 5e9
"""Operations that a core is taken to do in a second: a worker was measured to do 5.6e9 with
`mnist-cnn` and mini-batches of 10 (`emulate calibrate`), convolutions counted as above."""


def compute_groups(scenario: Scenario) -> tuple[tuple[str, ...], ...]:
    """Return the names of the devices in each compute group; () without `groups`."""
    if scenario.workload:
        return ()
    policy = scenario.training.synchronization
    if not isinstance(policy, ComputeGroups):
        return ()
    names = [device.name for device in scenario.nodes]
    if policy.assign == "speed":
        times = _iteration_times(scenario, policy.groups / len(names))
        names.sort(key=times.__getitem__)
    return tuple(blocks(names, policy.groups))


def dealt_batches(scenario: Scenario) -> dict[str, int]:
    """Return the examples in a mini-batch by device; {} stands for `batch_size` everywhere."""
    groups = compute_groups(scenario)
    size = scenario.training.batch_size if groups else 0
    return {
        name: examples
        for group in groups
        for name, examples in zip(group, dealt(size, len(group)), strict=True)
    }


def dealt_sizes(scenario: Scenario) -> list[int]:
    """Return the different sizes of the devices' mini-batches, the largest first."""
    return sorted(set(dealt_batches(scenario).values()), reverse=True) or [
        scenario.training.batch_size
    ]


def _iteration_times(scenario: Scenario, share: float) -> dict[str, float]:
    """Return the expected seconds of an iteration on each device, by name.

    `share` is a device's mean share of a mini-batch.
    """
    examples = scenario.training.batch_size * share
    compute = OPERATIONS * scenario.training.device_layout.size * examples / SPEED
    times = {name: exchange.seconds(examples) for name, exchange in exchanges(scenario).items()}
    return {
        name: compute / group.core + times[group.name]
        for group in scenario.devices
        for name in group.names
    }


Floats = NDArray[np.float64]

_STANDARD = NormalDist()
_TAIL = np.geomspace(1, 1e-12, 400)[1:]
_LEVELS = np.unique(np.concatenate([np.linspace(0, 1, 401)[1:-1], 1 - _TAIL, _TAIL]))
"""Probabilities at whose quantiles the integrand is evaluated: dense near 0 and near 1."""
_BEFORE = 1 - 1e-12
"""A fixed time times this number is the last moment before it, for the integral."""
_ROUNDS, _DRAWS = 4000, 400_000
"""Rounds that are drawn, fewer of them with many members: so many draws at most."""
_PACED, _FIRST = 400, 20
"""Rounds that are played with quotas, and those of them that do not count: budgets settle."""
_STEPS = 200_000
"""Steps that are played at most; a group with many members plays fewer rounds."""


@dataclass(frozen=True)
class TimedMember:
    """`count` equal members of a group."""

    shift: float
    """Seconds that are no random time, for example of a link."""
    scale: float
    """Factor of the random time, for example the share of a mini-batch."""
    law: Law
    """Law of the random time, in seconds."""
    count: int = 1

    @property
    def fixed(self) -> bool:
        """Whether the time is the same in each iteration."""
        return isinstance(self.law, Fixed) or self.scale == 0

    @property
    def mean(self) -> float:
        """Mean time of a member."""
        return self.shift + self.scale * self.law.mean


def slowest(members: Iterable[TimedMember]) -> float:
    """Return the mean seconds until the last of `members` is done; exact up to about 1e-4."""
    known = list(members)
    if all(member.fixed for member in known):
        return max(member.mean for member in known)
    times = _times(known)
    done = np.ones_like(times)  # probability that all members are done, at each time
    for member in known:
        done *= _distribution(member, times) ** member.count
    # before the first of `times` nobody is done
    return float(times[0] + np.trapezoid(1 - done, times))


def served(members: Iterable[TimedMember], serve: float) -> float:
    """Return the mean seconds until the server has served the updates of all `members`.

    Each occupies the server for `serve` seconds. The time from the last arrival on is a mean over
    drawn rounds, unless all times are fixed.
    """
    known = list(members)
    size = sum(member.count for member in known)
    if size == 1 or serve == 0:
        return slowest(known) + size * serve
    if all(member.fixed for member in known):
        arrivals = np.repeat([m.mean for m in known], [m.count for m in known])[np.newaxis]
    else:
        arrivals = _drawn(known, max(10, min(_ROUNDS, _DRAWS // size)))
    after = last_served(arrivals, serve) - arrivals.max(axis=1)
    # the mean of the last arrival is known exactly: only the rest carries the error of the draws
    return slowest(known) + float(after.mean())


def last_served(arrivals: Floats, serve: float) -> Floats:
    """Return when a free server has served all `arrivals`, in each round: f64[rounds].

    `arrivals` is f64[rounds, members]. Each service takes `serve` seconds, first come first served.
    """
    size = arrivals.shape[1]
    # whoever comes j-th finds the server free or not; from the last idle moment on it works through
    return np.asarray((np.sort(arrivals, axis=1) + serve * np.arange(size, 0, -1)).max(axis=1))


def _drawn(members: Iterable[TimedMember], rounds: int) -> Floats:
    """Return drawn times of all `members`: f64[rounds, members]."""
    dice = chance.stream(chance.predicted_rounds())
    columns = []
    for member in members:
        drawn = draws(member.law, dice, (rounds, member.count))
        columns.append(member.shift + member.scale * drawn)
    return np.concatenate(columns, axis=1)


def draws(law: Law, dice: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return draws from `law`, in seconds: f64[shape]."""
    if isinstance(law, Fixed):
        return np.full(shape, float(law.fixed))
    return np.interp(dice.random(shape), _LEVELS, _quantiles(law))


def _times(members: Iterable[TimedMember]) -> Floats:
    """Return the times at which to evaluate the integrand, in ascending order."""
    parts = [
        member.mean * np.array([_BEFORE, 1.0])
        if member.fixed
        else member.shift + member.scale * _quantiles(member.law)
        for member in members
    ]
    return np.unique(np.maximum(0, np.concatenate(parts)))


def _distribution(member: TimedMember, times: Floats) -> Floats:
    """Return the probability with which a member is done, for each of `times`."""
    if member.fixed:
        return np.asarray(times >= member.mean, np.float64)
    drawn = np.maximum(0, (times - member.shift) / member.scale)
    return np.where(times >= member.shift, _below(member.law, drawn), 0.0)


def _below(law: Law, times: Floats) -> Floats:
    """Return the distribution function of `law` at `times`, none of which is negative."""
    match law:
        case Exponential(mean):
            return np.asarray(-np.expm1(-times / mean))
        case Uniform((low, high)):
            return np.clip((times - low) / max(high - low, 1e-300), 0, 1)
        case Weibull((scale, shape)):
            return np.asarray(-np.expm1(-((times / scale) ** shape)))
        case Normal((mean, deviation)):
            return _normal((times - mean) / max(deviation, 1e-300))
        case LogNormal((median, sigma)):
            with np.errstate(divide="ignore"):
                return _normal(np.log(times / median) / sigma)
        case Fixed(fixed):
            return np.asarray(times >= fixed, np.float64)


def _normal(values: Floats) -> Floats:
    root = math.sqrt(2)
    return np.array([(1 + math.erf(value / root)) / 2 for value in values])


@lru_cache
def _quantiles(law: Law) -> Floats:
    """Return the times below which a draw from `law` lies with the probabilities `_LEVELS`."""
    match law:
        case Exponential(mean):
            return np.asarray(-mean * np.log1p(-_LEVELS))
        case Uniform((low, high)):
            return np.asarray(low + (high - low) * _LEVELS)
        case Weibull((scale, shape)):
            return np.asarray(scale * (-np.log1p(-_LEVELS)) ** (1 / shape))
        case Normal((mean, deviation)):
            return np.maximum(0, mean + deviation * _inverse_normal())
        case LogNormal((median, sigma)):
            return np.asarray(median * np.exp(sigma * _inverse_normal()))
        case Fixed(fixed):
            return np.array([float(fixed)])


@lru_cache
def _inverse_normal() -> Floats:
    return np.array([_STANDARD.inv_cdf(level) for level in _LEVELS])


# -- CPU quotas ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PacedMember:
    """A member of a group: model down, step, update up."""

    before: float
    """Seconds from the server's answer to the model's arrival."""
    scale: float
    """Factor of the step, the share of a mini-batch."""
    law: Law
    """Law of the step, in seconds of a whole core."""
    after: float
    """Seconds from the end of the step to the update's arrival."""
    core: float
    """Share of a core that the device can use."""


def mean_round(members: Sequence[PacedMember], serve: float = 0.0, rest: float = 0.0) -> float:
    """Return the mean seconds from the server's answer until it has served all updates.

    The server serves an update for `serve` seconds, in the order of arrival. The answer to the next
    round leaves `rest` seconds later, as other groups are at the server.
    """
    dice = chance.stream(chance.predicted_rounds())
    quotas = [Quota(member.core) if member.core < 1 else None for member in members]
    rounds = max(_FIRST + 10, min(_PACED, _STEPS // len(members)))
    works = [member.scale * draws(member.law, dice, (rounds,)) for member in members]
    now, counted = 0.0, 0.0
    for number in range(rounds):
        arrivals = [
            _arrival(member, quota, now, float(work[number]))
            for member, quota, work in zip(members, quotas, works, strict=True)
        ]
        done = float(last_served(np.array([arrivals]), serve)[0])
        if number >= _FIRST:
            counted += done - now
        now = done + rest
    return counted / (rounds - _FIRST)


def _arrival(member: PacedMember, quota: Quota | None, now: float, work: float) -> float:
    """Return when the update of `member` arrives after an answer at `now`."""
    began = now + member.before
    end = began + work if quota is None else quota.finish(began, work)
    return end + member.after
