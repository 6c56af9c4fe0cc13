"""A whole run on the hosts of a swarm: its engines, in place of that of one machine."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from docker import DockerClient

from ...checks.preflight import refuse
from ...checks.this_host import full_tables
from ...costs.host_limits import HostTables
from ...errors import EmulatorError, HostError
from ...machine.host import Host
from ...scenario import Scenario
from ...scenario.sections.server_section import HOST
from ..docker import play_containers, resume_containers
from ..docker.configs.container_settings import Means
from ..docker.engine.cleanup import Removed
from ..docker.engine.client import connect
from ..docker.engine.hosts import EngineHost, Hosts
from ..docker.engine.probing import described
from ..docker.images import node_image
from ..docker.images.node_image import NodeImage
from . import agents
from .nodes import Node, absent_hosts, ready_nodes
from .other_hosts import clean_other_hosts, remove_dead_there
from .placement import HostRoom, place
from .swarm_tables import home_tables, tables_there, unknown_tables


def relay_name(host: str) -> str:
    """Return the name of the relay at `host`; no device can have it, for the sake of the `_`."""
    return f"relay_{host}"


class SwarmEngines(play_containers.Engines):
    """The engines of a swarm, of which this machine's is a manager."""

    runtime = "swarm"

    def capacity(self) -> Host:
        _, others = ready_nodes(connect())
        here = Host.here()
        return replace(
            here,
            cores=here.cores + sum(node.cores for node in others),
            memory=here.memory + sum(node.memory for node in others),
            available=here.available + sum(node.memory for node in others),
        )

    def devices_by_host(self, scenario: Scenario) -> dict[str, list[str]]:
        """Return the devices that each host would have. Raises HostError as `open`."""
        client = connect()
        home, others = ready_nodes(client)
        return _by_host(client, [home, *others], scenario)

    def clean_up(self, client: DockerClient, run: str, tell: Callable[[str], None]) -> Removed:
        # first the other hosts: the network goes once no container anywhere is in it
        there = clean_other_hosts(client, lambda each: each == run, False, tell)
        return there.removed + super().clean_up(client, run, tell)

    def tables(self, scenario: Scenario) -> Sequence[HostTables]:
        return [home_tables(scenario, self.devices_by_host(scenario))]

    def tables_of_all(self, scenario: Scenario) -> list[HostTables]:
        """Return the tables of all hosts, by agents that are there for the moment. Raises HostError
        as `open`, but for a host whose agent does not come up: its tables are not known."""
        client = connect()
        home, others = ready_nodes(client)
        placed = _by_host(client, [home, *others], scenario)
        wanted = [node for node in others if placed[node.name]]
        found = [home_tables(scenario, placed)]
        if not wanted:
            return found
        try:
            image = node_image.require(client).id
            running = agents.start(client, image, wanted, lambda line: None)
        except EmulatorError as error:
            names = (node.name for node in wanted)
            return found + [unknown_tables(each, len(placed[each]), str(error)) for each in names]
        try:
            there = {
                host.name: tables_there(scenario, placed[host.name], host) for host in running.hosts
            }
        finally:
            running.close()
        missing = "; ".join(running.missing)
        for node in wanted:
            devices = len(placed[node.name])
            found.append(there.get(node.name) or unknown_tables(node.name, devices, missing))
        return found

    def encrypted(self, scenario: Scenario) -> Scenario:
        server = scenario.server.model_copy(update={"encrypt": True})
        return scenario.model_copy(update={"server": server})

    def open(
        self,
        client: DockerClient,
        image: NodeImage,
        scenario: Scenario,
        probe: Callable[[EngineHost], Means],
        tell: Callable[[str], None],
    ) -> tuple[Hosts, Means]:
        home, others = ready_nodes(client)
        placed = _by_host(client, [home, *others], scenario)
        for node in (home, *others):
            tell(_words(node, placed[node.name]))
        wanted = [node for node in others if placed[node.name]]
        if not wanted:
            return super().open(client, image, scenario, probe, tell)
        agents.remove_dead(client)
        running = agents.start_all(client, image.id, wanted, tell)
        try:
            remove_dead_there(running.hosts, running.run)
            own = ((placed[host.name], host) for host in running.hosts)
            _judge((tables_there(scenario, *each) for each in own), tell)
            there = {device: host for host in running.hosts for device in placed[host.name]}
            relays = {}
            if scenario.server.relay == HOST:
                relays = {relay_name(host.name): placed[host.name] for host in running.hosts}
                there |= {relay_name(host.name): host for host in running.hosts}
            here = EngineHost(client, word=home.name)
            hosts = Hosts(here, running.hosts, there, running.close)
            return hosts, replace(_means_of_all(hosts, probe, tell), relays=relays)
        except BaseException:
            running.close()
            raise


def _judge(tables: Iterable[HostTables], tell: Callable[[str], None]) -> None:
    """Tell what the `tables` are short of. Raises HostError with all that no run begins with."""
    refused = []
    for finding in full_tables(tables):
        if finding.fatal:
            refused.append(finding.error())
        else:
            tell(finding.text)
    refuse(refused)


def _by_host(client: DockerClient, nodes: list[Node], scenario: Scenario) -> dict[str, list[str]]:
    """Return the devices of each of `nodes`, by its name; the first is that of this machine."""
    home, *others = nodes
    rooms = [_place(home, Host.here().available), *map(_place, others)]
    placed = place(scenario, rooms, absent_hosts(client))
    return {
        node.name: [device for device, name in placed.items() if name == node.name]
        for node in nodes
    }


def _place(node: Node, available: int | None = None) -> HostRoom:
    """Return `node` as a place for devices, with the bytes of memory that it has for them."""
    return HostRoom(node.name, node.cores, available or node.memory, label=node.label)


def _words(node: Node, devices: list[str]) -> str:
    memory = f"{node.memory / 2**30:.0f} GiB"
    return f"host {node.name}: {node.cores} cores, {memory}, {len(devices)} devices"


def _means_of_all(
    hosts: Hosts, probe: Callable[[EngineHost], Means], tell: Callable[[str], None]
) -> Means:
    """Return the means that all `hosts` have. Raises HostError if they shape links differently."""
    means = probe(hosts.home)
    for host in hosts.others:
        tell(f"probing {host.name}")
        if (own := probe(host)).backend != means.backend:
            raise HostError(
                f"{host.name} shapes links in another way than this machine, so devices would "
                f"differ by their host: {described(own.backend.plain())} there, "
                f"{described(means.backend.plain())} here: load the same kernel modules at all "
                "hosts, or name the means by --shaping"
            )
    return replace(means, several=True)


play = partial(play_containers.play, engines=SwarmEngines())
"""Plays a scenario on a swarm, as `play_containers.play` does on one machine."""

resume = partial(resume_containers.resume, engines=SwarmEngines())
"""Goes on with such a run."""
