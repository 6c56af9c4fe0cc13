"""What the shipped failure profiles and boards do, as their descriptions have it."""

import json

import pytest
import yaml

from emulator.scenario.reading.profiles import Library
from tests.fakes.small_scenario import SCENARIOS, small

FAILURES = """
ageing-sd-card:
- {kind: pause, every: {weibull: [4min, 1.5]}, lasts: {lognormal: [2s, 0.8]}}
- {kind: crash, at: {weibull: [40min, 3]}}
battery-camera:
- {kind: energy, capacity: 10Wh, idle: 500mW, core: 3J,
   recharge: [{begin: 9h, end: 17h, power: 2W}], clock: 18h}
busy-phone:
- {kind: memory, takes: 70%, every: {exponential: 15min}, lasts: {lognormal: [40s, 0.8]}}
commuter-phone:
- {kind: partition, every: {exponential: 90s}, lasts: {lognormal: [6s, 1]}}
evening-rush:
- {kind: degrade, every: 18min, lasts: 6min, together: true, rate: 40%, delay: 30ms, loss: 1%}
faulty-router:
- {kind: corrupt, messages: 2%, every: {exponential: 10min}, lasts: {exponential: 5min}}
flaky-home:
- {kind: crash, every: {exponential: 10min}, lasts: {exponential: 1min}}
- {kind: partition, every: {exponential: 5min}, lasts: {uniform: [2s, 15s]}}
flaky-wifi:
- {kind: flap, every: {exponential: 3min}, lasts: {uniform: [5s, 40s]},
   outage: {exponential: 800ms}, uptime: {exponential: 3s}}
home-broadband:
- {kind: partition, every: {exponential: 24min}, lasts: {lognormal: [1.8s, 1.2]}}
office-desktop:
- {kind: availability, trace: ['on 0, off 28800, on 64800, end 86400'], start: 0h}
overheating-pi:
- {kind: crash, per_iteration: 0.1%, lasts: {uniform: [10s, 30s]}}
phone-charging-at-night:
- {kind: leave, every: {normal: [8h, 45min]}, lasts: {normal: [16h, 45min]}}
phone-in-the-sun:
- {kind: overheat, every: {normal: [15min, 4min]}, lasts: {normal: [10min, 2min]},
   slowdown: 2, heats: 2min, cools: 5min}
poisoned-phone:
- {kind: byzantine, lie: sign-flip, at: {uniform: [10s, 2min]}, share: 10%}
rolling-reboots:
- {kind: crash, every: 12min, lasts: 30s, together: true, spread: {uniform: [0s, 3min]}}
router-switched-off:
- {kind: partition, every: {exponential: 26h}, lasts: {lognormal: [40min, 1]}}
sleeping-laptop:
- {kind: pause, every: {lognormal: [4min, 1]}, lasts: {lognormal: [30s, 1.2]}}
solar-sensor:
- {kind: leave, every: 10h, lasts: 14h, together: true, spread: {uniform: [0s, 30min]}}
spot-instance:
- {kind: leave, every: {uniform: [22h, 24h]}, lasts: {uniform: [1min, 5min]}}
- {kind: leave, every: {exponential: 72h}, lasts: {lognormal: [10min, 1]}}
straggling-neighbour:
- {kind: straggler, every: {exponential: 4min}, lasts: {exponential: 1min},
   delay: {lognormal: [150ms, 1]}}
street-power-cut:
- {kind: crash, every: {exponential: 1h}, lasts: {exponential: 2min}, together: true}
stuttering-board:
- {kind: pause, per_iteration: 2%, lasts: {uniform: [100ms, 1s]}}
thermal-throttle:
- {kind: slow, factor: 50%, every: {normal: [3min, 40s]}, lasts: {normal: [90s, 20s]}}
volunteers:
- {kind: churn, "on": {lognormal: [5min, 1]}, "off": {lognormal: [2min, 1]}}
"""
BOARDS = {
    "jetson-nano": ("10%", "384MiB"),
    "laptop": ("40%", "512MiB"),
    "phone": ("25%", "256MiB"),
    "raspberry-pi-3": ("4%", "256MiB"),
    "raspberry-pi-4": ("10%", "384MiB"),
}
MEANT = yaml.safe_load(FAILURES)


def test_no_profile_is_missing_or_unknown() -> None:
    library = Library(SCENARIOS)
    assert library.names("failures").keys() == MEANT.keys()
    assert library.names("devices").keys() == BOARDS.keys()


@pytest.mark.parametrize("name", MEANT)
def test_a_failure_profile_has_the_faults_of_its_description(name: str) -> None:
    """A key that is lost from the file makes another fault, which nothing else would notice."""
    own = json.dumps({"name": name, "faults": MEANT[name]})
    shipped, meant = (
        small(("name: one", f"name: one\n    failures: [{failures}]")).nodes[0].failures
        for failures in (name, own)
    )
    assert shipped[0].faults == meant[0].faults


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_has_the_core_and_the_memory_of_its_source(name: str) -> None:
    cpu, memory = BOARDS[name]
    shipped, meant = (
        small(("name: one", f"name: one\n    profile: {profile}")).nodes[0]
        for profile in (name, f"{{cpu: {cpu}, memory: {memory}}}")
    )
    assert (shipped.cpu, shipped.memory) == (meant.cpu, meant.memory)
