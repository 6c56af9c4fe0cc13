"""The section `workload`: programs of others that a run plays behind its links and failures.

A workload stands in place of `training`. Its programs run in containers of their own image, as they
are: on the server, on each device, and perhaps beside the server a driver, which begins the work
and whose end is the run's end.
"""

import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from ...errors import ScenarioError
from ...units import Fraction, Seconds
from ...world.roles import SERVER
from .devices import Section
from .fields import Duration

DRIVER = "driver"
"""Name of the driver's container beside the names of nodes; no device may have it."""

WORDS = ("server", "index", "count", "name", "seed", "data")
"""Words that commands and environments may have in braces."""

DATA = "/data"
"""Folder in each program's container at which `workload.data` stands."""

_WORD = re.compile(rf"\{{({'|'.join(WORDS)})\}}")


class NoTraining:
    """Stands for the section `training` of a scenario with a workload: it has no key.

    Asking it for a key raises ScenarioError: whoever asks needs a training.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked by copy, pickle and pydantic
            raise AttributeError(name)
        raise ScenarioError(
            f"workload: this needs training.{name}, and the scenario has a workload in its place"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoTraining)

    def __hash__(self) -> int:
        return hash(NoTraining)


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from error
    return text


def _pattern_of_number(text: str) -> str:
    if re.compile(_pattern(text)).groups != 1:
        raise ValueError(f"{text!r} needs one group, in (), that holds the number")
    return text


Pattern: TypeAlias = Annotated[str, AfterValidator(_pattern)]
NumberPattern: TypeAlias = Annotated[str, AfterValidator(_pattern_of_number)]


def number_of(text: str) -> float | None:
    """Parse `text` as a finite number or as a share such as `97%`. Return None for other text."""
    try:
        number = float(Fraction.parse(text)) if text.endswith("%") else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _number(value: Any) -> Any:
    if isinstance(value, str):
        if (number := number_of(value)) is None:
            raise ValueError(f"{value!r} is no number, and no share as 97%")
        return number
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


Number: TypeAlias = Annotated[
    float,
    BeforeValidator(_number),
    Field(allow_inf_nan=False),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[0-9.]+ *%$"}]}),
]


class MetricGoal(Section):
    """Goal of a metric: the bound that it has to reach."""

    least: Number | None = None
    """Reached once the metric is at least this number, or share as `97%`."""
    most: Number | None = None
    """Reached once the metric is at most this number."""

    @model_validator(mode="after")
    def _one(self) -> "MetricGoal":
        if (self.least is None) == (self.most is None):
            raise ValueError("needs one bound: give `least`, or `most`")
        return self

    def met(self, value: float) -> bool:
        """Return whether `value` reaches the bound."""
        if self.least is not None:
            return value >= self.least
        return self.most is not None and value <= self.most

    def __str__(self) -> str:
        bound = f"{self.most:g} at most" if self.least is None else f"{self.least:g} at least"
        return bound


def _goal(value: Any) -> Any:
    return value if isinstance(value, dict | MetricGoal) else {"least": value}


AnyGoal: TypeAlias = Annotated[MetricGoal, BeforeValidator(_goal)]
"""A bound alone, as `97%`, means at least so much."""


class Ready(Section):
    """Sign by which the server's program is known to serve: a port, a line, or a time."""

    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """TCP port on which the program listens once it serves."""
    log: Pattern | None = None
    """Regular expression of a line that the program prints once it serves."""
    seconds: Duration | None = None
    """Time after its start at which the program counts as ready, for example `5s`."""
    within: Duration = Seconds(120)
    """Time after which a program that gives no sign ends the run, with its last lines."""

    @model_validator(mode="after")
    def _one(self) -> "Ready":
        if sum(sign is not None for sign in (self.port, self.log, self.seconds)) != 1:
            raise ValueError("needs one sign: give `port`, `log` or `seconds`")
        return self

    def __str__(self) -> str:
        if self.port is not None:
            return f"port {self.port}"
        return f"after {self.seconds}" if self.log is None else f"the line {self.log!r}"


