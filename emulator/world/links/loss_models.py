"""Loss in bursts, as netem's `loss gemodel` and `loss state` model it: Markov chains of packets.

Probabilities are those of one packet. A written probability that is left out has netem's default.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from operator import mul
from random import Random
from typing import Any, NamedTuple

from ...errors import MisplacedKeysError
from ...units import Fraction

_KEY = "key"
"""Entry of a field's metadata: the key of the scenario file where no Python name can equal it."""


def file_key(cls: type[Any], name: str) -> str:
    """Return the key of the scenario file for the field `name` of the class `cls`."""
    field = getattr(cls, "__dataclass_fields__", {}).get(name)
    return name if field is None else str(field.metadata.get(_KEY, name))


class Chain(NamedTuple):
    """A Markov chain; a packet is lost by the state that it finds, then the state changes."""

    shares: tuple[float, ...]
    """Share of the packets that find each state, in the long run."""
    steps: tuple[tuple[float, ...], ...]
    """Probabilities of the next state, for each state."""
    losses: tuple[float, ...]
    """Probability that a packet is lost, for each state."""

    @property
    def mean(self) -> float:
        """Share of the packets that are lost, in the long run."""
        mean: float = sum(map(mul, self.shares, self.losses))
        return mean

    @property
    def burst(self) -> float:
        """Mean number of packets lost in a row; infinite if all packets are lost."""
        mean = self.mean
        # P(this packet and the next are lost); a burst ends with a loss that no loss follows
        both = sum(
            share * loss * sum(map(mul, steps, self.losses))
            for share, loss, steps in zip(self.shares, self.losses, self.steps, strict=True)
        )
        if not mean:
            return 0.0
        return mean / (mean - both) if mean > both else float("inf")

    def draws(self, rng: Random) -> Iterator[bool]:
        """Yield for packet after packet whether it is lost, from the first state on."""
        state, states = 0, range(len(self.losses))
        while True:
            yield rng.random() < self.losses[state]
            (state,) = rng.choices(states, self.steps[state])


class _Model(ABC):
    """A loss model of a scenario, described by the probabilities of a chain."""

    @property
    @abstractmethod
    def chain(self) -> Chain:
        """The chain of the model."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return pydantic's schema of the class, with the keys of the file for its fields."""
        schema = handler.resolve_ref_schema(handler(source))
        arguments = schema["schema"]
        while "fields" not in arguments:  # inside the validators of the class
            arguments = arguments["schema"]
        for each in arguments["fields"]:
            key = file_key(cls, each["name"])
            if key != each["name"]:
                each["validation_alias"] = each["serialization_alias"] = key
        return schema


@dataclass(frozen=True)
class Gemodel(_Model):
    """Gilbert-Elliott model: a good and a bad state, each with a share of lost packets."""

    p: Fraction
    """Probability that the good state becomes bad, for each packet."""
    r: Fraction | None = None
    """Probability that the bad state becomes good, for each packet: a bad state lasts 1/r packets.
    Default: 1 - p."""
    bad: Fraction = field(default=Fraction(1), metadata={_KEY: "1-h"})
    """Share of packets that are lost in the bad state."""
    good: Fraction = field(default=Fraction(0), metadata={_KEY: "1-k"})
    """Share of packets that are lost in the good state."""

    def __post_init__(self) -> None:
        if self.r is None:
            object.__setattr__(self, "r", Fraction(1 - self.p))

    @property
    def chain(self) -> Chain:
        assert self.r is not None
        p, r = float(self.p), float(self.r)
        bad = p / (p + r) if p else 0.0
        return Chain((1 - bad, bad), ((1 - p, p), (r, 1 - r)), (float(self.good), float(self.bad)))


