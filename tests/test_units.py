"""Quantities: what can be written, what it means, and that nothing is lost on the way back."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.units import Bytes, Fraction, Quantity, Rate, Seconds, Share
from emulator.world.links.link import FRAME, Link, Side

KINDS: tuple[type[Quantity], ...] = (Seconds, Rate, Fraction, Share, Bytes)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Seconds, "80ms", 0.08),
        (Seconds, "2.5 s", 2.5),
        (Seconds, "5us", 5e-6),
        (Seconds, "1.5min", 90),
        (Seconds, "24h", 86400),
        (Seconds, "0s", 0),
        (Seconds, "1e3ms", 1),
        (Rate, "10mbit", 1e7),
        (Rate, "10 Mbit", 1e7),
        (Rate, "768kbit", 768e3),
        (Rate, "1gbit", 1e9),
        (Rate, "9bit", 9),
        (Fraction, "1%", 0.01),
        (Fraction, "7%", 0.07),
        (Fraction, "100%", 1),
        (Fraction, "0.005%", 5e-5),
        (Share, "250%", 2.5),
        (Bytes, "512MiB", 512 << 20),
        (Bytes, "1.5GiB", 3 << 29),
    ],
)
def test_a_quantity_is_read_in_its_base_unit(kind: type[Quantity], text: str, value: float) -> None:
    assert kind.parse(text) == value
    assert isinstance(kind.parse(text), kind)


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (Rate, "10Mbps", "'10Mbps': write 10mbit"),
        (Rate, 10, "10 has no unit: write it in bit or kbit or mbit or gbit, as 10mbit"),
        (Rate, "0mbit", "a rate is above zero"),
        (Rate, "1e-400mbit", "a rate is above zero"),
        (Seconds, "40furlongs", "'40furlongs' is not in us or ms or s or min or h"),
        (Seconds, "5m", "'5m': write 5min"),
        (Seconds, 0.5, "0.5 has no unit"),
        (Seconds, True, "True has no unit"),
        (Seconds, math.nan, "nan has no unit"),
        (Seconds, "nan s", "is not a number in us or ms"),
        (Seconds, "inf s", "is not a number in us or ms"),
        (Seconds, "1e400s", "is not a finite number"),
        (Seconds, "1e99999999999999999999s", "is not a finite number"),
        (Seconds, "-1s", "is negative"),
        (Seconds, "3e6h", "'3e6h' is more than 285 years, to which a run can count microseconds"),
        (Seconds, None, "None is not a number"),
        (Seconds, "٣s", "is not a number"),
        (Seconds, "1s 2ms", "is not a number"),
        (Fraction, "101%", "is more than 100%"),
        (Fraction, "0.01", "is not in %"),
        (Share, "0%", "is above zero"),
        (Bytes, "512MB", "'512MB': write 512MiB"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(
    kind: type[Quantity], text: object, words: str
) -> None:
    with pytest.raises(ValueError) as error:
        kind.parse(text)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Seconds(90), "90s"),
        (Seconds(600), "10min"),
        (Seconds(0.0375), "37.5ms"),
        (Seconds(0), "0s"),
        (Rate(1.5e6), "1.5mbit"),
        (Rate(768e3), "768kbit"),
        (Fraction(0.01), "1%"),
        (Share(2), "200%"),
        (Bytes(512 << 20), "512MiB"),
    ],
)
def test_a_quantity_is_written_as_people_would(quantity: Quantity, text: str) -> None:
    assert str(quantity) == text


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize("kind", KINDS)
@given(value=st.floats(1e-12, 1e15) | st.floats(0, 1).map(lambda share: round(share, 4)))
def test_what_is_written_reads_back_the_same(kind: type[Quantity], value: float) -> None:
    try:
        quantity = kind.parse(f"{value!r}{kind._base()}")
    except ValueError:
        return  # not one that can exist
    assert kind.parse(str(quantity)) == quantity


def test_jitter_beyond_the_delay_would_need_messages_from_the_future() -> None:
    with pytest.raises(ValueError, match="jitter 2ms is above its delay 1ms"):
        Side(delay=Seconds(0.001), jitter=Seconds(0.002))


def test_a_transfer_takes_what_tc_would_charge_for_it() -> None:
    side = Side(rate=Rate(8e6), delay=Seconds(0.5))
    assert side.transfer(1e6) == pytest.approx(FRAME + 0.5)
    assert Side().transfer(1e6) == 0
    assert not Link().shaped
    assert Link(down=side).shaped
