"""Makes the shipped traces of scenarios/profiles/traces/, byte for byte, from documented models.

    python -m tests.world.shipped_traces FOLDER

docs/traces.md describes the models. Each trace draws from `random.Random` with its own name as the
seed; numbers are rounded before they are written, so that no platform's last digit matters.
"""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random


def lte_drive() -> str:
    """Return a mahimahi file: the uplink of a phone in a car, for 60 s.

    Shadowing is log-normal with 5 dB and decays over 50 m (Gudmundson, 1991), at 14 m/s. The rate
    is 1.3 Mbit/s at a shadowing of 0 dB, and doubles with 6 dB. Two handovers of 0.6 s and 1.1 s
    let nothing through. In each millisecond an opportunity comes with the chance that the rate
    gives it.
    """
    rng = Random("lte-drive")
    kept = math.exp(-14.0 * 0.1 / 50.0)
    shadow, stamps = rng.gauss(0, 5), list[int]()
    for step in range(600):
        shadow = kept * shadow + math.sqrt(1 - kept * kept) * rng.gauss(0, 5)
        rate = 1.3e6 * 2 ** (round(shadow, 3) / 6)
        handover = 170 <= step < 176 or 431 <= step < 442
        for millisecond in range(100):
            if rng.random() < rate / 12e6 and not handover:
                stamps.append(step * 100 + millisecond + 1)
    return "".join(f"{stamp}\n" for stamp in [*stamps, 60_000])


def evening_line() -> str:
    """Return a csv file: the downlink of a 50 mbit home line over an evening, told in 30 minutes.

    The neighbours' load rises from 20 % to 85 % and falls, as a raised cosine over the middle 20
    minutes, with noise that is correlated over a minute. The line has the rate that the load
    leaves, at least 3 mbit. The queue adds 2 ms * load / (1 - load) to a delay of 9 ms. One packet
    in 10,000 is lost; from a load of 70 % on more are, up to 1 %.
    """
    rng, rows, noise = Random("evening-line"), ["seconds,rate_mbit,delay_ms,loss_%"], 0.0
    for second in range(0, 1800, 5):
        noise = 0.92 * noise + math.sqrt(1 - 0.92**2) * rng.gauss(0, 0.06)
        inside = 300 <= second < 1500
        bump = 0.5 - 0.5 * math.cos(2 * math.pi * (second - 300) / 1200) if inside else 0.0
        load = min(0.94, max(0.05, 0.2 + 0.65 * bump + noise))
        rate, delay = max(3.0, 50 * (1 - load)), 9 + 2 * load / (1 - load)
        loss = max(0.01, (load - 0.7) / 0.24)
        rows.append(f"{second},{rate:.2f},{delay:.1f},{loss:.2f}")
    return "\n".join([*rows, "1800,end", ""])


def mmwave_walk() -> str:
    """Return a 5g drive log: a pedestrian with millimetre waves, for 300 s.

    The line of sight lasts 9 s in the mean, a blockage 3 s (exponential laws; MacCartney et al.,
    2017, measured such blockages by bodies). In sight the downlink has 640 Mbit/s, blocked 35
    Mbit/s, both times a log-normal factor of 30 %; one blockage in six is an outage. The uplink has
    a tenth. The ping is 18 ms in sight and 55 ms blocked, and missing in an outage.
    """
    rng = Random("mmwave-walk")
    rows, left, blocked, outage = ["DL_bitrate,UL_bitrate,PINGAVG"], 0.0, True, False
    for _ in range(300):
        left -= 1
        while left <= 0:
            blocked = not blocked
            outage = blocked and rng.random() < 1 / 6
            left += rng.expovariate(1 / (3 if blocked else 9))
        factor, wobble = math.exp(rng.gauss(0, 0.3)), rng.uniform(0.9, 1.2)
        down = 0 if outage else round((35_000 if blocked else 640_000) * factor)
        ping = "-" if outage else f"{(55 if blocked else 18) * wobble:.1f}"
        rows.append(f"{down},{down // 10},{ping}")
    return "\n".join([*rows, ""])


TRACES: dict[str, Callable[[], str]] = {
    "lte-drive.mahimahi": lte_drive,
    "evening-line.csv": evening_line,
    "mmwave-walk.5g.csv": mmwave_walk,
}
"""The shipped traces, by the names of their files."""

if __name__ == "__main__":
    for name, made in TRACES.items():
        (Path(sys.argv[1]) / name).write_text(made())
