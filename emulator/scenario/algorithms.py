"""The papers' algorithms by name, with codec, modulation and synchronization.

In a file `training.algorithm` is replaced by the keys for which the name stands: these parts, error
feedback, and the optimizer if the algorithm's paper prescribes one.
"""

from dataclasses import dataclass
from typing import Any

from ..codecs import (
    DGC,
    QSGD,
    AdaCompResidual,
    AnyCodec,
    Dense,
    Dryden,
    EFSignSGD,
    OneBit,
    RandomK,
    SignSGD,
    Strom,
    TernGrad,
    Threshold,
    TopK,
)
from ..modulation import AnyModulation, Constant, PerParameter, Staleness
from ..optimizers import AnyOptimizer, Sign
from ..synchronization import (
    AnySynchronization,
    Asynchronous,
    Barrier,
    Bounded,
    FedAvg,
    LocalSGD,
    Softsync,
)
from ..units import Fraction
from .reading.document import Address, Document
from .reading.dump import plain
from .reading.wording import not_among


@dataclass(frozen=True)
class Algorithm:
    """An algorithm: a codec at the workers, a modulation and a synchronization at the server."""

    about: str
    """One phrase for `emulate algorithms` and `emulate schema`."""
    paper: str
    """Authors, year and, where there is one, the arXiv number."""
    codec: AnyCodec
    modulation: AnyModulation = Constant()
    synchronization: AnySynchronization = Asynchronous()
    error_feedback: bool = False
    optimizer: AnyOptimizer | None = None
    """The optimizer that the paper prescribes; None leaves the choice to the scenario."""


_TOP_PERCENT = TopK(keep=Fraction(0.01))

ALGORITHMS: dict[str, Algorithm] = {
    # whole gradients
    "asgd": Algorithm(
        about="asynchronous SGD: the server applies each whole gradient when it arrives",
        paper="Dean et al., 2012",
        codec=Dense(),
    ),
    "ada-sgd": Algorithm(
        about="asynchronous SGD: each step is divided by the staleness of its gradient",
        paper="Zhang et al., 2016 (arXiv 1511.05950)",
        codec=Dense(),
        modulation=Staleness(),
    ),
    "bsp": Algorithm(
        about="synchronous SGD: each step is the mean of a gradient from every device",
        paper="Chen et al., 2016 (arXiv 1604.00981)",
        codec=Dense(),
        synchronization=Barrier(),
    ),
    "ssp": Algorithm(
        about="asynchronous SGD in which no device gets far ahead of the slowest one",
        paper="Ho et al., 2013",
        codec=Dense(),
        synchronization=Bounded(),
    ),
    "softsync": Algorithm(
        about="each step is the mean of the next n gradients of any devices, n being their number",
        paper="Zhang et al., 2016 (arXiv 1511.05950)",
        codec=Dense(),
        modulation=Staleness(),
        synchronization=Softsync(),
    ),
    "fedavg": Algorithm(
        about="rounds: a tenth of the devices train for an epoch; the server averages the models",
        paper="McMahan et al., 2017 (arXiv 1602.05629)",
        codec=Dense(),
        synchronization=FedAvg(),
    ),
    "local-sgd": Algorithm(
        about="rounds: every device makes ten local steps; the server averages the models",
        paper="Stich, 2019 (arXiv 1805.09767)",
        codec=Dense(),
        synchronization=LocalSGD(),
    ),
    # a few entries of each gradient, applied when they arrive
    "comp-asgd": Algorithm(
        about="asynchronous SGD that sends the largest 1 % of each variable's gradient",
        paper="Shokri & Shmatikov, 2015",
        codec=_TOP_PERCENT,
    ),
    "adacomp": Algorithm(
        about="the largest 1 % of each variable, each entry divided by its parameter's staleness",
        paper="Hardy, Le Merrer & Sericola, 2017 (arXiv 1702.04683)",
        codec=_TOP_PERCENT,
        modulation=PerParameter(),
    ),
    "adacomp-ef": Algorithm(
        about="adacomp with error feedback: entries not sent are added to the next gradient",
        paper="Hardy, Le Merrer & Sericola, 2017, with Stich et al., 2018",
        codec=_TOP_PERCENT,
        modulation=PerParameter(),
        error_feedback=True,
    ),
    "topk-ef": Algorithm(
        about="the largest 1 % of each variable; entries not sent are added to the next gradient",
        paper="Aji & Heafield, 2017 (arXiv 1704.05021)",
        codec=_TOP_PERCENT,
        error_feedback=True,
    ),
    # a few entries of each gradient, in steps that all devices make together
    "adacomp-residual": Algorithm(
        about="each bin of 50 or 500 entries picks how many to send, as signs times one scale",
        paper="Chen et al., 2018 (arXiv 1712.02679)",
        codec=AdaCompResidual(),
        synchronization=Barrier(),
    ),
    "dgc": Algorithm(
        about="the largest 0.1 % of the gradients gathered with momentum, after a warm-up",
        paper="Lin et al., 2018 (arXiv 1712.01887)",
        codec=DGC(),
        synchronization=Barrier(),
    ),
    "dryden": Algorithm(
        about="the largest 1 % of the positive and of the negative entries, each side as its mean",
        paper="Dryden et al., 2016",
        codec=Dryden(keep=Fraction(0.01)),
        synchronization=Barrier(),
    ),
    "strom": Algorithm(
        about="a step of fixed size for each entry whose gathered gradient exceeds that size",
        paper="Strom, 2015",
        codec=Strom(threshold=0.01),
        synchronization=Barrier(),
    ),
    "threshold-ef": Algorithm(
        about="the entries of at least a fixed size; the others are added to the next gradient",
        paper="Dutta et al., 2020 (arXiv 1911.08250)",
        codec=Threshold(threshold=0.01),
        synchronization=Barrier(),
        error_feedback=True,
    ),
    "randomk-ef": Algorithm(
        about="a random 1 % of the entries; the others are added to the next gradient",
        paper="Stich et al., 2018 (arXiv 1809.07599)",
        codec=RandomK(keep=Fraction(0.01), unbiased=False),
        synchronization=Barrier(),
        error_feedback=True,
    ),
    # a few bits for every entry
    "onebit": Algorithm(
        about="one bit for each entry and two numbers for each column, with error feedback",
        paper="Seide et al., 2014",
        codec=OneBit(),
        synchronization=Barrier(),
    ),
    "qsgd": Algorithm(
        about="each entry rounded at random to a few levels, without bias",
        paper="Alistarh et al., 2017 (arXiv 1610.02132)",
        codec=QSGD(levels=4),
        synchronization=Barrier(),
    ),
    "terngrad": Algorithm(
        about="each entry clipped, then rounded at random to -S, 0 or S, without bias",
        paper="Wen et al., 2017 (arXiv 1705.07878)",
        codec=TernGrad(),
        synchronization=Barrier(),
    ),
    "signsgd": Algorithm(
        about="one bit for each entry; the server takes the majority of the signs",
        paper="Bernstein et al., 2018 (arXiv 1802.04434)",
        codec=SignSGD(),
        synchronization=Barrier(),
        optimizer=Sign(),
    ),
    "ef-signsgd": Algorithm(
        about="one bit for each entry and one scale for each variable, with error feedback",
        paper="Karimireddy et al., 2019 (arXiv 1901.09847)",
        codec=EFSignSGD(),
        synchronization=Barrier(),
    ),
}


