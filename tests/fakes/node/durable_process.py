"""A server in a process of its own, that can be killed; workers in threads of the test's process.

python -m tests.fakes.node.durable_process CONFIG OUTPUT PORT
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from emulator import codecs
from emulator.codecs import SegmentEncoder
from emulator.core import assembly
from emulator.core.plan import Plan
from emulator.core.wire.messages import ModelReply, ModelSegment
from emulator.core.worker.sharded_worker import sharded_worker
from emulator.core.worker.worker import worker
from emulator.core.zmtp import Heartbeat
from emulator.learning import models
from emulator.node import config
from emulator.node.config import NodeConfig, ServerRole
from emulator.node.part.worker_parts import SlicedEncoder, joined_model
from emulator.transport import node_driver
from emulator.transport.peer import Peer
from emulator.transport.secrets import issue
from emulator.transport.shard_peers import ShardPeers
from emulator.transport.work import Work
from emulator.world.roles import server_names

BEAT = Heartbeat(interval=0.5, timeout=5.0)


def free_port() -> int:
    """Return a port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class ServerProcess:
    """The server's process at `port`, started anew by `start`."""

    def __init__(
        self, plan: Plan, folder: Path, port: int, shard: int = 0, issued: Any = None
    ) -> None:
        """`issued`: guests and secrets of the leader, if the server is the `shard` of one."""
        name = server_names(plan.worker.shards)[shard]
        self.output = folder / name
        self.output.mkdir()
        issued = issued or issue(plan.workers, encrypt=plan.worker.form.encrypted)
        self.issued, (guests, self.secrets) = issued, issued
        part = ServerRole(guests=guests, heartbeat=BEAT, plan=plan, shard=shard)
        self._config, self._port = folder / f"{name}.json", port
        config.write(NodeConfig("server", 0, part), self._config)
        self.address = f"tcp://127.0.0.1:{port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        arguments = [str(self._config), str(self.output), str(self._port)]
        command = [sys.executable, "-m", "tests.fakes.node.durable_process", *arguments]
        self.process = subprocess.Popen(command)

    def end(self) -> None:
        """Kill the process if it is there."""
        if self.process is not None:
            self.kill()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def processor_time(self) -> float:
        """Return the seconds of a core that the process has used."""
        assert self.process is not None
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def updates(self) -> int:
        """Return the number of updates in the server's log."""
        return (self.output / "run.jsonl").read_bytes().count(b'"what":"update"')

    def recoveries(self) -> int:
        """Return the number of times that the server has come back."""
        return (self.output / "run.jsonl").read_bytes().count(b'"what":"recovered"')

    def wait(self, seconds: float) -> int:
        assert self.process is not None
        return self.process.wait(seconds)


def drawn(loss: float, size: int) -> Any:
    """Return the gradient with this `loss`, f32[size]: thousands of them need not be kept."""
    return np.random.default_rng(int(loss)).standard_normal(size, np.float32)


class DrawnGradients:
    """A learner with drawn gradients; the loss of each is a number that no other has."""

    def __init__(self, size: int, number: int, seconds: float) -> None:
        self._seconds = seconds
        self._losses = (float(1000 * n + number) for n in count(1))
        self.size = size
        self.made = 0
        """Number of gradients."""
        self.acknowledged: list[float] = []
        """Losses of the pushes after which a newer model came."""
        self._last: float | None = None
        self.models: list[float] = []
        """Times at which models came."""

    def gradient(self, theta: Any) -> tuple[Any, float]:
        if self._last is not None:
            self.acknowledged.append(self._last)
        self.models.append(time.monotonic())
        time.sleep(self._seconds)
        self._last = next(self._losses)
        self.made += 1
        return drawn(self._last, self.size), self._last


@contextmanager
def fleet(
    plan: Plan,
    server: ServerProcess,
    seconds: float,
    names: Sequence[str] = (),
    others: Sequence[ServerProcess] = (),
) -> Iterator[list[DrawnGradients]]:
    """Run the workers of `plan` until the server says bye; each gradient takes `seconds`.

    With `names`, only these workers run. `others` are the shards that the server leads.
    """
    size, names = models.find(plan.model).layout.size, names or plan.workers
    learners = [DrawnGradients(size, number, seconds) for number in range(len(names))]
    threads = [
        # of a server that died they wait for ever
        threading.Thread(target=_work, args=(plan, [server, *others], name, learner), daemon=True)
        for name, learner in zip(names, learners, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        yield learners
    finally:
        until = time.monotonic() + 60
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))


def _work(plan: Plan, servers: Sequence[ServerProcess], name: str, learner: DrawnGradients) -> None:
    layout, server = models.find(plan.model).layout, servers[0]
    if shards := assembly.server_shards(plan.worker, layout):
        peers = [Peer(each.address, each.secrets[name], BEAT) for each in servers]
        context = codecs.EncoderContext(layout, np.random.default_rng(0))
        by_segment = SegmentEncoder(codecs.make(plan.worker.codec), context)
        sliced = SlicedEncoder(by_segment, layout)
        coroutine = sharded_worker(
            name, 0, sliced, shards, layout, 20.0, ModelSegment, joined_model
        )
        with ShardPeers(peers, shards) as both:
            node_driver.run(coroutine, both, Work(learner), durable=plan.worker.form.durable)
        return
    context = codecs.EncoderContext(layout, np.random.default_rng(0))
    encoder = codecs.make(plan.worker.codec).start(context)
    with Peer(server.address, server.secrets[name], BEAT) as peer:
        coroutine = worker(name, 0, encoder, layout.size, 20.0, ModelReply)
        node_driver.run(coroutine, peer, Work(learner), durable=plan.worker.form.durable)


def main() -> None:
    from emulator.node.part.server_role import serve

    file, output, port = sys.argv[1:]
    part = config.read(Path(file)).part
    assert isinstance(part, ServerRole)
    config.SHARDS = Path(os.environ.get("SHARDS", config.SHARDS))
    serve(part, Path(output), int(port))


if __name__ == "__main__":
    main()
