"""The configuration of a container: a JSON file in base units, mounted read-only.

The process that deploys a run reads the scenario once and writes a file for each node. So a device
carries neither YAML nor a validator, and no secret of another node.
"""

import signal
from pathlib import Path

import msgspec

from ..core.plan import Plain, Plan, WorkerPlan
from ..core.scheduling.prior_costs import PriorCosts
from ..core.zmtp import Heartbeat
from ..shaping.command import Command
from ..transport.secrets import AllowList, Keys, Secret
from ..world.emulated_clock import EmulatedClock

PATH = Path("/etc/emulate/node.json")
"""The configuration, in the container."""
SHARD = Path("/data")
"""Folder of the device's training examples, or of the evaluator's test set."""
GRAPH = Path("/graph")
"""Folder of the exported model."""
PLUGINS = Path("/plugins")
"""Folder of the users' plugins, if the run has any: the only one that they are imported from."""
INITIAL = Path("/initial.npz")
"""The saved model that the server begins with, if the run has one."""
VERSIONS = Path("/versions")
"""Folder of the versions of the model that are measured after the run."""
OUTPUT = Path("/output")
"""Folder in which the server writes its log and the model."""
BOX = Path("/box/socket")
"""Socket of the box that holds packets; only containers with a link through the box have it."""
SHARDS = Path("/shards")
"""Folder of the sockets between the shards of the server; only their containers have it."""
PORT = 5555
"""TCP port on which the server listens."""
ENDINGS = {"canceled": signal.SIGTERM, "stopped": signal.SIGUSR1}
"""Signal that ends the server, by the reason that its log then gives for the run's end."""

KEPT = "kept"
"""Argument of a worker that goes on from the state that it has kept."""
GOODBYE = signal.SIGUSR2
"""Signal that asks a worker to say goodbye to the server and end."""


class Reshaping(msgspec.Struct, frozen=True):
    """The facts from which a supervisor makes the commands for changes of the node's link."""

    link: Plain
    """The node's own link, as `reshaping.plain` writes it."""
    backend: dict[str, str]
    """Mechanisms of the host, as `Backend.plain` writes them."""
    beyond: list[Plain]
    """Sides of far ends that outgoing packets pass."""
    server_up: Plain
    """The server's side that the node's incoming messages pass."""
    dilation: float = 1.0
    """Real seconds in an emulated second; the links are in emulated seconds."""
    draw: float = 0.0
    """Draw of the device, from 0 to below 1, that places link traces with a random start."""
    since: float = 0.0
    """Emulated second of the run at which the container begins."""
    delays: tuple[float, float] = (0.0, 0.0)
    """Seconds, up and down, that the node's bottleneck adds to the delays of each link."""


class Boxed(msgspec.Struct, frozen=True):
    """The facts with which a supervisor puts the node's network behind the box."""

    link: Plain
    """The node's own link, as `reshaping.plain` writes it."""
    backend: dict[str, str]
    """Mechanisms of the host, as `Backend.plain` writes them."""
    beyond: list[Plain] = []
    """Sides of far ends that outgoing packets pass."""
    changing: bool = False
    """Whether faults may change the link."""
    dilation: float = 1.0
    """Real seconds in an emulated second; `link` and `beyond` are in emulated seconds."""


class MeasuredLink(msgspec.Struct, frozen=True):
    """The link that a supervisor measures, as the scenario asks for it."""

    link: Plain
    """The node's own link, as `reshaping.plain` writes it."""
    server: Plain | None = None
    """The server's link, which lies behind; None on the server itself."""
    delayed: bool = True
    """Whether packets are delayed; otherwise receivers hold messages back."""
    behind: str = ""
    """The bottleneck of the node; empty without one."""


class Network(msgspec.Struct, frozen=True):
    """The commands with which the supervisor changes the node's network."""

    shape: list[Command] = []
    """Give the network interface the rate, delay and loss of the emulated link."""
    sever: list[Command] = []
    """Drop every packet; empty where the host has no means to cut a link."""
    mend: list[Command] = []
    """Let packets pass again."""
    reshaping: Reshaping | None = None
    """None: no fault changes the link."""
    measured: MeasuredLink | None = None
    """None: the link is unshaped, so nothing is measured."""
    boxed: Boxed | None = None
    """None: no packet of the node passes the box, and `shape` is all."""
    known: list[Command] = []
    """Make the server a permanent neighbour, once the link is shaped."""
    joins: int = 1
    """Networks that the node is on; more than one are joined into one interface."""


