"""Makes the configuration of each container from a scenario. Pure: no file, no engine."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ....core.plan import Plan
from ....core.scheduling.prior_costs import PriorCosts
from ....core.zmtp import Heartbeat
from ....learning import models
from ....node.config import (
    PORT,
    Boxed,
    Delay,
    EvaluatorRole,
    GatewayRole,
    MeasuredLink,
    Network,
    NodeConfig,
    RelayRole,
    ServerAddress,
    ServerRole,
    WorkerRole,
)
from ....node.link.access_link import held, reshaping_of
from ....node.part.server_role import SLACK, largest_frame, pieces
from ....scenario import Device, Scenario
from ....scenario.cores_and_memory import bridge_count
from ....scenario.sections.devices import Bottleneck
from ....scenario.timeline.link_changes import reshaped_links, start_draw
from ....scenario.timeouts import answer_timeout, slowest_exchange
from ....shaping import access, gateway
from ....shaping.backend import Backend, boxed
from ....shaping.playable_link import dilated, dilated_side
from ....shaping.tc import filled
from ....transport.secrets import AllowList, Keys, Secret
from ....units import Rate
from ....world.emulated_clock import EmulatedClock
from ....world.links.link import Link, Side
from ....world.links.link_course import link_at
from ....world.links.reshaping import plain, plain_side, reshaped
from ....world.roles import EVALUATOR, SERVER, server_names
from ....world.verbs import Setting
from ..network import neighbours
from ..network.ways import Ways


def boxed_nodes(scenario: Scenario, backend: Backend) -> frozenset[str]:
    """Return the names of the nodes of `scenario` with packets that pass the box."""
    links = {each.name: _path(scenario, each.name, each.link) for each in scenario.nodes}
    links |= dict.fromkeys(server_names(scenario.server.shards), scenario.server.link)
    changed = reshaped_links(scenario)
    return frozenset(
        name for name, link in links.items() if boxed(link, backend, changed.get(name, ()))
    )


def _path(scenario: Scenario, name: str, link: Link) -> Link:
    bottleneck = scenario.bottleneck_of.get(name)
    return link if bottleneck is None else bottleneck.shared.lengthen(link)


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
        return server_names(self.scenario.server.shards)

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
            changing=bool(self._reshaped),
            resumes=self.resumes,
            resumed_at=self.resumed_at,
            shard=shard,
        )
        name = self.servers[shard]
        return self._node(name, part, self.scenario.server.link, self._receivers)

    def device(self, device: Device, addresses: Sequence[str]) -> NodeConfig:
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
        beyond = self._towards_server(device.name)
        return self._node(device.name, part, link, beyond, device.memory, addresses)

    @cached_property
    def _receivers(self) -> list[Side]:
        """The sides of far ends that the server's packets pass."""
        beyond = [device.link.down for device in self.scenario.nodes]
        return beyond + [Side(each.down.rate) for each in self.scenario.bottlenecks]

    def _towards_server(self, name: str) -> list[Side]:
        """Return the sides of far ends that the packets of the device `name` pass."""
        bottleneck = self.scenario.bottleneck_of.get(name)
        return [self.scenario.server.link.down, *([Side(bottleneck.up.rate)] if bottleneck else [])]

    def gateway(self, bottleneck: Bottleneck) -> NodeConfig:
        """Return the configuration of the gateway of `bottleneck`."""
        server, *members = self.ways.ends(bottleneck.name)
        shared, dilation = bottleneck.shared, self.clock.dilation
        shape = gateway.forward(shared, server, members, self.backend, dilation)
        measured = MeasuredLink(plain(Link(Side(shared.up.rate), Side(shared.down.rate))))
        network = Network(shape, measured=measured)
        return NodeConfig(bottleneck.name, self.user, GatewayRole(), network, dilation=dilation)

    def _path(self, name: str, link: Link) -> Link:
        """Return `link` of the node `name` with the delays of its bottleneck."""
        return _path(self.scenario, name, link)

    def relay(self, name: str, address: str) -> NodeConfig:
        """Return the configuration of the relay `name`; `address` is the server's."""
        model = models.find(self.plan.model)
        part = RelayRole(
            guests=self.relays[name],
            connection=self._connection(name, [address], Link(), self._whole_bytes),
            largest=largest_frame(self.plan, model) + SLACK,
            pieces=pieces(self.plan, model),
        )
        return self._node(name, part, Link(), addresses=[address])

    def evaluator(self, addresses: Sequence[str]) -> NodeConfig:
        """Return the configuration of the evaluator, which asks the first of the server's
        `addresses` alone."""
        # it pulls the whole model, of which devices may pull a part
        whole = max(self.model_bytes, self._whole_bytes)
        connection = self._connection(EVALUATOR, addresses[:1], Link(), whole)
        part = self._evaluator_role(connection)
        return self._node(EVALUATOR, part, Link(), addresses=addresses[:1])

    def _evaluator_role(self, connection: ServerAddress) -> EvaluatorRole:
        worker = self.plan.worker
        return EvaluatorRole(connection, worker.seed, worker.form.durable)

    def _node(
        self,
        name: str,
        part: WorkerRole | EvaluatorRole | ServerRole | RelayRole,
        link: Link,
        beyond: Iterable[Side] = (),
        memory: int | None = None,
        addresses: Sequence[str] = (),
    ) -> NodeConfig:
        """Add to `part` the commands that shape `link`; `beyond` are the receiving ends, `memory`
        is a device's limit, `addresses` are the server's.

        The kernel counts in real time, the part and its supervisor in emulated seconds.
        """
        cuts, changing = self.backend.cut != "none", name in self._reshaped
        bottleneck = self.scenario.bottleneck_of.get(name)
        shared = bottleneck.shared if bottleneck else None
        dilation, own = self.clock.dilation, link
        draw, since = start_draw(self.scenario.seed, name), self.resumed_at
        emulated, ends = self._path(name, link_at(own, draw, since)), list(beyond)
        link = dilated(emulated, dilation)
        beyond = [dilated_side(side, dilation) for side in ends]
        shaped = access.shape(link, self.backend, beyond=beyond, changing=changing)
        network = Network(
            shape=[
                *(
                    neighbours.take_address(part.shard)
                    if isinstance(part, ServerRole) and not self.several
                    else []
                ),
                *self.ways.routes(name),
                *([] if name in self.boxed else shaped),
            ],
            # the next on the way of a bottleneck's member is its gateway
            known=(
                []
                if self.several or name in self.ways.gateways
                else [
                    command
                    for shard, address in enumerate(addresses)
                    for command in neighbours.know_server(address, shard)
                ]
            ),
            boxed=self._boxed(emulated, ends, changing) if name in self.boxed else None,
            sever=access.sever(link, self.backend) if cuts else [],
            mend=(
                access.mend(link, self.backend, beyond=beyond, changing=changing) if cuts else []
            ),
            reshaping=(
                reshaping_of(
                    own, self.backend, self.scenario.server.link, dilation, draw, since, shared
                )
                if changing
                else None
            ),
            measured=self._measured(name, self._path(name, own)),
            joins=bridge_count(self.scenario) if isinstance(part, ServerRole) else 1,
        )
        booted, forked = self.incarnations.get(name, 0), name in self.forked
        return NodeConfig(name, self.user, part, network, booted, forked, memory, dilation)

    @cached_property
    def boxed(self) -> frozenset[str]:
        """Names of the nodes with packets that pass the box."""
        return boxed_nodes(self.scenario, self.backend)

    @cached_property
    def filling(self) -> frozenset[str]:
        """Names of the nodes whose TCP fills its packets."""
        ways = {
            each.name: (
                self._path(each.name, each.link).up,
                self._towards_server(each.name),
                [rate] if (rate := each.link.down.rate) is not None else [],
            )
            for each in self.scenario.nodes
        }
        server = self.scenario.server.link.up, self._receivers, self._back_to_server()
        ways |= dict.fromkeys(self.servers, server)
        return frozenset(
            name
            for name, (up, beyond, back) in ways.items()
            if name not in self._reshaped and filled(up, beyond, back, self.backend)
        )

    def _back_to_server(self) -> list[Rate]:
        """Return the rates that acknowledgements to the server pass, a bottleneck's by member."""
        scenario = self.scenario
        behind = Counter(each.name for each in scenario.bottleneck_of.values())
        rates = [(each.link.up.rate, 1) for each in scenario.nodes]
        rates += [(each.up.rate, behind[each.name]) for each in scenario.bottlenecks]
        return [Rate(rate / number) for rate, number in rates if rate is not None]

    @property
    def shortest(self) -> float:
        """Shortest delay of a link through the box in seconds; 0 if none has any."""
        boxed = (each for each in self.scenario.nodes if each.name in self.boxed)
        links = [self._path(each.name, each.link) for each in boxed]
        links += [self.scenario.server.link] if SERVER in self.boxed else []
        delays = [side.delay for link in links for side in (link.up, link.down) if side.delay]
        return min(delays, default=0.0)

    def _boxed(self, link: Link, beyond: Iterable[Side], changing: bool) -> Boxed:
        """Return the facts with which a supervisor puts a node with `link` behind the box."""
        sides = [plain_side(side) for side in beyond]
        return Boxed(plain(link), self.backend.plain(), sides, changing, self.clock.dilation)

    def _measured(self, name: str, link: Link) -> MeasuredLink | None:
        """Return the link for the meter of `name`; None for a node without a meter."""
        server, delayed = self.scenario.server.link, self.backend.delay != "receiver"
        if name in self.servers:
            shaped = server.shaped or any(device.link.shaped for device in self.scenario.nodes)
            return MeasuredLink(plain(link), delayed=delayed) if shaped or self._reshaped else None
        shaped = link.shaped or server.shaped or name in self._reshaped
        measured = shaped and name != EVALUATOR
        bottleneck = self.scenario.bottleneck_of.get(name)
        behind = bottleneck.name if bottleneck else ""
        return MeasuredLink(plain(link), plain(server), delayed, behind) if measured else None

    # -- times -----------------------------------------------------------------------------------

    @cached_property
    def _reshaped(self) -> Mapping[str, Sequence[Link]]:
        """The links that faults may give devices, by the device's name."""
        return reshaped_links(self.scenario)

    def _begun(self, name: str, link: Link) -> Link:
        """Return the `link` of the node `name` as it is when the containers begin."""
        return link_at(link, start_draw(self.scenario.seed, name), self.resumed_at)

    def received_delay(self, device: Device, setting: Setting | None) -> Delay:
        """Return for how long the server holds messages of `device` back under a `setting`.

        The setting is that of the verb `reshape` in force; None: none is.
        """
        link = self._path(device.name, reshaped(device.link, setting))
        return self._held(link.up, self.scenario.server.link.down)

    def _connection(
        self, name: str, addresses: Sequence[str], link: Link, model: int
    ) -> ServerAddress:
        """Return the connection of `name`, which pulls `model` bytes over `link`."""
        first, *rest = (f"tcp://{address}:{PORT}" for address in addresses)
        others = self._reshaped.get(name, ())
        return ServerAddress(
            address=first,
            others=tuple(rest),
            secret=self.secrets[name],
            heartbeat=self.heartbeat(),
            timeout=answer_timeout(self.scenario, link, model, others),
            checked=self.plan.worker.form.checked,
            hold=self._held(
                self.scenario.server.link.up,
                self._path(name, self._begun(name, link)).down,
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
            device.name: self._path(device.name, self._begun(device.name, device.link)).up
            for device in self.scenario.nodes
        }
        holds = {name: self._held(up, towards) for name, up in ups.items()}
        holds[EVALUATOR] = self._held(Side(), towards, evaluator=True)
        return {
            name: held
            for name, held in holds.items()
            if held.delay or held.setup or name in self._reshaped
        }

    def _held(self, first: Side, second: Side, evaluator: bool = False) -> Delay:
        """Return for how long the receiver holds back messages that pass both sides of a link.

        `evaluator`: whether the end that is not the server is the evaluator.
        """
        delay = held(self.backend, first, second)
        # a measurement costs no link anything
        return Delay(delay.delay, delay.jitter) if evaluator else delay
