"""Makes the configuration of each container from a scenario. Pure: no file, no engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ....core.plan import Plan
from ....core.scheduling.prior_costs import PriorCosts
from ....core.zmtp import Heartbeat
from ....learning import models
from ....node.config import (
    PORT,
    Delay,
    EvaluatorRole,
    GatewayRole,
    Network,
    NodeConfig,
    RelayRole,
    ServerAddress,
    ServerRole,
    WorkerRole,
)
from ....node.link.access_link import held
from ....node.part.server_role import SLACK, largest_frame, pieces
from ....scenario import Device, Scenario
from ....scenario.sections.devices import Bottleneck
from ....scenario.timeline.link_changes import start_draw
from ....scenario.timeouts import answer_timeout, slowest_exchange
from ....shaping.backend import Backend
from ....transport.secrets import AllowList, Keys, Secret
from ....world.emulated_clock import EmulatedClock
from ....world.links.link import Link, Side
from ....world.links.link_course import link_at
from ....world.links.reshaping import reshaped
from ....world.roles import EVALUATOR
from ....world.verbs import Setting
from ..network.ways import Ways
from .node_networks import Addresses, NodeNetworks


@dataclass(frozen=True)
class NodeConfigs:
    """The configurations of the containers of one run, made on demand."""

    scenario: Scenario
    plan: Plan
    parameters: int
    """Number of the parameters that devices pull."""
    guests: AllowList
    secrets: Mapping[str, Secret]
    backend: Backend
    user: int
    """User id that nodes run as."""
    priors: Mapping[str, PriorCosts] = field(default_factory=dict)
    """Costs for the first plans of devices that cut models, by the device's name."""
    resumes: int = 0
    """Times that the run was resumed."""
    resumed_at: float = 0.0
    """Emulated seconds from which the clock of a resumed run goes on."""
    ways: Ways = field(default_factory=Ways)
    """The ways of packets through the gateways of bottlenecks."""
    incarnations: Mapping[str, int] = field(default_factory=dict)
    """First incarnation of nodes that have run before, by name."""
    forked: frozenset[str] = frozenset()
    """Names of the devices whose first worker is a fork of the run's fork server."""
    several: bool = False
    """Whether the nodes are on several hosts: their network then knows each node's own address."""
    relays: Mapping[str, Keys] = field(default_factory=dict)
    """The allow-list of each relay, by its name."""

    @cached_property
    def clock(self) -> EmulatedClock:
        """The clock of the run."""
        return EmulatedClock(self.scenario.dilation)

    @cached_property
    def networks(self) -> NodeNetworks:
        """The networks of the nodes."""
        return NodeNetworks(self.scenario, self.backend, self.ways, self.resumed_at, self.several)

    @property
    def model_bytes(self) -> int:
        """Size of the devices' part of the model as f32 values."""
        return 4 * self.parameters

    @property
    def _whole_bytes(self) -> int:
        return 4 * self.scenario.training.layout.size

    # -- nodes -----------------------------------------------------------------------------------

    @property
    def servers(self) -> list[str]:
        """Names of the containers of the server, the one that leads first."""
        return self.networks.servers

    def server(self, gathering: float | None = None, shard: int = 0) -> NodeConfig:
        """Return the configuration of the server, or of a `shard`.

        `gathering`: seconds that the server waits for the hellos of all nodes; None if a
        conductor waits instead.
        """
        part = ServerRole(
            guests=self.guests,
            heartbeat=self.heartbeat(),
            plan=self.plan,
            holds=self._holds(),
            gathering=gathering,
            initial=self.scenario.training.initial is not None,
            changing=bool(self.networks.reshaped),
            resumes=self.resumes,
            resumed_at=self.resumed_at,
            shard=shard,
        )
        name = self.servers[shard]
        return self._node(name, part, self.networks.of_server(shard))

    def device(self, device: Device, addresses: Addresses) -> NodeConfig:
        """Return the configuration of the worker on `device`; `addresses` are the server's, or of
        each shard."""
        link = device.link
        part = WorkerRole(
            connection=self._connection(device.name, addresses, link, self.model_bytes),
            plan=self.plan.worker.of(device.name),
            hazards=list(device.hazards),
            keeps=device.name in self.scenario.keepers,
            battery=self.scenario.batteries.get(device.name),
            prior=self.priors.get(device.name),
        )
        network = self.networks.of_device(device.name, link, addresses)
        return self._node(device.name, part, network, device.memory)

    def gateway(self, bottleneck: Bottleneck) -> NodeConfig:
        """Return the configuration of the gateway of `bottleneck`."""
        network, dilation = self.networks.of_gateway(bottleneck), self.clock.dilation
        return NodeConfig(bottleneck.name, self.user, GatewayRole(), network, dilation=dilation)

    def relay(self, name: str, address: str) -> NodeConfig:
        """Return the configuration of the relay `name`; `address` is the server's."""
        model = models.find(self.plan.model)
        part = RelayRole(
            guests=self.relays[name],
            connection=self._connection(name, [address], Link(), self._whole_bytes),
            largest=largest_frame(self.plan, model) + SLACK,
            pieces=pieces(self.plan, model),
        )
        return self._node(name, part, self.networks.of(name, Link(), addresses=[address]))

    def evaluator(self, addresses: Addresses) -> NodeConfig:
        """Return the configuration of the evaluator, which asks the first of the server's
        `addresses` alone."""
        # it pulls the whole model, of which devices may pull a part
        whole = max(self.model_bytes, self._whole_bytes)
        connection = self._connection(EVALUATOR, addresses[:1], Link(), whole)
        part = self._evaluator_role(connection)
        network = self.networks.of(EVALUATOR, Link(), addresses=addresses[:1])
        return self._node(EVALUATOR, part, network)

    def _evaluator_role(self, connection: ServerAddress) -> EvaluatorRole:
        worker = self.plan.worker
        return EvaluatorRole(connection, worker.seed, worker.form.durable)

    def _node(
        self,
        name: str,
        part: WorkerRole | EvaluatorRole | ServerRole | RelayRole,
        network: Network,
        memory: int | None = None,
    ) -> NodeConfig:
        """Return the configuration of the node `name`; `memory` is a device's limit.

        The kernel counts in real time, the part and its supervisor in emulated seconds.
        """
        dilation = self.clock.dilation
        booted, forked = self.incarnations.get(name, 0), name in self.forked
        return NodeConfig(name, self.user, part, network, booted, forked, memory, dilation)

    # -- times -----------------------------------------------------------------------------------

    def _begun(self, name: str, link: Link) -> Link:
        """Return the `link` of the node `name` as it is when the containers begin."""
        return link_at(link, start_draw(self.scenario.seed, name), self.resumed_at)

    def received_delay(self, device: Device, setting: Setting | None) -> Delay:
        """Return for how long the server holds messages of `device` back under a `setting`.

        The setting is that of the verb `reshape` in force; None: none is.
        """
        link = self.networks.path(device.name, reshaped(device.link, setting))
        return self._held(link.up, self.scenario.server.link.down)

    def _connection(self, name: str, addresses: Addresses, link: Link, model: int) -> ServerAddress:
        """Return the connection of `name`, which pulls `model` bytes over `link`."""
        first, *rest = (f"tcp://{address}:{PORT}" for address in addresses)
        others = self.networks.reshaped.get(name, ())
        return ServerAddress(
            address=first,
            others=tuple(rest),
            secret=self.secrets[name],
            heartbeat=self.heartbeat(),
            timeout=answer_timeout(self.scenario, link, model, others),
            checked=self.plan.worker.form.checked,
            hold=self._held(
                self.scenario.server.link.up,
                self.networks.path(name, self._begun(name, link)).down,
                name == EVALUATOR,
            ),
            changing=bool(others),
        )

    def heartbeat(self) -> Heartbeat:
        """Return the heartbeat of every connection of the run.

        Its time-out lets a frame as large as the model pass on the slowest link. The evaluator
        pulls the whole model, of which devices may pull a part, over the server's link alone.
        """
        whole = self.scenario.server.link.up.transfer(self._whole_bytes)
        return Heartbeat.fit(max(slowest_exchange(self.scenario, self.model_bytes), whole))

    def _holds(self) -> dict[str, Delay]:
        """Return for how long the server holds back the messages of each node, by name."""
        towards = self.scenario.server.link.down
        ups = {
            device.name: self.networks.path(device.name, self._begun(device.name, device.link)).up
            for device in self.scenario.nodes
        }
        holds = {name: self._held(up, towards) for name, up in ups.items()}
        holds[EVALUATOR] = self._held(Side(), towards, evaluator=True)
        return {
            name: held
            for name, held in holds.items()
            if held.delay or held.setup or name in self.networks.reshaped
        }

    def _held(self, first: Side, second: Side, evaluator: bool = False) -> Delay:
        """Return for how long the receiver holds back messages that pass both sides of a link.

        `evaluator`: whether the end that is not the server is the evaluator.
        """
        delay = held(self.backend, first, second)
        # a measurement costs no link anything
        return Delay(delay.delay, delay.jitter) if evaluator else delay
