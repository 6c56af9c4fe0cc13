"""The fork server of a run, as the conductor sees it: devices ask for forks of their workers."""

from ...errors import DeploymentError
from ...node.forking.fork_messages import AnyForkLine, Fork, ForkedLine, RefusedLine, decode_line
from ...node.orders import Forked
from ...node.reports import NO_REPORT, ForkReport
from .configs.spec import FORK_SERVER
from .engine.exits import Exits
from .engine.stdio import OutputEnded, Said, Stdio
from .launching import Launcher
from .run_logs import NodeLogs


class Forks:
    """Passes requests for forks on to the fork server, and its answers back."""

    def __init__(self, launcher: Launcher, stdio: Stdio, exits: Exits, logs: NodeLogs) -> None:
        self._launcher, self._stdio, self._exits, self._logs = launcher, stdio, exits, logs
        self._ended = False

    def start(self) -> None:
        """Start the fork server."""
        self._launcher.start_fork_server()
        self._stdio.listen(FORK_SERVER)

    def end(self) -> None:
        """Let the fork server end, as all devices run."""
        self._ended = True
        self._stdio.shut(FORK_SERVER)

    def want(self, node: str, asked: ForkReport) -> None:
        """Have the worker of `node` forked."""
        pid, container = self._launcher.first_process(node)
        facts = pid, container, asked.stdin, asked.control, asked.incarnation
        self._stdio.tell(FORK_SERVER, Fork(node, *facts))

    def hear(self, news: Said | OutputEnded) -> None:
        """Take a line of the fork server, or its end.

        Raises DeploymentError if it has ended before all devices run.
        """
        if isinstance(news, OutputEnded):
            if self._ended:
                return
            reason = self._exits.container(FORK_SERVER).reason
            raise DeploymentError(
                f"the fork server ended unasked: {reason}; {self._logs.ending(FORK_SERVER)}"
            )
        match _line(news.text):
            case ForkedLine(node, pid):
                self._stdio.tell(node, Forked(pid))
            case RefusedLine(node, reason):
                self._logs.write(node, f"the worker is executed, as it cannot be forked: {reason}")
                self._stdio.tell(node, Forked(None))
            case None if news.text.strip():
                self._exits.said(FORK_SERVER, news.text)
                self._logs.write(FORK_SERVER, news.text)


def _line(text: str) -> AnyForkLine | None:
    try:
        return decode_line(text)
    except NO_REPORT:
        return None
