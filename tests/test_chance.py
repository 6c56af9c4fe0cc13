"""The names of the random streams: a changed name would change every run of the past."""

import pytest

from emulator import chance

NAMES = {
    "7/model": chance.initial_model(7),
    "7/split": chance.data_split(7),
    "7/clients/3": chance.clients(7, 3),
    "7/adsl-3/batches/1": chance.batches(7, "adsl-3", 1),
    "7/adsl-3/codec/1": chance.codec(7, "adsl-3", 1),
    "7/adsl-3/hazard/1": chance.hazard(7, "adsl-3", 1),
    "7/adsl-3/flaky-home/0": chance.faults(7, "adsl-3", "flaky-home", 0),
    "7//flaky-home/0": chance.common_faults(7, "flaky-home", 0),
    "7/adsl-3/flaky-home/0/target": chance.target(7, "adsl-3", "flaky-home", 0),
    "7/adsl-3/hold/1": chance.received_delay(7, "adsl-3", 1),
    "7/server/hold/adsl-3": chance.server_received_delay(7, "adsl-3"),
    "7/adsl-3/jitter/up": chance.jitter(7, "adsl-3", "up"),
    "7/adsl-3/trace": chance.trace_start(7, "adsl-3"),
    "7/adsl-3/packets/1/up/loss": chance.packet_draws(chance.packets(7, "adsl-3", 1), "up", "loss"),
    "7/server/work": chance.work(7, "server"),
    "randomk/00ff": chance.random_k(b"\x00\xff"),
    "sentences/train": chance.made_up_texts("train"),
    "shapes/train": chance.made_up_pictures("train"),
    "outputs": chance.made_up_examples(),
    "expected/1000": chance.expected_gradient(1000),
    "expected/1000/codec": chance.expected_codec(1000),
    "calibration": chance.CALIBRATION,
}


@pytest.mark.parametrize(("name", "made"), NAMES.items())
def test_a_stream_keeps_its_name(name: str, made: str) -> None:
    assert made == name


def test_a_stream_keeps_its_draws() -> None:
    assert chance.stream("7/model").integers(1000, size=3).tolist() == [347, 230, 696]


def test_no_failure_profile_shares_the_stream_of_a_boot() -> None:
    of_a_boot = (
        *(chance.batches, chance.codec, chance.hazard, chance.lag, chance.garbled, chance.lies),
        chance.received_delay,
    )
    for name in of_a_boot:
        taken = name(7, "adsl-3", 0)
        word = taken.split("/")[2]
        assert chance.faults(7, "adsl-3", word, 0) == f"7/adsl-3/failures/{word}/0" != taken
