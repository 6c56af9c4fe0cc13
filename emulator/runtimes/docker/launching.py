"""Creates the networks of a run, and starts the containers on it."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

import requests
from docker.errors import APIError, NotFound

from ...runs.folder import RunFolder
from ...scenario import Device
from ...scenario.cores_and_memory import bridge_count, bridges
from ...world.roles import SERVER
from .configs import spec
from .configs.container_settings import World
from .configs.spec import BOX, FORK_SERVER
from .engine import owners
from .engine.cleanup import labels
from .engine.client import refusals
from .engine.exits import Exits
from .engine.hosts import EngineHost, Hosts, at
from .engine.stdio import Stdio
from .network.ways import addresses, subnet
from .start_waves import Gathering

P = ParamSpec("P")
T = TypeVar("T")

SUBNETS = 5
"""Subnets that the engine may give to others before it counts as a failure."""


class Launcher:
    """Starts the containers of a run, with standard input and output attached."""

    def __init__(
        self, hosts: Hosts, folder: RunFolder, world: World, stdio: Stdio, exits: Exits
    ) -> None:
        self._hosts, self._folder, self._world = hosts, folder, world
        self._client = hosts.home.client
        self._clock = world.configs.clock
        self._stdio, self._exits = stdio, exits
        self._bridges = bridges(world.scenario)
        numbers = range(bridge_count(world.scenario))
        self._networks = [spec.network_name(folder.run, number) for number in numbers]
        self._devices = {device.name: device for device in world.scenario.nodes}
        self._servers: dict[str, Any] = {}  # containers of the server, by name
        self._calls = ThreadPoolExecutor(1)
        self._ending = False
        self.unanswered: set[str] = set()
        """Names of things that the engine may be making though it has not answered in time."""

    def finish(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Return the result of `call`, which asks the engine for something.

        A signal that ends the run is raised at once; `close` then waits for the end of the call, as
        the engine would serve an abandoned request all the same, and nothing would remove the new
        thing. For one thread.
        """
        return self._calls.submit(call, *args, **options).result()

    def end(self) -> None:
        """Start no further container: the containers that are being made stay as they are."""
        self._ending = True

    def close(self) -> None:
        """Wait for the call of `finish` that is under way, if a signal has left one."""
        self._calls.shutdown(cancel_futures=True)

    def create_networks(self) -> None:
        """Create the networks. Raises DeploymentError if a subnet has no room for its nodes."""
        for number, network in enumerate(self._networks):
            with refusals("making the run's network"):
                given = subnet(self._create_network(network))
            nodes = [node for node, own in self._bridges.items() if own == number]
            addresses(given, [*self._world.servers, *nodes])

    def create_network_with_addresses(self) -> Mapping[str, str]:
        """Create a network on which containers have the addresses returned, by node.

        The engine gives a free subnet to a network, but takes addresses of containers only where it
        was told the subnet: so the subnet of a first network is that of a second one. Between the
        two another run may take the subnet: then both are made anew.
        """
        for left in reversed(range(SUBNETS)):
            with refusals("making the run's network"):
                first = self._create_network(self._networks[0])
                given = subnet(first)
                first.remove()
                try:
                    self._create_network(self._networks[0], given)
                except APIError as error:
                    if "overlaps" not in str(error) or not left:
                        raise
                    continue
            break
        return addresses(given, self._world.nodes)

    def take(self, world: World) -> None:
        """Start the containers of `world` from here on."""
        self._world = world

    def _create_network(self, name: str, subnet: str | None = None) -> Any:
        overlay = self._hosts.several
        options = spec.network(name, self.marks(SERVER), subnet, overlay=overlay)
        with self._making(name):
            return self.finish(self._client.networks.create, **options)

    def start_box(self, host: EngineHost) -> None:
        """Create and start the box of `host`, which must serve before the nodes behind it start."""
        run, marks = self._folder.run, self.marks(BOX)
        image, seed = self._world.image, self._world.scenario.seed
        with refusals(f"starting the box that delays packets{at(host)}"):
            self.finish(host.client.volumes.create, **spec.box_volume(run, marks))
            with self._making(spec.name(run, BOX)):
                options = spec.box(run, image, marks, seed, self._world.files)
                container = self.finish(host.client.containers.create, **options)
            self._stdio.open(host, host.box, str(container.id))
            self._exits.created(host.box, str(container.id))
            container.start()

    def start_fork_server(self, host: EngineHost) -> None:
        """Create and start the fork server of `host`."""
        run, marks = self._folder.run, self.marks(FORK_SERVER)
        doing = f"starting the fork server{at(host)}"
        with refusals(doing), self._making(spec.name(run, FORK_SERVER)):
            options = spec.fork_server(run, self._world.image, marks, self._world.files)
            container = self.finish(host.client.containers.create, **options)
            self._stdio.open(host, host.fork_server, str(container.id))
            self._exits.created(host.fork_server, str(container.id))
            container.start()

    def first_process(self, node: str) -> tuple[int, str] | None:
        """Return the first process of the container of `node`, as the host counts, and the
        container's id; None if the container is gone."""
        with refusals(f"looking up the process of {node}"):
            try:
                api = self._hosts.of(node).client.api
                found = api.inspect_container(spec.name(self._folder.run, node))
            except NotFound:
                return None
        return int(found["State"]["Pid"]), str(found["Id"])

    def start(self, node: str) -> float:
        """Create and start the container of `node`; return the time when it runs, on the clock.

        Called from several threads at once, each with nodes of its own.
        """
        host, wanted = self._hosts.of(node), self._container(node)
        with refusals(f"starting {node}{at(host)}"):
            with self._making(spec.name(self._folder.run, node)):
                container = host.client.containers.create(**spec.container(wanted))
            if node in self._world.servers:
                for network in self._networks[1:]:
                    self._client.api.connect_container_to_network(str(container.id), network)
            if self._ending:
                return self._clock.now()
            # attached before the start, so that no output is missed
            self._stdio.open(host, node, str(container.id))
            self._exits.created(node, str(container.id), wanted.memory)
            container.start()
        if node in self._world.servers:
            self._servers[node] = container
        return self._clock.now()

    def create_program(self, options: Mapping[str, Any]) -> str:
        """Create the container of a workload's program by `options`; return the engine's id."""
        with refusals(f"making {options['name']}"), self._making(options["name"]):
            return str(self._client.containers.create(**options).id)

    def create_shards_volume(self) -> None:
        """Create the folder of the sockets between the shards of the server."""
        run, user = self._folder.run, self._world.configs.user
        made = spec.shards_volume(run, self.marks(SERVER), user)
        with refusals("making the folder of the server's shards"):
            self.finish(self._client.volumes.create, **made)

    def server_addresses(self) -> Mapping[str, list[str]]:
        """Return for each other node the address of the server, or of each shard, on the node's
        network. All of them must have started."""
        own = [self._addresses(name) for name in self._world.servers]
        return {node: [each[number] for each in own] for node, number in self._bridges.items()}

    def _addresses(self, name: str) -> list[str]:
        """Return the address of the server's container `name` on each network."""
        container = self._servers[name]
        with refusals("looking up the server's address"):
            container.reload()
        networks: dict[str, Any] = container.attrs["NetworkSettings"]["Networks"]
        return [str(networks[network]["IPAddress"]) for network in self._networks]

    def address(self, node: str) -> str:
        """Return the address of `node`, which must have started, on the run's network."""
        with refusals(f"looking up the address of {node}"):
            api = self._hosts.of(node).client.api
            found = api.inspect_container(spec.name(self._folder.run, node))
        return str(found["NetworkSettings"]["Networks"][self._networks[0]]["IPAddress"])

    def gathering(self) -> Gathering:
        """Return the order in which all nodes but the server start, and how many at once.

        The evaluator comes last: devices that boot would leave it no processor time.
        """
        with refusals("asking for the engine's cores"):
            cores = sum(host.client.info()["NCPU"] for host in self._hosts.all)
        last = self._world.last
        return Gathering([*self._devices, *last], cores, beside=last)

    @contextmanager
    def _making(self, name: str) -> Iterator[None]:
        """Note that the engine may make `name` later if the block's request has no answer."""
        try:
            yield
        except (requests.Timeout, requests.ConnectionError):
            self.unanswered.add(name)
            raise

    def _container(self, node: str) -> spec.Container:
        device: Device | None = self._devices.get(node)
        role = "bottleneck" if node in self._world.gateways else node
        role = "relay" if node in self._world.relays else role
        marks = self.marks("device", node) if device else self.marks(role)
        network = self._networks[self._bridges.get(node, 0)]
        wanted = self._world.container(node, network, marks, device)
        host, run = self._hosts.of(node), self._folder.run
        mounts = {inside: host.place(source, run) for inside, source in wanted.mounts.items()}
        return replace(wanted, mounts=mounts)

    def marks(self, role: str, device: str = "") -> dict[str, str]:
        """Return the labels of a container of the run, by its role and its device."""
        folder, name = self._folder, self._world.scenario.name
        path, lock = str(folder.path), str(owners.place(folder.run))
        return labels(folder.run, name, path, lock, role, device)
