"""Random streams and their names: the same name draws the same numbers on any machine.

Every draw of a run comes from a stream of its own, named by the run's seed and by the use of the
draws, for example `7/adsl-3/batches/0`. No other stream depends on how many numbers one stream has
given. This module holds the name of every stream. A name is the seed of a `numpy` generator, which
`stream` makes, or of a `random.Random`; a changed name changes every run.
"""

import hashlib
from array import array
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    import numpy as np

_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
"""NumPy's generators of random bits, by their classes."""


def stream(name: str) -> "np.random.Generator":
    """Return the NumPy generator that is seeded with the SHA-256 digest of `name`."""
    import numpy as np  # absent where packets are delayed, and a third of that process's memory

    return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()))


class Dice(Protocol):
    """A `random.Random`, or a `CompactRandom`: the draws that laws of durations make."""

    def expovariate(self, lambd: float, /) -> float: ...
    def gauss(self, mu: float, sigma: float, /) -> float: ...
    def lognormvariate(self, mu: float, sigma: float, /) -> float: ...
    def uniform(self, a: float, b: float, /) -> float: ...
    def weibullvariate(self, alpha: float, beta: float, /) -> float: ...


class CompactRandom:
    """A stream with the numbers of `Random(name)`, small while few numbers are drawn.

    A `Random` takes 2.9 kB; of a million devices each has a stream, and most draw a few numbers. So
    a stream keeps its next few numbers only. When they are used up, a generator is seeded anew with
    `name`, skips the numbers drawn so far, and is dropped after the next few.
    """

    FIRST: ClassVar = 4
    """Numbers kept at the first draw. Later blocks are as long as all blocks before them, so that
    seeding and skipping take O(1) for each number, amortised."""
    MOST: ClassVar = 256
    """Numbers after which the stream has a generator of its own: the next block would be larger."""

    __slots__ = ("_ahead", "_made", "_name", "_own", "gauss_next")

    def __init__(self, name: str) -> None:
        """Nothing is seeded before the first draw."""
        self._name = name
        self._ahead = array("d")  # the next numbers in reverse
        self._made = 0  # numbers in all blocks so far
        self._own: Random | None = None
        self.gauss_next: float | None = None
        """The second number of a pair of `gauss`, which `Random.gauss` keeps here."""

    def random(self) -> float:
        """Return the next number in [0, 1)."""
        if self._ahead:
            return self._ahead.pop()
        if self._own is None:
            self._make()
            return self.random()
        return self._own.random()

    # `Random` derives the numbers of all laws from `random` and `gauss_next`
    expovariate: ClassVar[Callable[..., float]] = Random.expovariate
    gauss: ClassVar[Callable[..., float]] = Random.gauss
    lognormvariate: ClassVar[Callable[..., float]] = Random.lognormvariate
    normalvariate: ClassVar[Callable[..., float]] = Random.normalvariate
    uniform: ClassVar[Callable[..., float]] = Random.uniform
    weibullvariate: ClassVar[Callable[..., float]] = Random.weibullvariate

    def _make(self) -> None:
        """Make the next block of numbers; after `MOST` numbers, a generator that continues."""
        generator = Random(self._name)
        if self._made >= self.MOST:
            self._own = generator
        for _ in range(self._made):
            generator.random()
        if self._own is None:
            block = [generator.random() for _ in range(self._made or self.FIRST)]
            self._made += len(block)
            self._ahead = array("d", reversed(block))


def drawn_so_far(value: Any) -> tuple[str, Any] | None:
    """Return kind and state of a random generator, as plain data; None for another value."""
    if type(value) is Random:
        return "Random", value.getstate()
    kind = type(getattr(value, "bit_generator", None)).__name__
    return (kind, value.bit_generator.state) if kind in _BIT_GENERATORS else None


def continued(kind: str, state: Any, fresh: Any) -> Any:
    """Return a random generator in the `state` that `drawn_so_far` returned beside `kind`.

    The generator `fresh` is changed in place if it is of this `kind`. Raises KeyError for an
    unknown `kind`.
    """
    known = drawn_so_far(fresh)
    same = known is not None and known[0] == kind
    if kind == "Random":
        dice = fresh if same else Random()
        dice.setstate(state)
        return dice
    if kind not in _BIT_GENERATORS:
        raise KeyError(kind)
    import numpy as np

    made = fresh if same else np.random.Generator(getattr(np.random, kind)())
    made.bit_generator.state = state
    return made


# -- the whole run ---------------------------------------------------------------------------------


def initial_model(seed: int) -> str:
    """Name the stream of the weights with which every run of `seed` begins."""
    return f"{seed}/model"


def keras_seed(seed: int) -> int:
    """Return the number with which Keras is seeded to draw the initial weights of an own model."""
    return int.from_bytes(hashlib.sha256(initial_model(seed).encode()).digest()[:4])


def data_split(seed: int) -> str:
    """Name the stream that assigns the training examples to the devices."""
    return f"{seed}/split"


def clients(seed: int, number: int) -> str:
    """Name the stream from which the clients of round `number` are drawn."""
    return f"{seed}/clients/{number}"


def measured_examples(seed: int) -> str:
    """Name the stream of the examples of the gradients beside which momentum is measured."""
    return f"{seed}/momentum"


# -- one device: each boot (`incarnation`) has new streams, so a crash does not repeat itself ------


def batches(seed: int, device: str, incarnation: int) -> str:
    """Name the stream that orders the mini-batches of `device`."""
    return f"{seed}/{device}/batches/{incarnation}"


