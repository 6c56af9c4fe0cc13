"""The fork server of a run on a host, as the conductor sees it: devices ask for forks of their
workers.
"""

from collections.abc import Callable, Mapping

from ...errors import DeploymentError, first_of
from ...node.forking.fork_messages import AnyForkLine, Fork, ForkedLine, RefusedLine, decode_line
from ...node.orders import Forked
from ...node.reports import NO_REPORT, ForkReport
from ...scenario import Scenario
from ...scenario.cores_and_memory import forked
from .engine.exits import Exits
from .engine.hosts import EngineHost
from .engine.stdio import OutputEnded, Said, Stdio
from .launching import Launcher
from .run_logs import NodeLogs

SHARED = 42 << 20
"""Bytes of memory that a forked worker shares with the fork server, and for which an executed one
would pay: TensorFlow's relocated data, and the heap of the imported modules. The container of a
fork has a limit that is lower by them, so that it has as much left as with an executed worker
(`tests/containers/test_forked_workers.py` compares the two)."""


class Forks:
    """Passes requests for forks on to the fork server, and its answers back."""

    def __init__(
        self,
        launcher: Launcher,
        stdio: Stdio,
        exits: Exits,
        logs: NodeLogs,
        set_memory: Callable[[str, int], None],
        limits: Mapping[str, int],
        host: EngineHost,
    ) -> None:
        """`set_memory` sets the memory limit of a device's container; `limits` are the devices'
        own. The fork server forks for the devices at `host`."""
        self._host, self._name = host, host.fork_server
        self._launcher, self._stdio, self._exits, self._logs = launcher, stdio, exits, logs
        self._set_memory, self._limits = set_memory, limits
        self.refused: dict[str, str] = {}
        """Reasons why workers were executed, by device."""
        self._sharing: set[str] = set()
        """Devices whose worker is a fork."""
        self._ended = False

    def start(self) -> None:
        """Start the fork server."""
        self._launcher.start_fork_server(self._host)
        self._stdio.listen(self._name)

    def end(self) -> None:
        """Let the fork server end, as all devices run."""
        self._ended = True
        self._stdio.shut(self._name)

    def want(self, node: str, asked: ForkReport) -> None:
        """Have the worker of `node` forked, unless its container has ended, as is heard soon."""
        if (process := self._launcher.first_process(node)) is None:
            return
        facts = *process, asked.stdin, asked.control, asked.incarnation
        if not self._stdio.tell(self._name, Fork(node, *facts)):
            self._stdio.tell(node, Forked(None))

    def hear(self, news: Said | OutputEnded) -> None:
        """Take a line of the fork server, or its end.

        Raises DeploymentError if it has ended before all devices run.
        """
        if isinstance(news, OutputEnded):
            if self._ended:
                return
            reason = self._exits.container(self._name).reason
            raise DeploymentError(
                f"the fork server ended unasked: {reason}; {self._logs.ending(self._name)}"
            )
        match _line(news.text):
            case ForkedLine(node, pid):
                self._sharing.add(node)
                self._set_memory(node, self._limits[node] - SHARED)
                self._stdio.tell(node, Forked(pid))
            case RefusedLine(node, reason):
                self.refused[node] = reason
                self._logs.write(node, f"the worker is executed, as it cannot be forked: {reason}")
                self._stdio.tell(node, Forked(None))
            case None if news.text.strip():
                self._exits.said(self._name, news.text)
                self._logs.write(self._name, news.text)

    def down(self, node: str) -> None:
        """Take that the worker of `node` is down: the next one is executed, and shares nothing."""
        if node in self._sharing:
            self._sharing.remove(node)
            self._set_memory(node, self._limits[node])


def _line(text: str) -> AnyForkLine | None:
    try:
        return decode_line(text)
    except NO_REPORT:
        return None


def workers_words(scenario: Scenario, forks: str, refused: Mapping[str, str] | None = None) -> str:
    """Return how the first workers are started, for the manifest.

    `forks`: why each is executed, empty if they are forked; `refused`: why forks failed, by device.
    """
    if forks:
        return f"executed: {forks}"
    quick = forked(scenario)
    why = {node.name: "small memory limits" for node in scenario.nodes if node.name not in quick}
    why |= refused or {}
    reasons = first_of([*dict.fromkeys(why.values())], 2)
    return f"{len(why)} executed: {reasons}" if why else "forked"
