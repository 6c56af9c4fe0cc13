"""Fleets drawn by a seed, each with a model to train and a target: tasks for `emulate tune`.

A fleet has 4 to 32 devices, of equal speed, with a slow part, or of three speeds; links without a
limit or of 20 to 200 mbit; a server that takes microseconds or milliseconds for an update; and
constant, lognormal or exponential steps. The mini-batch sets the noise of the losses.
"""

from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from emulator.costs.prediction import hardware_efficiency
from emulator.scenario import Scenario, loads

FINDING = (*range(1, 13), *range(101, 113))
"""Seeds of the fleets on which the rule was found. The second dozen judged an earlier rule, whose
only bad choice was among them, and so had a part in finding this one."""
JUDGING = tuple(range(201, 213))
"""Seeds of the fleets that judge the rule, and had no part in finding it."""
RATES = (0.1, 0.01)
MOST_UPDATES = 120
"""Length of a run that misses its target, in updates of one group of all devices."""


@dataclass(frozen=True)
class Task:
    """A model to train."""

    dataset: str
    examples: int
    """Examples to train on; each device needs enough for the mini-batch of a group."""
    model: str
    loss: float
    """Test loss that ends a run."""
    every: int
    """Updates of each device, on average, from one evaluation to the next."""


TASKS = (
    Task("digits", 1437, "digits-mlp", 0.3, 1),
    Task("digits", 1437, "digits-softmax", 0.45, 1),
    Task("digits", 1437, "digits-mlp", 0.2, 1),
    Task("mnist", 60_000, "mnist-softmax", 0.42, 3),
)
DEVICES = {4: 4, 6: 4, 8: 4, 9: 2, 12: 2, 16: 2, 24: 1, 32: 1}
"""Numbers of devices, with their weights in the draw: runs of many devices take long to play."""
BATCHES = (32, 64, 128, 256)
"""Mini-batches of a group: noisy to smooth losses."""
SPEEDS: tuple[tuple[int, ...], ...] = ((100,), (100, 50), (100, 33), (100, 100, 25), (100, 50, 25))
"""Speeds of equal parts of a fleet, in percent of a core."""
LAWS = ("{step}ms", "{{lognormal: [{step}ms, 0.3]}}", "{{exponential: {step}ms}}")


@dataclass(frozen=True)
class RandomFleet:
    """A fleet with its task."""

    seed: int
    task: Task
    devices: int
    speeds: tuple[int, ...]
    law: str
    batch: int
    mbit: int
    """Rate of each device's link in both directions, in mbit/s; 0: without a limit."""
    delay: float
    """One-way delay of each link, in ms."""
    server_mbit: int
    """Rate of the server's link; 0: without a limit."""
    serve: int
    """Time of an update at the server, in µs."""

    @property
    def name(self) -> str:
        return f"fleet-{self.seed}"

    @property
    def parts(self) -> list[tuple[int, int]]:
        """Return the number of devices and the speed of each part of the fleet."""
        each, rest = divmod(self.devices, len(self.speeds))
        return [(each + (place < rest), speed) for place, speed in enumerate(self.speeds)]

    @property
    def about(self) -> str:
        """Return the fleet and its task in words."""
        speeds = "/".join(map(str, self.speeds))
        links = f"{self.mbit} mbit" if self.mbit else "no limit"
        server = f", server {self.server_mbit} mbit" if self.server_mbit else ""
        return (
            f"{self.devices} devices at {speeds} %, {self.law.strip('{}')}, links {links} and "
            f"{self.delay:g} ms{server}, {self.serve} µs an update; {self.task.model}, mini-batch "
            f"{self.batch}, to {self.task.loss:g}"
        )

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario of one group; it ends at the target, or after `MOST_UPDATES`."""
        open_ended = loads(self._text("1h"))
        update = hardware_efficiency(open_ended, [1], lambda text: None).predicted(1).queue
        return loads(self._text(f"{MOST_UPDATES * update:.3g}s"))

    def _text(self, time: str) -> str:
        task, side = self.task, _side(self.mbit, self.delay)
        server = _side(self.server_mbit, 0)
        devices = "".join(
            f"  - {{name: part{place}, count: {count}, "
            f"profile: {{name: cpu{speed}, cpu: {speed}%}}, "
            f"link: {{up: {side}, down: {side}}}}}\n"
            for place, (count, speed) in enumerate(self.parts)
        )
        return (
            f"name: {self.name}\n"
            f"training: {{dataset: {task.dataset}, model: {task.model}, batch_size: {self.batch}, "
            "codec: dense, synchronization: {kind: groups, groups: 1, assign: speed}}\n"
            f"evaluate: {{every: {task.every * self.devices}}}\n"
            f"stop: {{loss: {task.loss}, time: {time}}}\n"
            f"virtual: {{learner: numpy, step: {self.law}, boot: 50ms, serve: {self.serve}us}}\n"
            f"server: {{link: {{up: {server}, down: {server}}}}}\n"
            f"devices:\n{devices}"
        )


def random_fleet(seed: int) -> RandomFleet:
    """Draw the fleet of `seed`. Tasks take turns, so that each set of twelve has three of each."""
    dice = Random(f"fleet/{seed}")
    step = round(50 * 2 ** dice.uniform(0, 3))
    mbit = dice.choice((0, 20, 50, 200))
    task = TASKS[seed % len(TASKS)]
    (devices,) = dice.choices(list(DEVICES), list(DEVICES.values()))
    return RandomFleet(
        seed,
        task,
        devices,
        speeds=dice.choice(SPEEDS),
        law=dice.choice(LAWS).format(step=step),
        batch=dice.choice([size for size in BATCHES if size * devices <= task.examples]),
        mbit=mbit,
        delay=dice.choice((0.2, 1, 5)),
        server_mbit=dice.choice((0, 0, 5 * mbit)),
        serve=dice.choice((20, 200, 1000, 3000)),
    )


def _side(mbit: int, delay: float) -> dict[str, Any] | str:
    """Return one direction of a link, as YAML."""
    rate = f"rate: {mbit}mbit, " if mbit else ""
    return f"{{{rate}delay: {delay}ms}}"
