"""The agents of a swarm's hosts: a global service, which every other command may start anew.

The service has keys of its own, made when it starts: the agents get theirs as a secret of the
swarm, and only its starter has the other half. Its label names the starter's lock, so what a dead
starter has left can be told.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import requests
from docker import DockerClient
from docker.errors import APIError, DockerException
from docker.types import (
    ContainerSpec,
    Mount,
    NetworkAttachmentConfig,
    Placement,
    Resources,
    RestartPolicy,
    SecretReference,
    ServiceMode,
    TaskTemplate,
)

from ...errors import HostError
from ...runs.folder import new_id
from ...transport.secrets import KeyPair, Keys, issue, pack_keys
from ...transport.tunnel.conductor_end import Tunnel, TunnelError
from ..docker.engine import owners
from ..docker.engine.cleanup import LOCK, ROLE, RUN
from ..docker.engine.client import refusals
from ..docker.engine.owners import owner_of
from ..docker.engine.probing import BOOT
from .agent import FILES, SECRET, SOCKET
from .nodes import SOCKET_LABEL, Node
from .remote_host import RemoteHost
from .socket_folders import remove_dead_folders, socket_folder

PORTS = range(23_000, 30_000)
"""Ports that agents listen on, below those that kernels give to connections of their own."""
START = 60.0
"""Seconds in which the agents of all hosts answer."""
END = 10.0
"""Seconds in which the agents end."""
LOOK = 0.1

MEMORY = 512 << 20
"""Bytes that an agent may take: 60 MiB at rest, a batch of files twice, and a window of each of
253 streams, as many as a network of the swarm has addresses for containers, that nobody reads."""
TASKS = 64
"""Tasks of an agent, which are threads: it has about 10."""

SENDS = "`emulate images --to ENDPOINT` sends it there"

STARTED_ON = "emulate.started_on"
"""Label with the boot of the machine that started the agents: there, a lock that is gone tells that
its holder has ended."""

CONDUCTOR = "conductor"


@dataclass(frozen=True)
class Agents:
    """The agents of a swarm, until `close`."""

    run: str
    """Id by which the engine's things of the agents are labelled."""
    hosts: tuple[RemoteHost, ...]
    missing: tuple[str, ...]
    """A line for each host whose agent does not come up, with the reason."""
    close: Callable[[], None]


def start(
    client: DockerClient, image: str, nodes: list[Node], tell: Callable[[str], None]
) -> Agents:
    """Start an agent at each of `nodes`, from the `image` that all of them should have."""
    run = new_id()
    port = PORTS[int(run, 16) % len(PORTS)]
    guests, secrets = issue([CONDUCTOR], encrypt=True)
    keys = secrets[CONDUCTOR]
    if not (isinstance(guests, Keys) and isinstance(keys, KeyPair)):
        raise TypeError("agents are met with keys")
    with ExitStack() as held:
        held.enter_context(owners.owned(run))
        marks = {RUN: run, LOCK: str(owners.place(run)), ROLE: "agents", STARTED_ON: _boot()}
        held.callback(remove_service, client, run)
        remove_dead_folders()
        folder = held.enter_context(socket_folder())
        tell(f"agents: starting at {', '.join(node.name for node in nodes)}")
        with refusals("starting the agents of the swarm's hosts"):
            _create(client, run, image, port, guests, nodes, marks)
        hosts, missing = _met(client, run, port, keys, nodes, folder, held)
        return Agents(run, tuple(hosts), tuple(missing), held.pop_all().close)


def start_all(
    client: DockerClient, image: str, nodes: list[Node], tell: Callable[[str], None]
) -> Agents:
    """Start an agent at each of `nodes`; raise a HostError with all whose agent does not come up.
    None is left then."""
    agents = start(client, image, nodes, tell)
    if agents.missing:
        agents.close()
        raise HostError(f"the swarm's hosts: {'; '.join(agents.missing)}")
    return agents


def _create(
    client: DockerClient,
    run: str,
    image: str,
    port: int,
    guests: Keys,
    nodes: list[Node],
    marks: dict[str, str],
) -> None:
    name = f"emulate-{run}-agents"
    secret = client.api.create_secret(name, pack_keys(guests), labels=marks)
    reference = SecretReference(secret["ID"], name, filename=SECRET.name, mode=0o400)
    away = [f"node.id!={node}" for node in _others(client, nodes)]
    spec = ContainerSpec(
        image,
        command=["python3", "-m", "emulator.runtimes.swarm.agent"],
        args=[str(port)],
        labels=marks,
        mounts=[
            Mount(SOCKET, _socket(nodes), type="bind"),
            Mount(str(FILES), None, type="volume"),
        ],
        secrets=[reference],
        read_only=True,
        cap_drop=["ALL"],
        cap_add=["CHOWN", "DAC_OVERRIDE", "FOWNER"],
    )
    resources = Resources(mem_limit=MEMORY)
    resources["Limits"]["Pids"] = TASKS  # of which Docker's client knows nothing
    template = TaskTemplate(
        spec,
        resources=resources,
        restart_policy=RestartPolicy(condition="none"),
        placement=Placement(constraints=away),
        networks=[NetworkAttachmentConfig("host")],
        log_driver=None,
    )
    api: Any = client.api  # which has no types for services
    api.create_service(template, name=name, labels=marks, mode=ServiceMode("global"))


def _socket(nodes: list[Node]) -> str:
    """Return the path of the engine's socket at all `nodes`."""
    paths = {node.socket for node in nodes}
    if len(paths) > 1:
        raise HostError(
            f"the nodes of the swarm have sockets at {', '.join(sorted(paths))}: give all the same "
            f"label {SOCKET_LABEL}"
        )
    return paths.pop()


