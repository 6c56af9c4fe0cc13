"""Which parts of the platform are in which plays of the tests: a table made of their scenarios.

A part is a text such as `codec topk`, `fault crash` or `link 4g`. The plays of a runtime are a list
of scenarios here, which the tests of these plays take from the same places.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from emulator import aggregation, codecs, modulation, optimizers, pulls, schedules, synchronization
from emulator.codecs import indices, values
from emulator.learning.datasets import DATASETS
from emulator.learning.datasets.split import AnySplit
from emulator.learning.models import MODELS
from emulator.scenario import Scenario, loads
from emulator.scenario.algorithms import ALGORITHMS
from emulator.scenario.reading.dump import plain
from emulator.scenario.reading.yaml_subset import parse
from emulator.scenario.sections.devices import Background, BackgroundSide
from emulator.world.faults import FAULTS
from emulator.world.links.link import Side
from emulator.world.links.traces import FORMATS
from tests.containers.kinds.fleet import FLEET
from tests.containers.training.sharded_scenario import ALIKE
from tests.cover import dealt_fleets, link_fleet
from tests.fakes.node.durable_fleet import plan_of
from tests.fakes.virtual import random_failures, random_features
from tests.node.durable.durable_plans import PLANS

FAMILIES = {
    "codec": codecs.AnyCodec,
    "modulation": modulation.AnyModulation,
    "optimizer": optimizers.AnyOptimizer,
    "pull": pulls.AnyPull,
    "schedule": schedules.AnySchedule,
    "synchronization": synchronization.AnySynchronization,
    "aggregation": aggregation.AnyAggregation,
    "split": AnySplit,
}
"""Keys of `training` with a kind, and the classes of their kinds."""
NAMED = {"algorithm": ALGORITHMS, "dataset": DATASETS, "model": MODELS}
"""Keys of `training` with a name, and the names."""
CODINGS = {"indices": indices.CODINGS, "values": values.CODINGS}
LIBRARY = {
    "link": dealt_fleets.PRESETS,
    "failures": dealt_fleets.PROFILES,
    "profile": dealt_fleets.BOARDS,
}
"""Keys of a group of devices, and the names of shipped profiles."""
LINK_KEYS = tuple(field.name for field in fields(Side))

SHARDS = "server shards"
NETWORK = "network"
LAWS = get_args(BackgroundSide.model_fields["law"].annotation)
STREAMS = get_args(Background.model_fields["kind"].annotation)
VIRTUAL_ALONE = frozenset([NETWORK, *(f"background {each}" for each in (*LAWS, *STREAMS))])
"""Parts that containers refuse."""

PARTS = frozenset(
    [
        *(f"{key} {kind.kind}" for key, family in FAMILIES.items() for kind in get_args(family)),
        *(
            f"{key} {name}"
            for key, names in {**NAMED, **CODINGS, **LIBRARY}.items()
            for name in names
        ),
        *(f"fault {kind}" for kind in FAULTS),
        *(f"link key {key}" for key in LINK_KEYS),
        *(f"trace {kind}" for kind in FORMATS),
        SHARDS,
        *VIRTUAL_ALONE,
    ]
)
"""All parts: a new plugin, preset, profile or key of a link is one of them by itself."""


def played_in_containers() -> Iterator[str]:
    """Yield the scenarios of runs in containers whose tests say what they have to do."""
    yield FLEET
    yield link_fleet.TEXT
    yield ALIKE
    yield from map(dealt_fleets.scenario, dealt_fleets.TRAININGS)
    for key, names in LIBRARY.items():
        yield dealt_fleets.each(names, key, 1)


def played_in_virtual_time() -> Iterator[str]:
    """Yield the scenarios of runs in virtual time that are held to laws, and those of containers,
    of which virtual time plays the links by models of its own."""
    yield from played_in_containers()
    yield from (random_failures.scenario(seed) for seed in range(20))
    yield from (random_features.scenario(seed) for seed in range(20))


def drawn() -> Iterator[str]:
    """Yield the random fleets that the tests play with their laws."""
    yield from (random_failures.scenario(seed) for seed in range(300))
    yield from (random_features.scenario(seed) for seed in range(112))


def made_durable() -> set[str]:
    """Return the parts of the servers that tests kill and compare with what comes back."""
    plans = [plan_of(**parts) for parts in PLANS.values()]
    return {
        *(
            f"{family} {getattr(plan, family)['kind']}"
            for plan in plans
            for family in ("modulation", "optimizer", "synchronization", "aggregation")
        ),
        *(
            f"{family} {getattr(plan.worker, family)['kind']}"
            for plan in plans
            for family in ("codec", "pull")
        ),
    }


def parts(text: str) -> Iterator[str]:
    """Yield the parts that the scenario `text` has, some of them more than once."""
    written = parse(text, "cover").data
    scenario = _loaded(text)
    training = plain(scenario)["training"]
    for key in FAMILIES:
        if key in training:
            yield f"{key} {training[key]['kind']}"
    for key in CODINGS:
        yield f"{key} {training['codec'].get(key)}"
    for key in NAMED:
        yield f"{key} {training.get(key) or written['training'].get(key)}"
    if scenario.server.shards > 1:
        yield SHARDS
    if scenario.network is not None:
        yield NETWORK
    for each in (*scenario.devices, *scenario.shared_queues):
        if each.background is not None:
            yield f"background {each.background.kind}"
            streams = (each.background.up, each.background.down)
            yield from (f"background {stream.law}" for stream in streams if stream is not None)
    for group in written["devices"]:
        for key in LIBRARY:
            yield from (f"{key} {name}" for name in _names(group.get(key)))
        yield from _trace_parts(group.get("link"))
        yield from _fault_parts(group.get("failures"))
    yield from _fault_parts([{"faults": written.get("faults", [])}])
    for side in (way for node in scenario.nodes for way in (node.link.up, node.link.down)):
        yield from (
            f"link key {key}" for key in LINK_KEYS if getattr(side, key) != getattr(Side(), key)
        )


def _names(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [name for name in values if isinstance(name, str)]


def _loaded(text: str) -> Scenario:
    """Return the scenario `text`, which may name the trace files of the fleet of links."""
    with TemporaryDirectory() as folder:
        for name, content in link_fleet.FILES.items():
            Path(folder, name).write_text(content)
        return loads(text, (), Path(folder))


def _trace_parts(link: Any) -> Iterator[str]:
    if isinstance(link, Mapping):
        traces = (link.get(way, {}).get("trace") for way in ("up", "down"))
        yield from (f"trace {trace['format']}" for trace in traces if "format" in (trace or ()))


def _fault_parts(profiles: Any) -> Iterator[str]:
    for profile in profiles or ():
        if isinstance(profile, Mapping):
            yield from (f"fault {fault['kind']}" for fault in profile["faults"])


def covered(texts: Iterable[str]) -> set[str]:
    """Return all parts of the scenarios `texts`."""
    return {part for text in texts for part in parts(text)} & PARTS
