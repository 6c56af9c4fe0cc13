"""Makes the configuration of each container from a scenario. Pure: no file, no engine."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...core.heartbeat import Heartbeat
from ...core.plan import Plan
from ...core.prior_costs import PriorCosts
from ...node.config import (
    PORT,
    Delay,
    EvaluatorRole,
    Network,
    NodeConfig,
    ServerAddress,
    ServerRole,
    WorkerRole,
)
from ...scenario import Device, Scenario
from ...scenario.timeouts import answer_timeout, slowest_exchange
from ...shaping import access
from ...shaping.backend import Backend
from ...transport.secrets import AllowList, Secret
from ...world.link import FRAME, Link, Side
from ...world.roles import EVALUATOR, SERVER


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

    @property
    def model_bytes(self) -> int:
        """Size of the devices' part of the model as f32 values."""
        return 4 * self.parameters

    @property
    def _whole_bytes(self) -> int:
        return 4 * self.scenario.training.layout.size

    # -- nodes -----------------------------------------------------------------------------------

    def server(self, gathering: float | None = None) -> NodeConfig:
        """Return the configuration of the server.

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
        )
        beyond = [device.link.down for device in self.scenario.nodes]
        return self._node(SERVER, part, self.scenario.server.link, beyond)

    def device(self, device: Device, address: str) -> NodeConfig:
        """Return the configuration of the worker on `device`; `address` is the server's."""
        part = WorkerRole(
            connection=self._connection(device.name, address, device.link, self.model_bytes),
            plan=self.plan.worker.of(device.name),
            hazards=list(device.hazards),
            prior=self.priors.get(device.name),
        )
        return self._node(device.name, part, device.link, [self.scenario.server.link.down])

    def evaluator(self, address: str) -> NodeConfig:
        """Return the configuration of the evaluator; `address` is the server's."""
        # it pulls the whole model, of which devices may pull a part
        whole = max(self.model_bytes, self._whole_bytes)
        connection = self._connection(EVALUATOR, address, Link(), whole)
        return self._node(EVALUATOR, self._evaluator_role(connection), Link())

    def _evaluator_role(self, connection: ServerAddress) -> EvaluatorRole:
        worker = self.plan.worker
        return EvaluatorRole(connection, worker.seed, worker.durable)

    def _node(
        self,
        name: str,
        part: WorkerRole | EvaluatorRole | ServerRole,
        link: Link,
        beyond: Iterable[Side] = (),
    ) -> NodeConfig:
        """Add to `part` the commands that shape `link`; `beyond` are the receiving ends."""
        cuts = self.backend.cut != "none"
        network = Network(
            shape=access.shape(link, self.backend, beyond=beyond),
            sever=access.sever(link, self.backend) if cuts else [],
            mend=access.mend(link, self.backend, beyond=beyond) if cuts else [],
        )
        return NodeConfig(name, self.user, part, network)

    # -- times -----------------------------------------------------------------------------------

    def _connection(self, name: str, address: str, link: Link, model: int) -> ServerAddress:
        """Return the connection of `name`, which pulls `model` bytes over `link`."""
        return ServerAddress(
            address=f"tcp://{address}:{PORT}",
            secret=self.secrets[name],
            heartbeat=self.heartbeat(),
            timeout=answer_timeout(self.scenario, link, model),
            hold=self._held(self.scenario.server.link.up, link.down, name),
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
        holds = {d.name: self._held(d.link.up, towards, d.name) for d in self.scenario.nodes}
        holds[EVALUATOR] = self._held(Side(), towards, EVALUATOR)
        return {name: held for name, held in holds.items() if held.delay or held.setup}

    def _held(self, first: Side, second: Side, node: str) -> Delay:
        """Return for how long the receiver holds back messages that pass both sides of a link.

        `node` is the end that is not the server. The kernel knows no messages, so their set-up is
        left to the receiver; the delay is left to it only if the kernel cannot delay packets.
        """
        delay = jitter = setup = pace = 0.0
        if self.backend.delay == "receiver":
            delay = first.delay + second.delay
            # jitters of independent sides add up in their squares
            jitter = math.hypot(first.jitter, second.jitter)
        if node != EVALUATOR:  # a measurement costs no link anything
            setup = first.setup + second.setup
            slower = min((side.rate for side in (first, second) if side.rate), default=None)
            pace = 8 * FRAME / slower if setup and slower else 0.0
        return Delay(delay, jitter, setup, pace)
