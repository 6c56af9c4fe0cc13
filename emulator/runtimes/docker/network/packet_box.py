"""The box of a run on a host, as the conductor sees it: ready, late, dead."""

from collections.abc import Iterator
from contextlib import contextmanager

from docker.errors import NotFound

from ....errors import DeploymentError
from ....node.reports import LatenessLine, ReadyLine, decode_box
from ....world.emulated_clock import UNDILATED
from ..configs import spec
from ..engine.client import refusals
from ..engine.exits import Exits
from ..engine.hosts import EngineHost
from ..engine.stdio import OutputEnded, Said
from ..reporting import Reports
from ..run_logs import NodeLogs


class PacketBox:
    """Hears what the container of the box prints. A run ends with the reason if the box dies."""

    def __init__(self, host: EngineHost, run: str, exits: Exits, logs: NodeLogs) -> None:
        self._host, self._run, self._exits, self._logs = host, run, exits, logs
        self._name = host.box
        self._until = UNDILATED.now() + spec.BOX_READY
        self.ready = False
        """Whether the box serves."""

    def hear(self, news: Said | OutputEnded, reports: Reports) -> None:
        """Take a line of the box, or its end. Raises DeploymentError if the box is dead."""
        if isinstance(news, OutputEnded):
            raise DeploymentError(self._obituary())
        match decode_box(news.text):
            case ReadyLine():
                self.ready = True
            case LatenessLine() as line:
                reports.late(line, self._host.at_home(line.time), self._host.word)
            case _ if news.text.strip():
                self._exits.said(self._name, news.text)
                self._logs.write(self._name, news.text)

    def check_start(self) -> None:
        """Raise DeploymentError if the box should serve by now, and does not."""
        if not self.ready and UNDILATED.now() > self._until:
            raise DeploymentError(
                f"the box that delays packets was not ready in {spec.BOX_READY:.0f} s"
            )

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Raise the death of the box in place of a DeploymentError of the block, if it is dead.

        Without the box, links vanish, and nodes fail before the box's own end is heard of.
        """
        try:
            yield
        except DeploymentError as error:
            if self._host.lost() or self._runs():
                raise
            raise DeploymentError(self._obituary()) from error

    def _runs(self) -> bool:
        with refusals("asking for the box that delays packets"):
            try:
                state = self._host.client.api.inspect_container(spec.name(self._run, spec.BOX))
            except NotFound:
                return False
        return bool(state["State"]["Running"])

    def _obituary(self) -> str:
        reason = self._exits.container(self._name).reason
        return (
            f"the box that delays packets ended unasked, and the links with it: {reason}; "
            f"{self._logs.ending(self._name)}"
        )