@dataclass(frozen=True)
class FourStates(_Model):
    """Four states: packets received in a gap (1), received in a burst (2), lost in a burst (3),
    and lost alone in a gap (4)."""

    p13: Fraction
    """Probability that a burst begins, for each packet."""
    p31: Fraction | None = None
    """Probability that a burst ends after a lost packet. Default: 1 - p13."""
    p32: Fraction = Fraction(0)
    """Probability that a packet is received in a burst after a lost packet."""
    p23: Fraction = Fraction(1)
    """Probability that a packet is lost in a burst after a received packet."""
    p14: Fraction = Fraction(0)
    """Probability that a packet is lost alone, outside a burst."""

    def __post_init__(self) -> None:
        if self.p31 is None:
            object.__setattr__(self, "p31", Fraction(1 - self.p13))
        assert self.p31 is not None
        wrong = [
            (key, f"{name} and {key} are {Fraction(together)} together, above 100%")
            for key, name, together in (
                ("p14", "p13", self.p13 + self.p14),
                ("p32", "p31", self.p31 + self.p32),
            )
            if together > 1 + 1e-12
        ]
        if wrong:
            raise MisplacedKeysError(wrong)

    @property
    def chain(self) -> Chain:
        assert self.p31 is not None
        p13, p31, p32, p23, p14 = map(float, (self.p13, self.p31, self.p32, self.p23, self.p14))
        steps = (
            (1 - p13 - p14, 0.0, p13, p14),
            (0.0, 1 - p23, p23, 0.0),
            (p31, p32, max(0.0, 1 - p31 - p32), 0.0),
            (1.0, 0.0, 0.0, 0.0),
        )
        weights = self._weights(p13, p31, p32, p23, p14)
        whole = sum(weights)
        return Chain(tuple(weight / whole for weight in weights), steps, (0.0, 0.0, 1.0, 1.0))

    @staticmethod
    def _weights(
        p13: float, p31: float, p32: float, p23: float, p14: float
    ) -> tuple[float, float, float, float]:
        """Return numbers in proportion to the packets that find each state, in the long run."""
        if not p13:
            return 1.0, 0.0, 0.0, p14
        if p32 and not p23:
            return 0.0, 1.0, 0.0, 0.0  # no way out of state 2
        received = p32 / p23 if p32 else 0.0  # for each packet lost in a burst
        if not p31:
            return 0.0, received, 1.0, 0.0  # bursts without end
        lost = p13 / p31  # for each packet received in a gap
        return 1.0, lost * received, lost, p14


@dataclass(frozen=True)
class LossModel:
    """Loss that comes in bursts: `gemodel` or `state`."""

    gemodel: Gemodel | None = None
    """Gilbert-Elliott model, for example `{p: 1%, r: 25%}`: bursts of 4 packets after 100."""
    state: FourStates | None = None
    """Markov chain with four states, for example `{p13: 1%, p31: 25%, p14: 0.1%}`."""

    def __post_init__(self) -> None:
        if (self.gemodel is None) == (self.state is None):
            raise ValueError("a loss model is either {gemodel: {p: …, r: …}} or {state: {p13: …}}")

    @property
    def chain(self) -> Chain:
        """The chain of the model."""
        model = self.gemodel or self.state
        assert model is not None
        return model.chain

    def with_loss(self, loss: Fraction) -> "LossModel":
        """Return the model of packets that have to survive an independent `loss`, too.

        Raises ValueError for the model `state`, as no model of four states loses such packets.
        """
        if not loss:
            return self
        if self.gemodel is None:
            raise ValueError("a loss model `state` cannot have more loss")
        model = self.gemodel
        good, bad = (Fraction(own + (1 - own) * loss) for own in (model.good, model.bad))
        return LossModel(replace(model, good=good, bad=bad))

    def plain(self) -> dict[str, dict[str, float]]:
        """Return the probabilities for JSON, by netem's names and in netem's order.

        `LossModel.read` is the inverse.
        """
        model = self.gemodel or self.state
        kind = "state" if self.gemodel is None else "gemodel"
        values = {
            file_key(_KINDS[kind], each.name): getattr(model, each.name)
            for each in fields(_KINDS[kind])
        }
        return {kind: {key: float(value) for key, value in values.items()}}

    @classmethod
    def read(cls, plain: Mapping[str, Mapping[str, float]]) -> "LossModel":
        """Build a loss model from the output of `plain`."""
        ((kind, values),) = plain.items()
        names = {file_key(_KINDS[kind], each.name): each.name for each in fields(_KINDS[kind])}
        model = {names[key]: Fraction(value) for key, value in values.items()}
        return cls(**{kind: _KINDS[kind](**model)})


_KINDS: dict[str, type[Any]] = {"gemodel": Gemodel, "state": FourStates}
