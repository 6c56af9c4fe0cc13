"""Batteries, worked out by hand: when one is empty, when it is back, what the charger gives."""

import math
from typing import Any

import pytest

from emulator.units import Fraction, Joules, Seconds, Watts
from emulator.world.battery import Battery, BatteryConstants, Charging
from emulator.world.faults import FAULTS

NIGHT = Charging(22 * 3600, 6 * 3600, 5.0)


def battery(**facts: Any) -> Battery:
    defaults = {
        "capacity": 3600.0,
        "idle": 0.5,
        "core": 2.0,
        "sent": 0.0,
        "received": 0.0,
        "starts": 1.0,
        "back": 0.25,
        "clock": 0.0,
        "day": 86_400.0,
    }
    return Battery(BatteryConstants(**{**defaults, **facts}))


def test_a_watt_hour_lasts_an_hour_at_a_watt() -> None:
    full = battery()
    assert full.reaches(0, 1.0) == 3600
    full.advance(900, 1.0)
    assert full.charge == 2700 and full.level == 0.75
    assert full.reaches(0, 0.5) == 900 + 5400
    full.spend(1350)
    assert full.reaches(0, 1.0) == 900 + 1350
    full.spend(5000)
    assert full.charge == 0 and full.reaches(0, 1.0) == 900


def test_a_battery_that_nobody_charges_never_comes_back() -> None:
    empty = battery(starts=0.1)
    assert empty.reaches(0.25, 0.0) == math.inf
    assert empty.reaches(0, 0.0) == math.inf


def test_a_charger_at_night_brings_it_back() -> None:
    """The run begins at 20 h; at 21 h it is empty, from 22 h on it takes 5 W."""
    phone = battery(clock=20 * 3600.0, charging=(NIGHT,))
    assert phone.reaches(0, 1.0) == 3600
    phone.advance(3600, 1.0)
    assert phone.reaches(0.25, 0.0) == 7200 + 900 / 5
    phone.advance(7380, 0.0)
    assert phone.level == 0.25
    # on again at 1 W, it gains 4 W until it is full, and loses 1 W from 6 h on
    phone.advance(10 * 3600, 1.0)
    assert phone.level == 1.0
    assert phone.reaches(0, 1.0) == 11 * 3600


def test_a_charger_that_gives_as_much_as_is_drawn_holds_the_level() -> None:
    always = Charging(0.0, 0.0, 1.0)
    assert battery(charging=(always,)).reaches(0, 1.0) == math.inf
    assert battery(charging=(always,)).reaches(0, 1.5) == 7200
    assert battery(charging=(always,), starts=0.5).reaches(1.0, 0.5) == 3600


def test_it_may_take_days() -> None:
    """Two chargers from 10 h to 14 h give 4 W beside the 1 W that is drawn, up to 50 Wh.

    At 14 h there are 50 Wh, a day later 50 - 20 + 16 = 46, and 18 on the ninth day, for 18 h.
    """
    noon, noon_too = (Charging(10 * 3600, 14 * 3600, watts) for watts in (2.0, 3.0))
    solar = battery(capacity=50 * 3600.0, charging=(noon, noon_too))
    assert solar.reaches(0, 1.0) == pytest.approx((8 * 24 + 14 + 18) * 3600)


def test_a_battery_ends_at_the_same_time_however_often_it_is_asked() -> None:
    asked, left_alone = (battery(clock=5 * 3600.0, charging=(NIGHT,)) for _ in range(2))
    for second in range(0, 5000, 7):
        asked.advance(second, 0.9)
    left_alone.advance(second, 0.9)
    assert asked.charge == pytest.approx(left_alone.charge)
    assert asked.reaches(0, 0.9) == pytest.approx(left_alone.reaches(0, 0.9))


def test_constants_survive_json() -> None:
    fault = FAULTS["energy"](  # type: ignore[call-arg]
        capacity=Joules(36000), idle=Watts(0.5), starts=Fraction(0.5), day=Seconds(600)
    )
    constants = BatteryConstants.read(fault.battery)  # type: ignore[attr-defined]
    assert (
        constants == battery(capacity=36000.0, core=0.0, starts=0.5, back=0.2, day=600.0).constants
    )
    charged = constants._replace(charging=(NIGHT,))
    assert BatteryConstants.read(charged.plain) == charged