def _others(client: DockerClient, nodes: list[Node]) -> list[str]:
    """Return the ids of the swarm's nodes without an agent."""
    wanted = {node.id for node in nodes}
    return [node["ID"] for node in client.api.nodes() if node["ID"] not in wanted]


def _met(
    client: DockerClient,
    run: str,
    port: int,
    keys: KeyPair,
    nodes: list[Node],
    folder: Path,
    held: ExitStack,
) -> tuple[list[RemoteHost], list[str]]:
    """Return the hosts of `nodes` whose agents answer, and a line for each other one."""
    until = time.monotonic() + START
    hosts: list[RemoteHost] = []
    wrong: list[str] = []
    tunnels = []
    for number, node in enumerate(nodes):
        tunnel = Tunnel(f"tcp://{node.address}:{port}", keys, folder / f"engine-{number}.sock")
        held.callback(tunnel.close)
        tunnels.append(tunnel)
    for node, tunnel in zip(nodes, tunnels, strict=True):
        try:
            _ask(tunnel, until, partial(_failed, client, run, node))
        except TunnelError as error:
            wrong.append(f"{node.name} ({node.address}): its agent does not come up: {error}")
            continue
        engine = DockerClient(base_url=f"unix://{tunnel.path}", timeout=120, max_pool_size=32)
        host = RemoteHost(node.name, node.cores, tunnel, engine, _container(engine, run))
        held.callback(host.close)
        hosts.append(host)
    return hosts, wrong


def _ask(tunnel: Tunnel, until: float, failed: Callable[[], str]) -> None:
    """Ask an agent about itself until it answers. Raises TunnelError with why it does not."""
    while True:
        try:
            tunnel.ask("about", timeout=1.0)
            return
        except TunnelError as error:
            if why := failed():
                raise TunnelError(why) from error
            if time.monotonic() > until:
                raise TunnelError(f"no agent with the right key answers: {error}") from error


def _failed(client: DockerClient, run: str, node: Node) -> str:
    """Return why the agent of `node` does not come up; empty if it still may."""
    filters = {"service": f"emulate-{run}-agents", "node": node.id}
    with suppress(DockerException, requests.RequestException):
        api: Any = client.api
        for task in api.tasks(filters=filters):
            state = task["Status"]
            if state["State"] in ("failed", "rejected", "complete"):
                why = str(state.get("Err") or state["Message"])
                if "No such image" in why:
                    return f"it lacks the image of this code ({why}): {SENDS}"
                return ": ".join(filter(None, (why, _said(client, run))))
        if api.inspect_node(node.id)["Status"]["State"] == "down":
            return "the swarm says that the host is down"
    return ""


def _said(client: DockerClient, run: str) -> str:
    """Return the last line that an agent printed, as the swarm's logs have it."""
    services: Any = client.services  # which has no types
    service = services.get(f"emulate-{run}-agents")
    lines = b"".join(service.logs(stdout=True, stderr=True, tail=1)).decode(errors="replace")
    return next(reversed(lines.strip().splitlines()), "")


def _container(engine: DockerClient, run: str) -> str:
    with refusals("looking up the agent's container"):
        return str(engine.api.containers(filters={"label": f"{RUN}={run}"})[0]["Id"])


def remove_service(client: DockerClient, run: str) -> None:
    """Remove the agents of `run` and their secret from the swarm, and wait for their end at the
    hosts that answer.

    A refusal raises no error: the next command removes what stays.
    """
    label, until = {"label": f"{RUN}={run}"}, time.monotonic() + END
    api: Any = client.api  # which has no types for services
    with suppress(DockerException, requests.RequestException):
        for service in api.services(filters=label):
            api.remove_service(service["ID"])
        while time.monotonic() < until and (_runs(api, label) or not _secrets_removed(api, label)):
            time.sleep(LOOK)


def _runs(api: Any, label: dict[str, str]) -> bool:
    """Return whether a host that answers has a container of a service that was removed."""
    ready = {node["ID"] for node in api.nodes() if node["Status"]["State"] == "ready"}
    return any(task.get("NodeID") in ready for task in api.tasks(filters=label))


def _secrets_removed(api: Any, label: dict[str, str]) -> bool:
    try:
        for secret in api.secrets(filters=label):
            api.remove_secret(secret["ID"])
    except APIError:  # the swarm holds it while it ends the service
        return False
    return True


def remove_dead(client: DockerClient, forced: Callable[[str], bool] = lambda run: False) -> None:
    """Remove the agents that dead processes have left in the swarm, and those `forced` by id."""
    for run, marks in _services(client).items():
        if _dead(marks) or forced(run):
            remove_service(client, run)


def present(client: DockerClient) -> frozenset[str]:
    """Return the ids of all agents in the swarm."""
    return frozenset(_services(client))


def _services(client: DockerClient) -> dict[str, dict[str, str]]:
    """Return the labels of the agents' services by their ids."""
    api: Any = client.api
    found = (each["Spec"]["Labels"] for each in api.services(filters={"label": RUN}))
    return {marks[RUN]: marks for marks in found}


def _dead(marks: dict[str, str]) -> bool:
    """Return whether the starter of agents with these labels is known to be dead."""
    owner = owner_of(marks)
    here = marks.get(STARTED_ON) == _boot()
    return owner.dead or (here and owner.conductor is None)


def _boot() -> str:
    return BOOT.read_text(encoding="utf-8").strip()
