"""Schedules of faults: the times at which a fault strikes, and the devices that are struck.

A schedule knows no kind of fault, and a kind knows no schedule. `scheduled` joins the two into the
flat class of an entry, as `{kind: crash, nodes: [a], at: 60s, lasts: 20s}`: an entry of a scenario
is `Aimed` at devices, and an entry of a failure profile is `Recurring`.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from random import Random
from typing import Any, ClassVar, Literal

from ...errors import MisplacedKeysError
from ...units import Fraction, Seconds
from .. import laws
from ..laws import Fixed, Law
from ..verbs import Action
from .occurrences import Interval, Once, Repeated

ALL = "all"
"""Stands under `nodes` for every device of the scenario."""

DATES = ("at", "every", "per_iteration", "between", "lasts", "together", "spread")
"""Keys that say when a fault strikes."""

_TIMES = ("at", "every", "per_iteration")
_OF_DEVICES = ("nodes", "count", "share", "together", "spread", "per_iteration")
"""Keys that say something of devices only."""


@dataclass(frozen=True, kw_only=True)
class Scheduled(ABC):
    """A schedule. `scheduled` joins a schedule with a fault, which defines the abstract methods."""

    kind: str
    always: ClassVar[bool] = False
    """Whether the fault, with none of `at`, `every` and `per_iteration`, lasts for the whole run.

    For kinds that come and go by themselves, in their `episodes`.
    """
    strikes_server: ClassVar[bool] = False
    """Whether the fault strikes the server, and no device."""
    strikes_links: ClassVar[bool] = False
    """Whether the fault may name links of the network beside devices."""
    by_itself: ClassVar[bool] = False
    """Whether the device alone decides when the fault begins and ends, so that no key does."""

    at: Law | None = None
    """Time of the strike, counted from the moment at which every node has said hello: a time as
    `60s`, or a law from which each device draws its own."""
    every: Law | None = None
    """Up time of a device, a law: from the end of this fault to its next beginning."""
    per_iteration: Fraction | None = None
    """Chance, in place of `at` and `every`, that an iteration ends in the fault; the device draws
    it."""
    between: tuple[Seconds, Seconds] | None = None
    """Window `[10min, 20min]` or `[10min, end]` in which a fault with `every` begins; the first up
    time counts from the window's begin."""
    lasts: Law | None = None
    """Duration of the fault each time, a time or a law; without `lasts` the first time is for
    good."""
    count: int | None = None
    """Number of devices to strike, drawn by the seed among the targets."""
    share: Fraction | None = None
    """Share of the devices to strike, drawn by the seed among the targets, for example `20%`: to
    the nearest number of devices, at least one."""
    together: bool = False
    """Whether all targets are struck at the same times, as a street that loses power; otherwise
    each device draws times of its own."""
    spread: Law | None = None
    """Delay of each device, a law, by which a fault with `together` begins and ends later on the
    device; drawn anew each time."""

    def __post_init__(self) -> None:
        given = [name for name, value in vars(self).items() if is_given(value)]
        aimed, kind = isinstance(self, Aimed), type(self)
        rules = {"always": self.always, "server": self.strikes_server, "by_itself": self.by_itself}
        if found := conflicts(given, aimed=aimed, episodic=is_episodic(kind), **rules):
            raise MisplacedKeysError(found)

    @abstractmethod
    def begin(self, node: str) -> Action: ...

    @abstractmethod
    def end(self, node: str) -> Action: ...

    def episodes(self, interval: Interval, rng: Random) -> Iterator[Interval]:
        """Yield the parts of `interval` in which the fault strikes, in order.

        Most kinds strike for all of it; a kind that comes and goes draws the parts from `rng`.
        """
        yield interval

    def episodes_on(self, node: str | None, interval: Interval, rng: Random) -> Iterator[Interval]:
        """Yield the episodes on `node`, or on all targets together if `node` is None.

        Few kinds depend on the node.
        """
        return self.episodes(interval, rng)

    @property
    def occurrences(self) -> Once | Repeated | None:
        """Times of the fault; None if the device draws the fault in every iteration."""
        if self.per_iteration is not None:
            return None
        if self.every is not None:
            return Repeated(self.every, self.lasts, self.between or Repeated.window)
        return Once(self.at or Fixed(Seconds(0)), self.lasts)

    @property
    def selective(self) -> bool:
        """Whether the fault strikes a part of its targets only, drawn by the seed."""
        return self.count is not None or self.share is not None

    def intervals(self, rng: Random, horizon: float) -> Iterator[Interval]:
        """Yield the failures that begin before `horizon` seconds, drawn from `rng`.

        Yields nothing with `per_iteration`. Raises ValueError at more failures than a timeline may
        hold.
        """
        if (occurrences := self.occurrences) is not None:
            yield from occurrences.intervals(rng, horizon)

    def hazard(self) -> dict[str, Any] | None:
        """Return the configuration for `Hazard`, as JSON; None without `per_iteration`."""
        if self.per_iteration is None:
            return None
        begin = self.begin("")
        return {
            "kind": self.kind,
            "begin": begin.verb,
            "end": self.end("").verb,
            "setting": begin.setting,
            "per_iteration": float(self.per_iteration),
            "lasts": None if self.lasts is None else laws.plain(self.lasts),
        }


