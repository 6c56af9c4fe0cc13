"""Fit of a link's set-up and pace to the times of transfers; it withstands jitter and outliers.

Theil-Sen: the pace is the median of the slopes between transfers of different sizes, each weighted
by the difference of the sizes; the set-up is the median of the rest. Up to 29 % of the transfers
may be arbitrarily wrong (Rousseeuw and Leroy, 1987, section 2.7).

The set-up is the time of a message without bytes, far from the measured sizes if these are close to
each other. So the known set-up stays unless the new one differs by more than jitter explains. Where
the rest is below zero, the link has no set-up, and the pace is the median of the times per byte.

The latest transfers are kept in bounded memory, so an estimate follows a change.

A rate above the link's own is not believed: where sizes jitter, a line through them may be too
flat, and its set-up takes the time that the rate lacks. Then the known set-up stays.
"""

import math
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .prior_costs import LinkEstimate

Floats: TypeAlias = NDArray[np.float64]

DIFFERENT = 0.1
"""Sizes differ if their difference is at least this share of the largest: with sizes closer to each
other, jitter would decide the slope."""
FASTER = 1.01
"""Ratio of a fitted rate to the link's own up to which the fit is believed."""
DOUBT = 4.0
"""Standard errors by which a set-up must differ from the known one to replace it."""
_NORMAL = 1.4826
"""Standard deviation of a normal law over its median absolute deviation."""


class Transfer(NamedTuple):
    """Messages that held a link in turn, without a pause."""

    messages: int
    size: int
    """Bytes of all messages together, on the wire."""
    seconds: float


class RecentRows:
    """The last `most` rows of numbers. `take` leaves out rows that an earlier `take` returned,
    except to fill up to `least` rows."""

    def __init__(self, width: int, most: int, least: int) -> None:
        """A row has `width` numbers."""
        # a ring: a fleet has many devices, and an array takes less memory than tuples
        self._ring = np.empty((most, width))
        self._least = least
        self._added = 0
        self._taken = 0

    def add(self, row: ArrayLike) -> None:
        self._ring[self._added % len(self._ring)] = row
        self._added += 1

    def take(self) -> Floats:
        """Return the rows since the last call, the oldest first, or the last `least` if fewer.

        So an estimate from the rows shows a change that came after the last call.
        """
        wanted = max(self._added - self._taken, self._least)
        self._taken = self._added
        number = min(wanted, self._added, len(self._ring))
        return self._ring[np.arange(self._added - number, self._added) % len(self._ring)]


def fit(transfers: Floats, before: LinkEstimate, least: float = 0.0) -> LinkEstimate:
    """Return the estimate of the link of `transfers`.

    A row holds the numbers of a `Transfer`. `before` is the last estimate. Its delay stays; so does
    its set-up if all sizes are alike, since a single size cannot tell set-up from pace, or if the
    measured set-up is within the error that jitter causes. Without transfers the estimate stays.
    `least` is the pace of the link's own rate, in seconds per byte, below which no slope is
    believed; 0 if it is unknown.
    """
    if not len(transfers):
        return before
    messages, sizes, seconds = transfers.T
    # a group of n messages counts as n messages of its mean size and time
    sizes, seconds = sizes / messages, seconds / messages
    estimate = _fitted(sizes, seconds, before, least)
    if estimate.pace * FASTER >= least:
        return estimate
    setup = max(0.0, float(np.median(seconds - least * sizes)))
    return msgspec.structs.replace(before, setup=setup, pace=least)


def _fitted(sizes: Floats, seconds: Floats, before: LinkEstimate, least: float) -> LinkEstimate:
    """Return the estimate from messages of `sizes` that took `seconds` each."""
    slope = _slope(sizes, seconds)
    if slope is None or max(0.0, slope) * FASTER < least:
        return _paced(sizes, seconds, before)
    pace = max(0.0, slope)
    setup = float(np.median(seconds - pace * sizes))
    if abs(setup - before.setup) <= DOUBT * _standard_error(sizes, seconds - pace * sizes - setup):
        return _paced(sizes, seconds, before)
    if setup < 0.0:
        # too steep: with this pace and no set-up, all transfers would take longer than they did
        some = sizes > 0
        pace = max(0.0, _weighted_median(seconds[some] / sizes[some], sizes[some]))
        setup = 0.0
    return msgspec.structs.replace(before, setup=setup, pace=pace)


def _slope(sizes: Floats, seconds: Floats) -> float | None:
    """Return the weighted median of the slopes; None if no two sizes differ."""
    first, second = np.triu_indices(sizes.size, 1)
    apart = sizes[second] - sizes[first]
    chosen = np.abs(apart) >= max(DIFFERENT * sizes.max(), np.finfo(float).tiny)
    if not chosen.any():
        return None
    apart, later = apart[chosen], (seconds[second] - seconds[first])[chosen]
    return _weighted_median(later / apart, np.abs(apart))


def _standard_error(sizes: Floats, residuals: Floats) -> float:
    """Return the standard error of the set-up: of a regression's value at size 0, with a scatter of
    `residuals` around the line that outliers do not move."""
    scatter = _NORMAL * float(np.median(np.abs(residuals)))
    # the line is known best at the mean size; the distance from there to 0 counts in deviations
    distance = float(sizes.mean() / sizes.std())
    return scatter * math.sqrt((1.0 + distance**2) / sizes.size)


def _weighted_median(values: Floats, weights: Floats) -> float:
    """Return the value up to which the sorted `values` have half of all `weights`."""
    order = np.argsort(values)
    reached = weights[order].cumsum()
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])


def _paced(sizes: Floats, seconds: Floats, before: LinkEstimate) -> LinkEstimate:
    """Return `before` with a pace that explains the transfers beside the set-up of `before`."""
    size, took = float(np.median(sizes)), max(0.0, float(np.median(seconds)))
    if took > before.setup and size > 0:
        some = sizes > 0
        paces = (seconds[some] - before.setup) / sizes[some]
        return msgspec.structs.replace(before, pace=max(0.0, _weighted_median(paces, sizes[some])))
    # faster than the set-up alone: the link as a whole has become faster
    expected = before.setup + before.pace * size
    faster = took / expected if expected else 0.0
    return msgspec.structs.replace(before, setup=before.setup * faster, pace=before.pace * faster)
