"""The dilation that a host needs, from quotas and from times of steps."""

import pytest

from emulator.costs.host_dilation import CoreDemand, core_demand, too_few, with_dilation
from emulator.scenario.sections.run_sections import TimeSection
from tests.fakes.fleets import FORTY, STEP, fleet


@pytest.mark.parametrize(
    "devices, server, cores, needed",
    [
        (8.0, 1.0, 2, 5.7),
        (0.5, 0.1, 2, 1.0),
        (1.6, 0.0, 2, 1.0),
        (1.61, 0.0, 2, 1.1),
        (8, 0, 64, 1),
    ],
)
def test_four_fifths_of_the_cores_are_to_be_wanted(
    devices: float, server: float, cores: float, needed: float
) -> None:
    assert CoreDemand(devices, server, "quotas").needed(cores) == needed


def test_quotas_add_up_where_no_step_is_known() -> None:
    assert core_demand(fleet(FORTY)) == CoreDemand(8.0, 1.0, "quotas")
    mixed = "devices: [{name: a, count: 3}, {name: b, profile: {cpu: 50%}}]"
    assert core_demand(fleet(mixed)) == CoreDemand(3.5, 1.0, "quotas")


def test_a_worker_uses_no_more_than_a_core_whatever_its_quota_is() -> None:
    wide = fleet("devices: [{name: wide, count: 3, profile: {cpu: 200%}}]")
    assert core_demand(wide) == CoreDemand(3.0, 1.0, "quotas")
    assert too_few(wide, core_demand(wide), 3) and not too_few(wide, core_demand(wide), 4)


def test_known_steps_leave_the_waits_for_the_network_out() -> None:
    """At a fifth of a core a step of 40 ms takes 200 ms, or 40 ms after a long wait."""
    result = core_demand(fleet(FORTY, STEP))
    assert result.source == "steps"
    assert result.devices == pytest.approx(40 * 0.040 / 0.200)
    assert result.server == pytest.approx(40 / 0.200 * 0.002, abs=1e-6)
    link = "devices: [{name: home, count: 40, profile: {cpu: 20%}, link: {down: {delay: 758ms}}}]"
    assert core_demand(fleet(link, STEP)).devices == pytest.approx(40 * 0.040 / 0.8)


@pytest.mark.parametrize(
    "link, each",
    [
        ("{up: {delay: 20ms}}", 0.0),
        ("{down: {delay: 20ms}}", 17e-6),
        ("{down: {rate: 1gbit}}", 17e-6),  # in packets of 43 frames
        ("{down: {rate: 1gbit}, up: {rate: 900kbit}}", 60e-6),  # which acknowledgements would fill
    ],
)
def test_packets_on_a_shaped_path_want_cores(link: str, each: float) -> None:
    """A model of 421,642 parameters takes 1,165 frames; the push is dense."""
    result = core_demand(fleet(f"devices: [{{name: far, link: {link}}}]", STEP))
    assert result.cores == result.devices + result.server + result.packets
    frames = 4 * 421_642 / 1448
    rate = result.devices / 0.040
    up = {"up: {d": 17e-6, "up: {r": 60e-6}.get(link[link.find("up") :][:6], 0.0) * frames
    assert result.packets == pytest.approx(rate * (frames * each + up), rel=1e-3)
    assert result.who == f"devices{', server and packets' if result.packets else ' and server'}"


def test_devices_that_wait_for_each_other_compute_at_one_time() -> None:
    scenario = fleet(FORTY, STEP, synchronization="barrier")
    assert core_demand(scenario) == CoreDemand(8.0, 1.0, "quotas")


def test_auto_takes_what_the_host_needs() -> None:
    scenario = with_dilation(fleet(FORTY, "time: {dilation: auto}"), 2)
    assert scenario.time == TimeSection(dilation=5.7) and scenario.dilation == 5.7
    assert with_dilation(fleet(FORTY, "time: {dilation: 3}"), 2).dilation == 3
    assert with_dilation(fleet(FORTY), 2) == fleet(FORTY)
    with pytest.raises(TypeError, match="must be known"):
        _ = fleet(FORTY, "time: {dilation: auto}").dilation
