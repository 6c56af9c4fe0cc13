"""The access link between a node and the WAN, as plain numbers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeAlias

from ...errors import MisplacedKeysError
from ...units import AtLeast, Checked, Fraction, Rate, Seconds
from .link_steps import LinkStep, PlayedTrace
from .loss_models import LossModel

WAYS = ("up", "down")
"""Directions of a link, from the device and to it."""
ETHERNET = 1514
"""Bytes of a full Ethernet frame, as `tc` counts them."""
SEGMENT = 1448
"""Bytes of a TCP stream in a full frame, with timestamps."""
FRAME = ETHERNET / SEGMENT
"""Ethernet bytes for each byte of a TCP stream (MSS 1448 with timestamps), as `tc` counts."""

Distribution: TypeAlias = Literal["normal", "uniform", "pareto", "paretonormal"]
"""netem's distributions of the delay."""

SILENT = 1 - 5e-7
"""Share of lost packets from which none arrives: nft and tc round it to 100 %."""
_OPTIONAL = {"optional": True}
"""Metadata of a key that a resolved scenario and other files name only where it is set."""
_MOST_OVERHEAD = 1000
_MOST_PACKETS = 2**31


def _check_overhead(overhead: int) -> None:
    if not 0 <= overhead <= _MOST_OVERHEAD:
        raise ValueError(f"{overhead} is not a number of bytes from 0 to {_MOST_OVERHEAD}")


def _check_packets(packets: int) -> None:
    AtLeast(1).check(packets)
    if packets > _MOST_PACKETS:
        raise ValueError(f"{packets} is too large: write a number up to {_MOST_PACKETS}")


_Packets = Annotated[int, Checked(_check_packets)]


