"""The papers' algorithms by name: what each is made of."""

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Algorithm:
    """A codec at the workers, a modulation and a synchronization at the server."""

    about: str
    paper: str
    codec: AnyCodec
    modulation: AnyModulation = Constant()
    synchronization: AnySynchronization = Asynchronous()
    error_feedback: bool = False
    optimizer: AnyOptimizer | None = None
    """None: the paper's idea goes with any, so it is the scenario's to say."""


_ONE = TopK(keep=Fraction(0.01))

ALGORITHMS: dict[str, Algorithm] = {
    # whole gradients
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
    "bsp": Algorithm(
        about="synchronous SGD: each step is the mean of a gradient from every device",
        paper="Chen et al., 2016 (arXiv 1604.00981)",
        codec=Dense(),
        synchronization=Barrier(),
    ),
    "ssp": Algorithm(
        about="asynchronous SGD in which nobody is far ahead of the slowest",
        paper="Ho et al., 2013",
        codec=Dense(),
        synchronization=Bounded(),
    ),
    "softsync": Algorithm(
        about="each step is the mean of as many gradients as there are devices, whoever sent them",
        paper="Zhang et al., 2016 (arXiv 1511.05950)",
        codec=Dense(),
        modulation=Staleness(),
        synchronization=Softsync(),
    ),
    "fedavg": Algorithm(
        about="rounds: a tenth of the devices trains for an epoch, and their models are averaged",
        paper="McMahan et al., 2017 (arXiv 1602.05629)",
        codec=Dense(),
        synchronization=FedAvg(),
    ),
    "local-sgd": Algorithm(
        about="rounds: every device makes ten steps of its own, and their models are averaged",
        paper="Stich, 2019 (arXiv 1805.09767)",
        codec=Dense(),
        synchronization=LocalSGD(),
    ),
    # some entries of each, applied as they come
    "comp-asgd": Algorithm(
        about="asynchronous SGD that sends the largest 1 % of each variable's gradient",
        paper="Shokri & Shmatikov, 2015",
        codec=_ONE,
    ),
    "adacomp": Algorithm(
        about="the largest 1 %, each step shrunk by the staleness of its own parameter",
        paper="Hardy, Le Merrer & Sericola, 2017 (arXiv 1702.04683)",
        codec=_ONE,
        modulation=PerParameter(),
    ),
    "adacomp-ef": Algorithm(
        about="as adacomp, and what is not sent is added to the next gradient",
        paper="Hardy, Le Merrer & Sericola, 2017, with Stich et al., 2018",
        codec=_ONE,
        modulation=PerParameter(),
        error_feedback=True,
    ),
    "topk-ef": Algorithm(
        about="the largest 1 %, and what is not sent is added to the next gradient",
        paper="Aji & Heafield, 2017 (arXiv 1704.05021)",
        codec=_ONE,
        error_feedback=True,
    ),
    # some entries of each, in step
    "adacomp-residual": Algorithm(
        about="each bin of 50 or 500 entries decides how many it sends, as signs of one scale",
        paper="Chen et al., 2018 (arXiv 1712.02679)",
        codec=AdaCompResidual(),
        synchronization=Barrier(),
    ),
    "dgc": Algorithm(
        about="the largest 0.1 % of what momentum has gathered, after a warm-up",
        paper="Lin et al., 2018 (arXiv 1712.01887)",
        codec=DGC(),
        synchronization=Barrier(),
    ),
    "dryden": Algorithm(
        about="the largest 1 % of the positive and of the negative entries, as their means",
        paper="Dryden et al., 2016",
        codec=Dryden(keep=Fraction(0.01)),
        synchronization=Barrier(),
    ),
    "strom": Algorithm(
        about="a step of fixed size wherever that much has come together",
        paper="Strom, 2015",
        codec=Strom(threshold=0.01),
        synchronization=Barrier(),
    ),
    "threshold-ef": Algorithm(
        about="every entry of at least a fixed size; what is below is added to the next gradient",
        paper="Dutta et al., 2020 (arXiv 1911.08250)",
        codec=Threshold(threshold=0.01),
        synchronization=Barrier(),
        error_feedback=True,
    ),
    "randomk-ef": Algorithm(
        about="1 % by lot, and what is not sent is added to the next gradient",
        paper="Stich et al., 2018 (arXiv 1809.07599)",
        codec=RandomK(keep=Fraction(0.01), unbiased=False),
        synchronization=Barrier(),
        error_feedback=True,
    ),
    # a few bits of every entry
    "onebit": Algorithm(
        about="one bit an entry and two numbers a column, with error feedback",
        paper="Seide et al., 2014",
        codec=OneBit(),
        synchronization=Barrier(),
    ),
    "qsgd": Algorithm(
        about="a few levels, drawn so that nothing is lost on average",
        paper="Alistarh et al., 2017 (arXiv 1610.02132)",
        codec=QSGD(levels=4),
        synchronization=Barrier(),
    ),
    "terngrad": Algorithm(
        about="three levels, drawn so that nothing is lost on average",
        paper="Wen et al., 2017 (arXiv 1705.07878)",
        codec=TernGrad(),
        synchronization=Barrier(),
    ),
    "signsgd": Algorithm(
        about="one bit an entry, and the model goes where most of them point",
        paper="Bernstein et al., 2018 (arXiv 1802.04434)",
        codec=SignSGD(),
        synchronization=Barrier(),
        optimizer=Sign(),
    ),
    "ef-signsgd": Algorithm(
        about="one bit an entry and a scale for each variable, with error feedback",
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
    """The name of the algorithm with exactly these parts, if it has one."""
    parts = (codec, modulation, synchronization, error_feedback)
    for name, known in ALGORITHMS.items():
        if known.optimizer not in (None, optimizer):
            continue
        if parts == (known.codec, known.modulation, known.synchronization, known.error_feedback):
            return name
    return None
