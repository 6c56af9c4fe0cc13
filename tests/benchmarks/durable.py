"""What durability costs the server: updates for each second of its core, with and without."""

import tempfile
import time
from pathlib import Path
from typing import Any

from emulator import codecs, modulation, plugins
from emulator.core.plan import Durability, Plan, WorkerPlan
from emulator.core.zmtp import Form
from emulator.units import Fraction
from emulator.world.stop_conditions import Stop
from tests.fakes.node.durable_process import ServerProcess, fleet, free_port

MODEL = "mnist-cnn"
WORKERS = tuple(f"device-{n}" for n in range(4))
CODECS = {"topk 1%": codecs.TopK(keep=Fraction(0.01)), "dense": codecs.Dense()}
DURABILITIES = {"none": None, "update": Durability(), "every 10 s": Durability(10.0)}
WARM = 1.0
"""Seconds before the measurement."""


def costs(seconds: float) -> dict[str, dict[str, float]]:
    """Milliseconds of the server's core for an update, by codec and durability.

    The workers push drawn gradients as fast as they can, over real sockets. Only the processor time
    of the server's process counts, with the kernel's part, so other work of the host does not.
    """
    return {
        name: {kind: _cost(codec, durability, seconds) for kind, durability in DURABILITIES.items()}
        for name, codec in CODECS.items()
    }


def _cost(codec: Any, durability: Durability | None, seconds: float) -> float:
    durable = durability is not None
    worker = WorkerPlan(1, 10, plugins.plain(codec), fleet=len(WORKERS), form=Form(durable=durable))
    plan = Plan(
        worker,
        MODEL,
        0.1,
        WORKERS,
        modulation=plugins.plain(modulation.PerParameter()),
        stop=Stop(updates=10**9),
        durability=durability,
    )
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(plan, Path(folder), free_port())
        server.start()
        with fleet(plan, server, seconds=0.0) as learners:
            while not all(learner.models for learner in learners):
                time.sleep(0.01)
            time.sleep(WARM)
            before, work = server.updates(), server.processor_time()
            time.sleep(seconds)
            updates, work = server.updates() - before, server.processor_time() - work
            assert server.process is not None
            server.process.terminate()
            server.wait(60)
    return 1e3 * work / updates


def lines(found: dict[str, dict[str, float]], gradients: float) -> list[str]:
    """Return the rows of `costs` for people; a core computes `gradients` a second.

    A core that computes the gradients and serves the updates has a share left of the updates per
    second that it has without durability: the second number.
    """
    rows = [
        "ms of the server's core an update, by server.durability, and updates per second of a core",
        "  that computes the gradients too, as a share of those without durability",
    ]
    for name, by_kind in found.items():
        whole = {kind: cost + 1e3 / gradients for kind, cost in by_kind.items()}
        parts = [
            f"{kind} {cost:.2f} ({whole['none'] / whole[kind]:.0%})"
            for kind, cost in by_kind.items()
        ]
        rows.append(f"  {name:<10} {'   '.join(parts)}")
    return rows