def name_of(
    codec: AnyCodec,
    modulation: AnyModulation,
    synchronization: AnySynchronization,
    error_feedback: bool,
    optimizer: AnyOptimizer | None = None,
) -> str | None:
    """Return the name of the algorithm with exactly the given parts, or None."""
    parts = (codec, modulation, synchronization, error_feedback)
    for name, known in ALGORITHMS.items():
        if known.optimizer not in (None, optimizer):
            continue
        if parts == (known.codec, known.modulation, known.synchronization, known.error_feedback):
            return name
    return None


_PARTS = ("codec", "modulation", "synchronization", "error_feedback", "optimizer")


def meaning(name: str) -> dict[str, Any]:
    """Return the keys and plain values for which the algorithm `name` stands."""
    parts = {part: getattr(ALGORITHMS[name], part) for part in _PARTS}
    return {part: plain(value) for part, value in parts.items() if value is not None}


def flow(value: Any) -> str:
    """Return `value` as YAML on a single line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def spell_out(document: Document) -> None:
    """Replace `training.algorithm` of `document` by the algorithm's parts.

    Records a mistake if the name is unknown, if the file gives one of the keys too, or if the file
    has neither `algorithm` nor `codec`.
    """
    training = document.at(("training",))
    if not isinstance(training, dict):
        return
    for key in ("algorithm", "codec"):
        if training.get(key, "") is None:
            del training[key]
    if "algorithm" in training:
        _replace(document, training, training.pop("algorithm"))
    elif "codec" not in training:
        known = ", ".join(ALGORITHMS)
        message = f"does not say how to train: give `algorithm` ({known}) or spell out `codec`"
        document.complain(("training",), message)


def spell_out_towards(document: Document, address: Address) -> None:
    """Replace `training.algorithm` early if `address`, of an override, lies inside a part of it.

    An override of `training.codec.keep`, for example, needs the codec of the algorithm in place.
    """
    training = document.at(("training",))
    if len(address) < 3 or address[0] != "training" or not isinstance(training, dict):
        return
    name = training.get("algorithm")
    if not isinstance(name, str) or name not in ALGORITHMS:
        return
    parts = meaning(name)
    if address[1] in parts and not any(part in training for part in parts):
        spell_out(document)


def _replace(document: Document, training: dict[str, Any], name: Any) -> None:
    if not isinstance(name, str) or name not in ALGORITHMS:
        document.complain(("training", "algorithm"), not_among(name, ALGORITHMS))
        if "codec" not in training:  # a missing codec is not a second mistake
            document.broken.add(("training", "codec"))
        return
    parts = meaning(name)
    for part in parts:
        if part in training:
            whole = ", ".join(f"{key}: {flow(value)}" for key, value in parts.items())
            message = f"{name!r} sets this key too: remove one of the two; {name!r} means {whole}"
            document.complain(("training", part), message)
    training |= {part: value for part, value in parts.items() if part not in training}
