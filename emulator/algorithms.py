"""The papers' algorithms by name: what each is made of."""

from dataclasses import dataclass

from .codecs import AnyCodec, Dense, TopK
from .modulation import AnyModulation, Constant, PerParameter, Staleness
from .synchronization import AnySynchronization, Asynchronous
from .units import Fraction


@dataclass(frozen=True)
class Algorithm:
    """A codec at the workers, a modulation and a synchronization at the server."""

    about: str
    paper: str
    codec: AnyCodec
    modulation: AnyModulation = Constant()
    synchronization: AnySynchronization = Asynchronous()
    error_feedback: bool = False


ALGORITHMS: dict[str, Algorithm] = {
    "asgd": Algorithm(
        about="asynchronous SGD: whole gradients, applied as they come",
        paper="Dean et al., 2012",
        codec=Dense(),
    ),
    "ada-sgd": Algorithm(
        about="asynchronous SGD whose step shrinks with the staleness of the gradient",
        paper="Zhang et al., 2016 (arXiv 1511.05950)",
        codec=Dense(),
        modulation=Staleness(),
    ),
    "comp-asgd": Algorithm(
        about="asynchronous SGD that sends the largest 1 % of each variable's gradient",
        paper="Shokri & Shmatikov, 2015",
        codec=TopK(keep=Fraction(0.01)),
    ),
    "adacomp": Algorithm(
        about="the largest 1 %, each step shrunk by the staleness of its own parameter",
        paper="Hardy, Le Merrer & Sericola, 2017 (arXiv 1702.04683)",
        codec=TopK(keep=Fraction(0.01)),
        modulation=PerParameter(),
    ),
}


def name_of(
    codec: AnyCodec,
    modulation: AnyModulation,
    synchronization: AnySynchronization,
    error_feedback: bool,
) -> str | None:
    """The name of the algorithm with exactly these parts, if it has one."""
    parts = (codec, modulation, synchronization, error_feedback)
    for name, known in ALGORITHMS.items():
        if parts == (known.codec, known.modulation, known.synchronization, known.error_feedback):
            return name
    return None