@dataclass(frozen=True)
class ProgramPlace:
    """The facts of a node that fill the words of its command and environment."""

    server: str
    """Address of the server."""
    name: str
    index: int
    """Number of the device among all devices, from 0; 0 on the server and for the driver."""
    count: int
    """Number of devices."""
    seed: int

    def fill(self, text: str) -> str:
        """Return `text` with the words in braces replaced; other braces stay as they are."""
        words = {**vars(self), "data": DATA}
        return _WORD.sub(lambda match: str(words[match[1]]), text)


class Program(Section):
    """Program of a container: its command, environment and files.

    In `command` and `env` the words `{server}` (the server's address), `{index}` (the device's
    number, from 0), `{count}` (the number of devices), `{name}` (the node's name), `{seed}` and
    `{data}` (the folder of `workload.data`) are replaced. Other braces stay.
    """

    command: str | tuple[str, ...] | None = None
    """Command with its arguments, as one text, or as a list that no shell and no quotes split.
    Without `command` the image's own command runs."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables, by name, in addition to the image's."""
    mounts: dict[str, str] = Field(default_factory=dict)
    """Files and folders of this host that the program may read, by their paths in the container,
    for example `{/app/config.toml: ./config.toml}`. Paths count from the scenario's
    folder, or in an option from the working directory."""

    def words(self, place: ProgramPlace) -> list[str] | None:
        """Return the command at `place` as a list; None for the image's own command."""
        if self.command is None:
            return None
        words = shlex.split(self.command) if isinstance(self.command, str) else self.command
        return [place.fill(word) for word in words]

    def environment(self, place: ProgramPlace) -> dict[str, str]:
        """Return the environment variables at `place`."""
        return {name: place.fill(text) for name, text in self.env.items()}


class ServerProgram(Program):
    """Program of the server."""

    ready: Ready | None = None
    """Sign by which the program is known to serve, for which the devices wait: `{port: 8080}`,
    `{log: 'listening on'}` or `{seconds: 5s}`. Without `ready` it counts as ready at its start."""


class WorkloadSection(Section):
    """Workload: programs of others, in place of `training`, behind the links and failures of the
    scenario. It is played in containers alone."""

    image: str | None = None
    """Image of the programs' containers, for example `python:3.12-slim`. Give either `image` or
    `build`."""
    build: str | None = None
    """Folder with a Dockerfile, from which the engine builds the image before the run."""
    server: ServerProgram
    """Program of the server, at whose link all devices meet."""
    device: Program
    """Program of each device."""
    driver: Program | None = None
    """Program that begins the work, once all others run, beside the server and in its network. With
    `stop: {driver: true}` its end is the end of the run."""
    data: str | None = None
    """File or folder of this host that all programs may read at `/data`, which `{data}` stands
    for."""
    metrics: dict[str, NumberPattern] = Field(default_factory=dict)
    """Regular expressions, by the name of a metric, for lines that a program prints: the one group
    of each holds the number, as in `{accuracy: 'acc=([0-9.]+%?)'}`. Each printed line that is a
    JSON object gives its numbers without a pattern."""
    output: str | None = None
    """Folder or file in the programs' containers that is copied into the run's folder at the end,
    for example `/results`."""

    @model_validator(mode="after")
    def _one_image(self) -> "WorkloadSection":
        if (self.image is None) == (self.build is None):
            raise ValueError("needs one image: give `image`, or `build`")
        return self

    @property
    def programs(self) -> Mapping[str, Program]:
        """The programs by their keys."""
        named = {SERVER: self.server, "device": self.device, DRIVER: self.driver}
        return {key: program for key, program in named.items() if program is not None}

    @property
    def described(self) -> str:
        """The workload in a few words, as the summary has them in place of an algorithm."""
        return f"workload {self.image or self.build}"