def noise(seed: int, device: str, incarnation: int) -> str:
    """Name the stream of the noise in the layers of `device`, such as Dropout's."""
    return f"{seed}/{device}/noise/{incarnation}"


def codec(seed: int, device: str, incarnation: int) -> str:
    """Name the stream from which the codec of `device` draws."""
    return f"{seed}/{device}/codec/{incarnation}"


def hazard(seed: int, device: str, incarnation: int) -> str:
    """Name the stream that decides, once an iteration, whether a fault strikes `device`."""
    return f"{seed}/{device}/hazard/{incarnation}"


def lag(seed: int, device: str, incarnation: int) -> str:
    """Name the stream of the waits of a straggling `device` before its gradients."""
    return f"{seed}/{device}/lag/{incarnation}"


def garbled(seed: int, device: str, incarnation: int) -> str:
    """Name the stream of the messages of a `device` with flipped bits, and of these bits."""
    return f"{seed}/{device}/garbled/{incarnation}"


def lies(seed: int, device: str, incarnation: int) -> str:
    """Name the stream of the noise with which a lying `device` falsifies its gradients."""
    return f"{seed}/{device}/lies/{incarnation}"


_OF_A_BOOT = ("batches", "noise", "codec", "hazard", "lag", "garbled", "lies", "hold")


def faults(seed: int, device: str, profile: str, index: int) -> str:
    """Name the stream of the intervals of fault number `index` of a failure profile."""
    if profile in _OF_A_BOOT:  # `profile` is any word; its numbers would be those of a boot
        profile = f"failures/{profile}"
    return f"{seed}/{device}/{profile}/{index}"


def common_faults(seed: int, profile: str, index: int) -> str:
    """Name the stream of the intervals of fault number `index` that strikes devices together."""
    return f"{seed}//{profile}/{index}"


def target(seed: int, device: str, profile: str, index: int) -> str:
    """Name the draw by which fault number `index` chooses `device` among its targets."""
    return f"{seed}/{device}/{profile}/{index}/target"


# -- links -----------------------------------------------------------------------------------------


def received_delay(seed: int, node: str, incarnation: int) -> str:
    """Name the stream of the jitter with which `node` holds back messages from the server."""
    return f"{seed}/{node}/hold/{incarnation}"


def server_received_delay(seed: int, sender: str) -> str:
    """Name the stream of the jitter with which the server holds back messages of `sender`."""
    return f"{seed}/server/hold/{sender}"


def jitter(seed: int, device: str, direction: str) -> str:
    """Name the stream of the jitter of a modelled link; `direction` is `up` or `down`."""
    return f"{seed}/{device}/jitter/{direction}"


def burst_losses(seed: int, device: str, direction: str) -> str:
    """Name the stream of the losses in bursts of a modelled link; `direction` is `up` or `down`."""
    return f"{seed}/{device}/losses/{direction}"


def background(seed: int, node: str, direction: str) -> str:
    """Name the stream of the background traffic at a device, bottleneck or link of the network;
    `direction` is `up` or `down`."""
    return f"{seed}/{node}/background/{direction}"


def trace_start(seed: int, device: str) -> str:
    """Name the draw of the time at which `device` begins its links' traces."""
    return f"{seed}/{device}/trace"


def packets(seed: int, node: str, attachment: int) -> str:
    """Name the streams of the packets of `node` in the box; a boot makes a new attachment."""
    return f"{seed}/{node}/packets/{attachment}"


def packet_draws(packets: str, direction: str, use: str) -> str:
    """Name the stream of `packets` for a use in a direction, as `loss` or `jitter`."""
    return f"{packets}/{direction}/{use}"


# -- work in virtual time --------------------------------------------------------------------------


def work(seed: int, node: str) -> str:
    """Name the stream of the durations of work on `node`, a device or the server."""
    return f"{seed}/{node}/work"


def server_passes(seed: int) -> str:
    """Name the stream of the durations of passes through the server's part of a cut model."""
    return f"{seed}/server/passes"


# -- outside a run: independent of every seed ------------------------------------------------------


def random_k(seed: bytes) -> str:
    """Name the stream of the indices that a random-k frame with this `seed` keeps."""
    return f"randomk/{seed.hex()}"


def held_out(examples: int) -> str:
    """Name the stream that chooses the test set out of `examples`."""
    return f"test/{examples}"


def made_up_texts(name: str) -> str:
    """Name the stream of the sentences of part `name` of the generated texts."""
    return f"sentences/{name}"


def made_up_pictures(name: str) -> str:
    """Name the stream of the pictures of part `name` of the generated pictures."""
    return f"shapes/{name}"


def made_up_examples() -> str:
    """Name the stream of the examples that tell whether an own model returns probabilities."""
    return "outputs"


def expected_gradient(parameters: int) -> str:
    """Name the stream of the made-up gradient that tells the size of updates of a model."""
    return f"expected/{parameters}"


def expected_codec(parameters: int) -> str:
    """Name the stream from which the codec draws while it encodes the made-up gradient."""
    return f"expected/{parameters}/codec"


def predicted_rounds() -> str:
    """Name the stream of the steps of which a prediction plays rounds with CPU quotas."""
    return "predicted/rounds"


def sketch(parameters: int, directions: int) -> str:
    """Name the stream of the random sums in which the steps of a large model are kept."""
    return f"sketch/{parameters}/{directions}"


CALIBRATION = "calibration"
"""Name of the stream of the examples on which `emulate calibrate` measures a worker."""