@dataclass(frozen=True, kw_only=True)
class Aimed(Scheduled):
    """A fault of a scenario, which names the devices to strike."""

    nodes: tuple[str, ...] | Literal["all"] | None = None
    """Devices to strike, by name; a group's name stands for all of its devices, and `all` for all
    devices. With `count` or `share`, the devices among which to draw: without `nodes`, all. A
    partition and a degrade may name links of the network, too."""


@dataclass(frozen=True, kw_only=True)
class Recurring(Scheduled):
    """A fault of a failure profile. The fault strikes the devices that name the profile."""


def is_given(value: object) -> bool:
    """Return whether a key with `value` says more than an entry without the key."""
    return value is not None and value is not False


def is_episodic(kind: type) -> bool:
    """Return whether faults of the class `kind` come and go by themselves."""
    return getattr(kind, "episodes", Scheduled.episodes) is not Scheduled.episodes


def conflicts(
    given: Collection[str],
    *,
    aimed: bool,
    always: bool = False,
    episodic: bool = False,
    server: bool = False,
    by_itself: bool = False,
) -> list[tuple[str, str]]:
    """Return the keys that do not fit the other keys of an entry, with messages.

    `given` has the keys that the entry sets, an `aimed` one or one of a failure profile; with
    `always` it needs no time, an `episodic` one is never drawn by iteration, and one that begins
    `by_itself` has no times at all. One that strikes the `server` names no devices. An empty key
    stands for the whole entry.
    """
    found: list[tuple[str, str]] = []
    if server and not aimed:
        return [("", "strikes the server, and a profile is of devices: write it under `faults`")]
    if server:
        devices = [key for key in _OF_DEVICES if key in given]
        found += [(key, "is of devices, and the fault strikes the server") for key in devices]
        if "lasts" not in given:
            found.append(("lasts", "is missing: without the server nothing happens any more"))
        given = [*(key for key in given if key not in _OF_DEVICES), "nodes"]
    if by_itself and (dated := [key for key in DATES if key in given]):
        message = "the device itself finds out when this fault strikes: leave the key out"
        found += [(key, message) for key in dated]
        given = [key for key in given if key not in dated]
    times = [key for key in _TIMES if key in given]
    if len(times) > 1 or not (times or always):
        listed = " and ".join(times) or "none"
        # without a time the whole entry is wrong, with two the second one
        place = times[1] if times else ""
        found.append((place, f"say when: `at`, `every` or `per_iteration` ({listed} found)"))
    if "per_iteration" in given and episodic:
        message = "draws one strike, and the kind comes and goes: give `at` or `every` in its place"
        found.append(("per_iteration", message))
    if "between" in given and "every" not in given:
        found.append(("between", "is the window of `every`: give `every`, or leave it out"))
    if "together" in given and "per_iteration" in given:
        message = "`per_iteration` is drawn by each device alone: give `at` or `every` in its place"
        found.append(("together", message))
    if "spread" in given and "together" not in given:
        message = "delays the devices of a common fault: add `together: true`, or leave it out"
        found.append(("spread", message))
    if "count" in given and "share" in given:
        found.append(("share", "stands beside `count`: give one of the two"))
    if aimed and not {"nodes", "count", "share"} & set(given):
        message = "is missing: name devices or groups, write all, or give `count` or `share`"
        found.append(("nodes", message))
    return found


def scheduled(
    schedule: type[Scheduled], fault: type, types: Mapping[str, Any] | None = None
) -> type[Scheduled]:
    """Return a class with the fields of `fault` and `schedule`.

    `types` maps names of fields to types that replace those of `fault` and `schedule`.
    """
    defaults = {each.name: each.default for cls in (schedule, fault) for each in fields(cls)}
    joined = make_dataclass(
        f"{schedule.__name__}{fault.__name__}",
        [
            (name, kind, field() if defaults[name] is MISSING else field(default=defaults[name]))
            for name, kind in (types or {}).items()
        ],
        bases=(fault, schedule),
        namespace={"__post_init__": _check_both},
        frozen=True,
        kw_only=True,
    )
    joined.__doc__ = fault.__doc__
    return joined


def _check_both(entry: Any) -> None:
    """Run the checks of the fault and of the schedule. Python itself would run only the first of
    the two.

    Raises ValueError.
    """
    for cls in type(entry).__bases__:
        if check := getattr(cls, "__post_init__", None):
            check(entry)
