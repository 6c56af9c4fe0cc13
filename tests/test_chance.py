"""Random streams: a changed name, or another number, would change every run of the past."""

import tracemalloc
from collections.abc import Callable
from inspect import isfunction, signature
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator import chance
from emulator.chance import CompactRandom
from emulator.world import laws

NAMES = (
    ("7/model", chance.initial_model, (7,)),
    ("7/split", chance.data_split, (7,)),
    ("7/clients/3", chance.clients, (7, 3)),
    ("7/momentum", chance.measured_examples, (7,)),
    ("7/adsl-3/batches/1", chance.batches, (7, "adsl-3", 1)),
    ("7/adsl-3/noise/1", chance.noise, (7, "adsl-3", 1)),
    ("7/adsl-3/codec/1", chance.codec, (7, "adsl-3", 1)),
    ("7/adsl-3/hazard/1", chance.hazard, (7, "adsl-3", 1)),
    ("7/adsl-3/lag/1", chance.lag, (7, "adsl-3", 1)),
    ("7/adsl-3/garbled/1", chance.garbled, (7, "adsl-3", 1)),
    ("7/adsl-3/lies/1", chance.lies, (7, "adsl-3", 1)),
    ("7/adsl-3/flaky-home/0", chance.faults, (7, "adsl-3", "flaky-home", 0)),
    ("7//flaky-home/0", chance.common_faults, (7, "flaky-home", 0)),
    ("7/adsl-3/flaky-home/0/target", chance.target, (7, "adsl-3", "flaky-home", 0)),
    ("7/adsl-3/hold/1", chance.received_delay, (7, "adsl-3", 1)),
    ("7/server/hold/adsl-3", chance.server_received_delay, (7, "adsl-3")),
    ("7/adsl-3/jitter/up", chance.jitter, (7, "adsl-3", "up")),
    ("7/adsl-3/losses/up", chance.burst_losses, (7, "adsl-3", "up")),
    ("7/adsl-3/background/up", chance.background, (7, "adsl-3", "up")),
    ("7/adsl-3/trace", chance.trace_start, (7, "adsl-3")),
    ("7/adsl-3/packets/1", chance.packets, (7, "adsl-3", 1)),
    ("7/adsl-3/packets/1/up/loss", chance.packet_draws, ("7/adsl-3/packets/1", "up", "loss")),
    ("7/server/work", chance.work, (7, "server")),
    ("7/server/passes", chance.server_passes, (7,)),
    ("randomk/00ff", chance.random_k, (b"\x00\xff",)),
    ("test/5000", chance.held_out, (5000,)),
    ("sentences/train", chance.made_up_texts, ("train",)),
    ("shapes/train", chance.made_up_pictures, ("train",)),
    ("outputs", chance.made_up_examples, ()),
    ("expected/1000", chance.expected_gradient, (1000,)),
    ("expected/1000/codec", chance.expected_codec, (1000,)),
    ("predicted/rounds", chance.predicted_rounds, ()),
    ("sketch/1000/8", chance.sketch, (1000, 8)),
)


@pytest.mark.parametrize(("name", "stream", "of"), NAMES)
def test_a_stream_keeps_its_name(
    name: str, stream: Callable[..., str], of: tuple[Any, ...]
) -> None:
    assert stream(*of) == name


def test_the_stream_of_a_calibration_keeps_its_name() -> None:
    assert chance.CALIBRATION == "calibration"


def test_every_stream_has_its_name_kept() -> None:
    """A function that names a stream returns text; the others of the module make generators."""
    functions = [value for value in vars(chance).values() if isfunction(value)]
    streams = {
        function
        for function in functions
        if function.__module__ == chance.__name__ and signature(function).return_annotation is str
    }
    assert streams == {stream for _, stream, _ in NAMES}, "each stream has a row in NAMES"


def test_no_two_streams_share_a_name() -> None:
    assert len({name for name, *_ in NAMES}) == len(NAMES)


def test_a_stream_keeps_its_draws() -> None:
    assert chance.stream("7/model").integers(1000, size=3).tolist() == [347, 230, 696]


def test_keras_keeps_its_seed() -> None:
    assert chance.keras_seed(7) == 3_837_437_161


def test_no_failure_profile_shares_the_stream_of_a_boot() -> None:
    of_a_boot = (
        *(chance.batches, chance.noise, chance.codec, chance.hazard, chance.lag),
        *(chance.garbled, chance.lies, chance.received_delay),
    )
    for name in of_a_boot:
        taken = name(7, "adsl-3", 0)
        word = taken.split("/")[2]
        assert chance.faults(7, "adsl-3", word, 0) == f"7/adsl-3/failures/{word}/0" != taken


# -- compact streams -------------------------------------------------------------------------------

LAWS = (
    {"exponential": 0.02},
    {"normal": [0.02, 0.005]},
    {"uniform": [1.0, 5.0]},
    {"weibull": [0.02, 0.7]},
    {"lognormal": [0.02, 0.3]},
)


@given(st.lists(st.integers(0, len(LAWS) - 1), max_size=400), st.text(max_size=5))
def test_a_compact_stream_draws_the_numbers_of_a_random_by_any_laws(
    order: list[int], name: str
) -> None:
    """Across blocks, into the stream's own generator, and with half a pair of normal numbers."""
    compact, plain = CompactRandom(name), Random(name)
    drawn = [laws.read(LAWS[index]) for index in [*order, *range(len(LAWS))]]
    assert [law.draw(compact) for law in drawn] == [law.draw(plain) for law in drawn]


def test_compact_streams_do_not_depend_on_one_another() -> None:
    streams = {name: CompactRandom(name) for name in "abc"}
    drawn: dict[str, list[float]] = {name: [] for name in "abc"}
    order = Random(1)
    for _ in range(3000):
        name = order.choice("abc")
        drawn[name].append(streams[name].random())
    for name, numbers in drawn.items():
        plain = Random(name)
        assert numbers == [plain.random() for _ in numbers]


def test_every_law_has_its_draws_compared() -> None:
    assert {name for law in LAWS for name in law} == laws.LAWS.keys() - {"fixed"}


def test_a_stream_that_is_not_drawn_from_is_not_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    seeded: list[str] = []

    class Seeded(Random):
        def seed(self, a: object = None, version: int = 2) -> None:
            seeded.append(str(a))
            super().seed(a, version)  # type: ignore[arg-type]

    monkeypatch.setattr(chance, "Random", Seeded)
    first, _ = CompactRandom("first"), CompactRandom("second")
    assert seeded == []
    for _ in range(CompactRandom.FIRST):
        first.random()
    assert seeded == ["first"]


def test_a_compact_stream_is_small_until_it_has_drawn_many_numbers() -> None:
    def size(draws: int) -> float:
        tracemalloc.start()
        streams = [CompactRandom(f"{number}/work") for number in range(200)]
        for stream in streams:
            for _ in range(draws):
                stream.random()
        allocated = tracemalloc.get_traced_memory()[0] / len(streams)
        tracemalloc.stop()
        return allocated

    assert size(1) < 400 < size(CompactRandom.MOST - 1) < 1700
    assert size(CompactRandom.MOST + 1) > 2500  # a generator of its own