class Delay(msgspec.Struct, frozen=True):
    """Times for which received messages are held back, in seconds."""

    delay: float = 0.0
    """Mean of the propagation delay; zero where the kernel delays packets."""
    jitter: float = 0.0
    """Standard deviation."""
    setup: float = 0.0
    """Set-up time of each message, in which the link is busy."""
    pace: float = 0.0
    """Seconds per byte of a message, at the rate of the link; zero without a rate."""

    def plain(self) -> dict[str, float]:
        """Return the fields for JSON."""
        return msgspec.structs.asdict(self)


class ServerAddress(msgspec.Struct, frozen=True):
    """The connection from a node to the server."""

    address: str
    """For example `tcp://172.18.0.2:5555`."""
    secret: Secret
    heartbeat: Heartbeat
    timeout: float
    """Seconds after which a question without an answer is asked again."""
    checked: bool = False
    """Whether messages carry a checksum."""
    hold: Delay = Delay()
    changing: bool = False
    """Whether faults may change the `hold`."""
    others: tuple[str, ...] = ()
    """Addresses of the server's shards beside the one that leads, in their order."""


class WorkerRole(msgspec.Struct, frozen=True, tag="worker"):
    """The configuration of a device: a worker that computes gradients on a shard of the data."""

    connection: ServerAddress
    plan: WorkerPlan
    hazards: list[Plain] = []
    """Faults that the device draws once an iteration, as `Device.hazards` holds them."""
    keeps: bool = False
    """Whether the worker stores its state after each push, as a fault may need it."""
    battery: Plain | None = None
    """The battery that the device lives on, as `BatteryConstants.read` takes it; None: none."""
    prior: PriorCosts | None = None
    """Costs that the first plan of each boot is made from; None: model and update travel whole."""


class EvaluatorRole(msgspec.Struct, frozen=True, tag="evaluator"):
    """The configuration of the evaluator, which measures the model on the test set."""

    connection: ServerAddress
    seed: int
    """The run's."""
    durable: bool = False
    """Whether a score is sent again if its connection may have lost it."""


class ServerRole(msgspec.Struct, frozen=True, tag="server"):
    """The configuration of the parameter server."""

    guests: AllowList
    heartbeat: Heartbeat
    plan: Plan
    holds: dict[str, Delay] = {}
    """Delay and jitter with which messages of each node are held, by the node's name."""
    changing: bool = False
    """Whether faults may change the `holds`."""
    gathering: float | None = None
    """Seconds from its start that the server waits for all hellos; None: the conductor waits."""
    initial: bool = False
    """Whether the model to begin with is in the file `INITIAL`."""
    resumes: int = 0
    """Times that the run was resumed after its conductor had died."""
    resumed_at: float = 0.0
    """Emulated seconds from which the clock of a resumed run goes on."""
    shard: int = 0
    """Number of the shard of the server; that with 0 is the server, or leads the other shards."""


class RelayRole(msgspec.Struct, frozen=True, tag="relay"):
    """The configuration of a relay, through which the devices of a host reach the server."""

    guests: Keys
    """Allow-list of the devices of the host."""
    connection: ServerAddress
    """The relay's own connection to the server."""
    largest: int
    """Bytes of the largest frame of an honest device."""
    pieces: int = 1
    """Messages in which a model may travel."""


class GatewayRole(msgspec.Struct, frozen=True, tag="gateway"):
    """The configuration of a bottleneck's gateway, which has nothing but its network."""


class ProgramRole(msgspec.Struct, frozen=True, tag="program"):
    """The configuration of a sidecar, which makes the link of a program in another container.

    That container is in the sidecar's network. The conductor starts and kills it, as the sidecar
    asks.
    """

    device: bool
    """Whether the program is that of a device; otherwise it is the server's."""
    server: str = ""
    """Address of the server; empty on the server itself."""
    battery: Plain | None = None
    """As of a `WorkerRole`."""


class NodeConfig(msgspec.Struct, frozen=True):
    """A container's configuration."""

    name: str
    """The node's."""
    user: int
    """Id of the unprivileged user and group that the part runs as."""
    part: WorkerRole | EvaluatorRole | ServerRole | RelayRole | GatewayRole | ProgramRole
    network: Network = Network()
    incarnation: int = 0
    """Boots of the node before the first one of its container."""
    forked: bool = False
    """Whether the first boot is a fork of the run's fork server."""
    memory: int | None = None
    """Bytes of a device's memory limit. That of its container is lower while its worker is a fork;
    None on other nodes."""
    dilation: float = 1.0
    """Real seconds in an emulated second. The times of `part` are in emulated seconds."""

    @property
    def clock(self) -> EmulatedClock:
        """The clock of the node's processes."""
        return EmulatedClock(self.dilation)


def read(path: Path = PATH) -> NodeConfig:
    """Read the configuration at `path`."""
    return msgspec.json.decode(path.read_bytes(), type=NodeConfig)


def write(node: NodeConfig, path: Path) -> None:
    """Write `node` to `path` as indented JSON."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(node)))
