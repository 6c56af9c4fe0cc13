"""Kinds of faults that end or stop a device's process, seen from outside."""

import pytest

pytestmark = [pytest.mark.docker, pytest.mark.thorough, pytest.mark.timeout(300)]


def part(look):
    return look.part


def test_a_crash_silences_and_a_boot_begins_anew(fleet):
    assert fleet.acts("crashed") == [("kill", 4.0), ("boot", 8.0)]
    down, up = fleet.changes("crashed", part)
    assert down.value is None and down.within(4.0) and up.value and up.within(8.0)
    assert not fleet.updates("crashed", 4.5, 8.0) and fleet.updates("calm", 4.5, 8.0)
    assert fleet.updates("crashed", 8.0, 16.0)
    assert fleet.incarnations("crashed") == [0, 1]


def test_a_crash_for_good(fleet):
    assert fleet.acts("gone") == [("kill", 4.4)]
    (down,) = fleet.changes("gone", part)
    assert down.value is None and down.within(4.4)
    assert fleet.updates("gone", 0, 4.4) and not fleet.updates("gone", 4.9, 99)


def test_a_device_that_keeps_its_state_boots_from_it(fleet):
    assert fleet.acts("kept") == [("halt", 4.8), ("reboot", 6.8)]
    down, up = fleet.changes("kept", part)
    assert down.value is None and down.within(4.8) and up.value and up.within(6.8)
    words = [look.arguments for look in fleet.samples["kept"] if look.part == up.value]
    assert set(words) == {"1 kept"}
    assert not fleet.updates("kept", 5.3, 6.8) and fleet.updates("kept", 6.8, 16.0)


def test_a_device_leaves_in_order_and_joins_again(fleet):
    assert fleet.acts("leaver") == [("leave", 9.8), ("join", 13.8)]
    down, up = fleet.changes("leaver", part)
    assert down.value is None and down.within(9.8) and up.value and up.within(13.8)
    (goodbye,) = fleet.said("goodbye", node="leaver")
    assert 9.75 < goodbye["at"] < 10.1
    assert not fleet.updates("leaver", 10.1, 13.8) and fleet.updates("leaver", 13.8, 20.0)
    assert fleet.incarnations("leaver") == [0, 1]


def test_devices_come_and_go_by_laws_and_by_traces(fleet):
    first = [("kill", 7.0), ("boot", 10.0), ("kill", 17.0), ("boot", 20.0), ("kill", 27.0)]
    assert fleet.acts("churning") == first
    assert fleet.acts("traced") == [("leave", 3.0), ("join", 6.0)]
    for node, off, on in (("churning", 7.0, 10.0), ("traced", 3.0, 6.0)):
        down, up = fleet.changes(node, part)[:2]
        assert down.value is None and down.within(off) and up.value and up.within(on)
        assert not fleet.updates(node, off + 0.3, on) and fleet.updates(node, on, 17.0)
    assert fleet.incarnations("churning") == [0, 1, 2]
    assert fleet.incarnations("traced") == [0, 1]


def test_a_device_is_off_while_its_battery_is_empty(fleet):
    kill, boot = fleet.of("battery")
    assert kill["fault"] == boot["fault"] == "energy" and kill["planned"] == kill["at"]
    down, up = fleet.changes("battery", part)
    assert down.value is None and down.within(125 / 20, 0.3) | down.within(kill["at"] - 0.3)
    assert up.value and up.within(9.6)
    assert not fleet.updates("battery", kill["at"] + 0.3, 9.6)
    assert fleet.updates("battery", 9.6, 26.0)
    assert fleet.incarnations("battery") == [0, 1]
    levels = [record["charge"] for record in fleet.said("battery", node="battery")]
    assert levels[0] > 0.9 and 0.0 in levels


def test_faults_by_iteration_are_drawn_realised_and_logged(fleet):
    kills, boots = fleet.said("kill", node="frail"), fleet.said("boot", node="frail")
    assert len(kills) >= 2 and len(kills) - len(boots) in (0, 1)
    for kill, boot in zip(kills, boots, strict=False):
        assert kill["planned"] == kill["at"] and 0.5 <= boot["at"] - kill["at"] < 1.3
    seen = fleet.changes("frail", part)
    assert len(seen) == len(kills) + len(boots)
    for change, record in zip(seen, sorted([*kills, *boots], key=lambda r: r["at"]), strict=True):
        assert change.before - 0.3 < record["at"] < change.at + 0.3


def test_a_pause_stops_the_process_which_goes_on_after_it(fleet):
    """The supervisor does the verbs of another fault meanwhile, which does not wake the process."""
    assert fleet.acts("frozen") == [
        *[("pause", 10.4), ("sever", 11.6), ("mend", 12.6), ("resume", 15.4)],
    ]
    stop, go = fleet.changes("frozen", lambda look: look.stopped)
    assert stop.value and stop.within(10.4) and go.within(15.4)
    assert not fleet.updates("frozen", 10.9, 15.4) and fleet.updates("frozen", 15.4, 18.0)
    assert fleet.incarnations("frozen") == [0] and fleet.changes("frozen", part) == []


def test_a_device_that_was_given_up_in_a_long_pause_comes_back(fleet):
    assert fleet.acts("forgotten") == [("pause", 3.4), ("resume", 16.4)]
    stop, go = fleet.changes("forgotten", lambda look: look.stopped)
    assert stop.value and stop.within(3.4) and go.within(16.4)
    assert not fleet.updates("forgotten", 3.9, 16.4) and fleet.updates("forgotten", 16.4, 30.0)
    assert set(fleet.incarnations("forgotten")) == {0}
    assert fleet.changes("forgotten", part) == []


def test_a_device_that_boots_in_a_pause_goes_on_after_it(fleet):
    assert fleet.acts("shot") == [
        *[("pause", 10.8), ("kill", 12.0), ("boot", 14.2), ("resume", 16.8)],
    ]
    down, up = fleet.changes("shot", part)
    assert down.value is None and down.within(12.0) and up.value and up.within(14.2)
    stopped = {look.stopped for look in fleet.samples["shot"] if up.at + 0.3 < look.at < 16.7}
    assert stopped == {True}
    assert not fleet.updates("shot", 11.3, 16.8) and fleet.updates("shot", 16.8, 30.0)
    assert fleet.incarnations("shot") == [0, 1]


def test_the_server_is_killed_and_comes_back_with_all_updates(fleet):
    assert fleet.acts("server") == [("kill", 20.4), ("boot", 21.4)]
    down, up = fleet.changes("server", part)
    assert down.value is None and down.within(20.4) and up.value and up.within(21.4)
    (recovered,) = fleet.said("recovered")
    assert recovered["lost"] == 0
    updates = fleet.said("update")
    assert [each["version"] for each in updates] == list(range(1, len(updates) + 1))
    assert not [each for each in updates if 20.7 < each["at"] < 21.4]
    assert fleet.updates("calm", recovered["at"], 26.0)
    assert fleet.summary["server_recoveries"] == 1
