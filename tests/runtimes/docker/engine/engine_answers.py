"""The engine's calls as the product makes them, and as much of each answer as the product reads.

A fake of the engine may answer this and nothing else (`unlike`); the real engine has to answer all
of it (`lacking`), which tests/containers/test_engine_answers.py asks of one.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from types import NoneType
from typing import Any, NamedTuple

from emulator.runtimes.docker.engine.cleanup import RUN
from emulator.runtimes.docker.engine.engine_traits import LACKS
from emulator.runtimes.docker.engine.exits import EVENTS

EACH = "*"
"""A key that stands for every key: names of networks, of labels, ids."""
_MARKED = {"label": RUN}
_LABELS = {EACH: str}


class Call(NamedTuple):
    """A call, and the shape of its answer: types, lists of one shape, or mappings of shapes."""

    ask: Callable[[Any, str], Any]
    """Make the call to a client, or to a thing that the engine made, about a name."""
    shape: Any


def _events(client: Any, name: str) -> list[Any]:
    about, now = {"container": name, "event": EVENTS}, f"{time.time():.3f}"
    with closing(client.api.events(since=1, until=now, filters=about, decode=True)) as events:
        return [*events]


def _image(image: Any) -> dict[str, Any]:
    return {"id": image.id, "labels": image.labels, "tags": image.tags}


_IMAGE = {"id": str, "labels": _LABELS, "tags": [str]}

CALLS: dict[str, Call] = {
    "info": Call(
        lambda client, name: client.info(),
        {
            **{lack.flag: bool for lack in LACKS if lack.flag},
            "NCPU": int,
            "OSType": str,
            "SecurityOptions": [str],
        },
    ),
    "version": Call(
        lambda client, name: client.version(), {"Version": str, "ApiVersion": str, "Arch": str}
    ),
    "containers": Call(
        lambda client, name: client.api.containers(all=True, filters=_MARKED),
        [{"Id": str, "Names": [str], "Labels": _LABELS, "State": str}],
    ),
    "networks": Call(
        lambda client, name: client.api.networks(filters=_MARKED),
        [{"Id": str, "Name": str, "Labels": _LABELS}],
    ),
    "volumes": Call(
        lambda client, name: client.api.volumes(filters=_MARKED),
        {"Volumes": [{"Name": str, "Labels": _LABELS}]},
    ),
    "inspect_container": Call(
        lambda client, name: client.api.inspect_container(name),
        {
            "Id": str,
            "Name": str,
            "State": {"Running": bool, "Pid": int, "StartedAt": str, "ExitCode": int},
            "HostConfig": {"NetworkMode": str},
            "NetworkSettings": {
                "Networks": {EACH: {"IPAddress": str, "GlobalIPv6Address": str}},
            },
        },
    ),
    "inspect_network": Call(
        lambda client, name: client.api.inspect_network(name),
        {"Containers": {EACH: {"Name": str}}},
    ),
    "update quota": Call(
        lambda client, name: client.api.update_container(
            name, cpu_period=100_000, cpu_quota=20_000
        ),
        object,
    ),
    "update memory": Call(
        lambda client, name: client.api.update_container(
            name, mem_limit=300 << 20, memswap_limit=300 << 20
        ),
        object,
    ),
    "events": Call(_events, [{"Action": str, "Actor": {"Attributes": {EACH: str}}}]),
    "image": Call(lambda client, name: _image(client.images.get(name)), _IMAGE),
    "layers": Call(
        lambda client, name: client.images.get(name).attrs,
        {"Architecture": str, "RootFS": {"Layers": [str]}},
    ),
    "images": Call(
        lambda client, name: [
            *(
                _image(image)
                for image in client.images.list(filters={"label": ["emulate.checkout"]})
                if image.tags  # one that a container alone keeps has none
            )
        ],
        [_IMAGE],
    ),
    # of a container or a network that was made
    "id": Call(lambda made, name: made.id, str),
    "attrs": Call(
        lambda made, name: made.attrs,
        {
            "NetworkSettings": {"Networks": {EACH: {"IPAddress": str}}},
            "IPAM": {"Config": [{"Subnet": str}]},
        },
    ),
    "status": Call(lambda made, name: made.status, str),
    "wait": Call(lambda made, name: made.wait(), {"StatusCode": int}),
    "logs": Call(lambda made, name: made.logs(stdout=False), bytes),
    "creation": Call(lambda made, name: made, {"Warnings": (list, NoneType)}),
}


def unlike(client: Any, *calls: str, name: str = "") -> list[str]:
    """Return how answers of the fake `client` to `calls` about `name` differ from an engine's.

    A fake says what its tests need: an answer without a key is none that an engine cannot give.
    """
    return _differences(client, calls, name, whole=False)


def lacking(client: Any, *calls: str, name: str = "") -> list[str]:
    """Return what answers of the real `client` to `calls` about `name` lack."""
    return _differences(client, calls, name, whole=True)


def _differences(client: Any, calls: tuple[str, ...], name: str, *, whole: bool) -> list[str]:
    return [
        difference
        for call in calls
        for difference in _strange(CALLS[call].ask(client, name), CALLS[call].shape, call, whole)
    ]


def _strange(answer: Any, shape: Any, place: str, whole: bool) -> Iterator[str]:
    if isinstance(shape, list) and answer is None and not whole:
        return  # the engine says null of an empty list
    kind = type(shape) if isinstance(shape, dict | list) else shape
    if not isinstance(answer, kind) or (kind is int and isinstance(answer, bool)):
        yield f"{place} is {answer!r}"
    elif isinstance(shape, list):
        for item in answer:
            yield from _strange(item, shape[0], f"{place}[]", whole)
        if whole and not answer:
            yield f"{place} is empty: nothing is known of its items"
    elif isinstance(shape, dict) and EACH in shape:
        for key, value in answer.items():
            yield from _strange(value, shape[EACH], f"{place}.{key}", whole)
    elif isinstance(shape, dict):
        lost = shape.keys() - answer.keys() if whole else answer.keys() - shape.keys()
        yield from (f"{place}.{key}" for key in sorted(lost))
        for key in sorted(shape.keys() & answer.keys()):
            yield from _strange(answer[key], shape[key], f"{place}.{key}", whole)