@dataclass(frozen=True)
class Side:
    """A direction of an access link. All times are one-way."""

    rate: Rate | None = None
    """Rate of Ethernet frames, as `tc` counts; TCP delivers 1448/1514 of it. Default: unlimited."""
    delay: Seconds = Seconds(0)
    """Propagation delay."""
    jitter: Seconds = Seconds(0)
    """Jitter: standard deviation of a `normal` delay, at most the delay. As in netem, the deviation
    of the other distributions is a part of it: 58% for `uniform`, and about 84 to 88% for
    `paretonormal` and `pareto`."""
    loss: Fraction = Fraction(0)
    """Share of packets that are lost."""
    setup: Seconds = Seconds(0)
    """Time before each message's first bit, in which the link is busy."""
    distribution: Distribution = field(default="normal", metadata=_OPTIONAL, kw_only=True)
    """Distribution of the delay, in netem's words: for `uniform` the delay is at most `jitter` from
    its mean; for `pareto` and `paretonormal` a few packets take much longer. Default: `normal`."""
    correlation: Fraction = field(default=Fraction(0), metadata=_OPTIONAL, kw_only=True)
    """Correlation of a packet's jitter with the jitter of the packet before it."""
    loss_model: LossModel | None = field(default=None, metadata=_OPTIONAL, kw_only=True)
    """Model of loss in bursts, in place of `loss`: `{gemodel: {p: 1%, r: 25%}}`."""
    duplicate: Fraction = field(default=Fraction(0), metadata=_OPTIONAL, kw_only=True)
    """Share of packets that arrive twice."""
    corrupt: Fraction = field(default=Fraction(0), metadata=_OPTIONAL, kw_only=True)
    """Share of packets with a wrong bit, which the receiver's checksum discards."""
    reorder: Fraction = field(default=Fraction(0), metadata=_OPTIONAL, kw_only=True)
    """Share of packets that pass without the delay, and so overtake others. It needs a `delay`."""
    gap: _Packets = field(default=1, metadata=_OPTIONAL, kw_only=True)
    """Distance of packets that `reorder` may choose: with `5`, at most each fifth packet overtakes
    others."""
    limit: _Packets | None = field(default=None, metadata=_OPTIONAL, kw_only=True)
    """Number of packets that the direction holds, waiting or under way; more are dropped. Default:
    the packets under way and a queue of 250 ms."""
    overhead: Annotated[int, Checked(_check_overhead)] = field(
        default=0, metadata=_OPTIONAL, kw_only=True
    )
    """Bytes that the `rate` is charged for each frame beyond its 1514, for example 8 for PPPoE."""
    steps: tuple[LinkStep, ...] = field(default=(), metadata=_OPTIONAL, kw_only=True)
    """Steps: other values of `rate`, `delay`, `jitter` and `loss` from times of the run on."""
    trace: PlayedTrace | None = field(default=None, metadata=_OPTIONAL, kw_only=True)
    """Trace: rate, delay and loss over time from a file, in place of the side's own."""

    def __post_init__(self) -> None:
        _check_packets(self.gap)
        _check_overhead(self.overhead)
        if self.limit is not None:
            _check_packets(self.limit)
        if conflicts := list(self._conflicts()):
            raise MisplacedKeysError(conflicts)

    def _conflicts(self) -> Iterator[tuple[str | tuple[str | int, ...], str]]:
        """Yield the keys that contradict others, with messages; no key for the whole side."""
        if self.jitter > self.delay:
            yield "", f"jitter {self.jitter} is above its delay {self.delay}"
        if self.distribution != "normal" and not self.jitter:
            yield "distribution", f"{self.distribution} without jitter: give `jitter`"
        if self.correlation and not self.jitter:
            yield "correlation", f"{self.correlation} without jitter: give `jitter`"
        if self.loss and self.loss_model is not None:
            yield "loss_model", "either `loss` or `loss_model`: leave one of them out"
        if self.reorder and not self.delay:
            yield "reorder", f"{self.reorder} without delay, so nothing is overtaken: give `delay`"
        if self.gap > 1 and not self.reorder:
            yield "gap", f"{self.gap} without packets to reorder: give `reorder`"
        if self.overhead and self.rate is None:
            yield "overhead", f"{self.overhead} bytes of no rate: give `rate`"
        if self.steps and self.trace is not None:
            yield "trace", "either `steps` or `trace`: leave one of them out"
        if self.loss_model is not None and self.trace is not None and self.trace.loses:
            yield "loss_model", "the `trace` has losses of its own: leave one of them out"
        yield from self._step_conflicts()

    def _step_conflicts(self) -> Iterator[tuple[str | tuple[str | int, ...], str]]:
        for number, (before, step) in enumerate(pairwise(self.steps), 1):
            if step.at <= before.at:
                message = f"{step.at} does not follow {before.at}: steps stand in increasing time"
                yield ("steps", number, "at"), message
        try:
            own = replace(self, steps=(), trace=None) if self.steps else self
        except MisplacedKeysError:  # each step would repeat it
            return
        for number, step in enumerate(self.steps):
            try:
                replace(own, **step.named)
            except MisplacedKeysError as error:
                yield ("steps", number), str(error)

    @property
    def shaped(self) -> bool:
        """Whether the side has any property of a real link."""
        return self != Side()

    @property
    def changes(self) -> bool:
        """Whether the side changes over time, by itself."""
        return bool(self.steps) or self.trace is not None

    @property
    def drawn(self) -> bool:
        """Whether a draw decides what becomes of a single frame, or frames are counted."""
        return self.loss > 0 or self.drawn_by_keys

    @property
    def drawn_by_keys(self) -> bool:
        """Whether a draw other than that of `loss` decides, or frames are counted."""
        shares = self.duplicate, self.corrupt, self.reorder
        return any(shares) or self.loss_model is not None or self.limit is not None

    @property
    def lossy(self) -> bool:
        """Whether packets are lost at random."""
        return self.loss > 0 or self.loss_model is not None or self.corrupt > 0

    @property
    def frame(self) -> float:
        """Bytes that the rate is charged for each byte of a TCP stream, duplicates included."""
        if not (self.overhead or self.duplicate):
            return FRAME
        # netem hands a duplicate to the root of its tree, so a duplicate passes the rate, too
        return (ETHERNET + self.overhead) / SEGMENT * (1 + self.duplicate)

    @property
    def net_rate(self) -> float:
        """Rate left to plain frames, without overhead and duplicates; infinite without a rate."""
        if self.rate is None:
            return math.inf
        plain = not (self.overhead or self.duplicate)
        return float(self.rate) if plain else self.rate * FRAME / self.frame

    @property
    def loss_events(self) -> float:
        """Bursts of loss per packet, to each of which TCP reacts once; `loss` has no bursts."""
        if self.loss_model is None:
            events = float(self.loss)
        else:
            chain = self.loss_model.chain
            events = chain.mean / chain.burst if chain.burst else 0.0
        return 1 - (1 - events) * (1 - self.corrupt) if self.corrupt else events

    @property
    def lost(self) -> float:
        """Share of packets that do not arrive whole, in the long run."""
        lost = float(self.loss) if self.loss_model is None else self.loss_model.chain.mean
        return 1 - (1 - lost) * (1 - self.corrupt) if self.corrupt else lost

    @property
    def silent(self) -> bool:
        """Whether no packet arrives whole, in the long run."""
        return self.lost >= SILENT

    def transfer(self, size: float) -> float:
        """Return the seconds until the last bit of `size` application bytes arrives."""
        serialised = 0.0 if self.rate is None else size * 8 * self.frame / self.rate
        return self.setup + serialised + self.delay


def named_keys(side: Side) -> dict[str, Any]:
    """Return the keys of `side` and their values, of the optional keys only those that are set."""
    return {
        each.name: getattr(side, each.name)
        for each in fields(side)
        if not each.metadata.get("optional") or getattr(side, each.name) != each.default
    }


@dataclass(frozen=True)
class Link:
    """A node's access link: `up` from the node to the WAN, `down` from the WAN to the node."""

    up: Side = field(default_factory=Side)
    down: Side = field(default_factory=Side)

    @property
    def shaped(self) -> bool:
        return self.up.shaped or self.down.shaped

    @property
    def changes(self) -> bool:
        """Whether a side changes over time, by itself."""
        return self.up.changes or self.down.changes
