"""Sides of links that have a rate beside each other key."""

from emulator.units import Rate
from emulator.world.links.link import Side
from tests.shaping.box.side_keys import KEYS

RATE = Rate(2e6)
RATED = {
    f"{key}-{number}": Side(**{"rate": RATE, **keys})
    for key, values in KEYS.items()
    for number, keys in enumerate(values)
    if "rate" not in keys or key == "overhead"
}
"""A side with a rate for each value of each key of a link."""
