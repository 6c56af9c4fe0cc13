"""Links of foreign containers: any running container, put behind an access link of the emulator.

A sidecar in the container's network has the rights that the link needs, and undoes the link when it
is stopped; the container itself needs none. Where the box delays packets, the link has a box of its
own. Both outlive the command that made them, and have the link's own id as their label.
"""

import json
from typing import Any

from docker import DockerClient
from docker.errors import NotFound

from ....errors import DeploymentError, HostError
from ....runs.folder import new_id
from ....shaping.backend import Backend, Delay, boxed, choose
from ....shaping.box.link_request import LONGEST_NAME
from ....world.emulated_clock import UNDILATED
from ....world.links import reshaping
from ....world.links.link import Link
from ..configs import spec
from ..engine.cleanup import LINK, ROLE, RUN, STARTED
from ..engine.client import finished, refusals
from ..engine.probing import probe
from .link_removal import departure, linked, remove_link

_LOOK = 0.1


def put_behind(
    client: DockerClient,
    image: str,
    container: str,
    link: Link,
    shaping: Delay | None = None,
    seed: int = 0,
) -> Backend:
    """Put the running `container` behind `link`; return the means. `shaping` forces one.

    `seed` and the container's name fix the box's draws of jitter and loss. Raises DeploymentError
    if the container has no network of its own, one with IPv6, or a link already, and HostError if
    the kernel lacks a means.
    """
    with refusals(f"looking at the container {container}"):
        about = _inspected(client, container)
        _check(client, about)
    backend = choose(probe(client, image), [link], shaping=shaping)
    _check_means(link, backend)
    run = new_id()
    marks = {RUN: run, LINK: about["Name"].lstrip("/"), STARTED: about["State"]["StartedAt"]}
    try:
        with refusals(f"putting {container} behind a link"):
            if boxed(link, backend):
                _start_box(client, image, run, marks, seed)
            _start_end(client, image, run, marks, (about["Id"], link, backend))
    except BaseException:
        remove_link(client, run)
        raise
    return backend


def _inspected(client: DockerClient, container: str) -> dict[str, Any]:
    try:
        about: dict[str, Any] = client.api.inspect_container(container)
    except NotFound:
        raise DeploymentError(f"there is no container {container}") from None
    return about


def _check(client: DockerClient, about: dict[str, Any]) -> None:
    """Raise DeploymentError if no link can stand between the container and its network."""
    name, mode = about["Name"].lstrip("/"), about["HostConfig"]["NetworkMode"]
    if not about["State"]["Running"]:
        raise DeploymentError(f"{name} does not run: start it first")
    if mode in ("host", "none") or mode.startswith("container:"):
        raise DeploymentError(f"{name} has no network of its own: its network is {mode}")
    networks = about["NetworkSettings"]["Networks"]
    if len(networks) != 1:
        raise DeploymentError(
            f"{name} is on {len(networks)} networks ({', '.join(networks)}): a link needs one"
        )
    ((network, place),) = networks.items()
    if place.get("GlobalIPv6Address"):
        raise DeploymentError(
            f"{name} is on {network}, a network with IPv6: links carry IPv4 alone: put it on a "
            "network without IPv6"
        )
    if run := linked(client, name):
        if not departure(client, run):
            raise DeploymentError(f"{name} has a link: `emulate link {name} --remove` undoes it")
        remove_link(client, run)  # of an earlier start, which has ended


def _check_means(link: Link, backend: Backend) -> None:
    """Raise HostError if a message, which no kernel knows, would have to be held."""
    late = any(side.delay for side in (link.up, link.down))
    if late and backend.delay == "receiver":
        raise HostError(
            "delays need sch_netem, or /dev/net/tun in containers: nobody holds the messages of a "
            "foreign container"
        )


def _start_box(
    client: DockerClient, image: str, run: str, marks: dict[str, str], seed: int
) -> None:
    """Start the box of a link, which lives until it is removed."""
    own = {**marks, ROLE: "box"}
    finished(client.volumes.create, **spec.box_volume(run, own))
    options = {
        **spec.box(run, image, own, seed),
        **_LASTING,
        "entrypoint": ["python3", "-m", "emulator.shaping.box"],
    }
    _start(client, options, '"ready"')


def _start_end(
    client: DockerClient,
    image: str,
    run: str,
    marks: dict[str, str],
    wanted: tuple[str, Link, Backend],
) -> None:
    """Start the sidecar: `wanted` are the container's id, the link, and the means."""
    container, link, backend = wanted
    options = spec.foreign_end(run, image, {**marks, ROLE: "link"}, container, boxed(link, backend))
    name = marks[LINK][:LONGEST_NAME]
    command = [name, json.dumps(reshaping.plain(link)), json.dumps(backend.plain())]
    _start(client, {**options, **_LASTING, "command": command}, "ready")


_LASTING = {
    "auto_remove": False,
    "stdin_open": False,
    "log_config": {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "2"}},
}
"""Options of containers that outlive their command, and whose output can be read."""


def _start(client: DockerClient, options: dict[str, Any], word: str) -> None:
    """Start a container, and wait for the `word` on its output. Raises DeploymentError."""
    container = finished(client.containers.create, **options)
    container.start()
    until = UNDILATED.now() + spec.BOX_READY
    while word not in container.logs(stderr=False).decode(errors="replace"):
        container.reload()
        if container.status in ("exited", "dead") or UNDILATED.now() > until:
            said = container.logs().decode(errors="replace").strip()
            raise DeploymentError(f"the {options['labels'][ROLE]} did not start: {said}")
        UNDILATED.sleep(_LOOK)
