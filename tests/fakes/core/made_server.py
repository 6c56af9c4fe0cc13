"""A parameter server from parts made by hand, which no plan describes."""

from typing import Any

from emulator.codecs import Dense
from emulator.core import assembly
from emulator.core.plan import Plan, WorkerPlan
from emulator.core.server.parameter_server import Driver, ParameterServer
from emulator.core.server.worker_exchanges import ServerParts
from emulator.core.zmtp import PLAIN, Form
from emulator.plugins import plain
from emulator.pulls import WholeModel
from emulator.world.stop_conditions import Stop

_OF_PARTS = ("codec", "synchronizer", "groups", "cut", "shards", "replies")
_OF_DRIVER = ("gathering", "pause", "keep")


def made_server(state: Any, *, layout: Any, log: Any, now: float, **given: Any) -> ParameterServer:
    """Return the server that holds `state`; `given` has fields of its plan, parts and driver."""
    parts = {name: given.pop(name) for name in _OF_PARTS if name in given}
    driver = {name: given.pop(name) for name in _OF_DRIVER if name in given}
    pulls = given.pop("pulls", None) or WholeModel().start(layout)
    form, workers = given.pop("form", PLAIN), tuple(given.pop("workers"))
    assert isinstance(form, Form)
    plan = Plan(
        WorkerPlan(0, 1, plain(Dense()), form=form),
        "made by hand",
        0.1,
        workers,
        stop=given.pop("stop", Stop()),
        **given,
    )
    made = ServerParts(layout=layout, pulls=pulls, **parts)
    return ParameterServer(plan, state, made, log, now, Driver(**driver))


def planned_server(plan: Plan, log: Any, now: float, cut: Any = None, **driver: Any) -> Any:
    """Return the server of `plan` at its initial weights; `driver` has fields of its driver."""
    driven = Driver(**{"gathering": None, **driver})
    return assembly.server(plan, assembly.parameters(plan), log, now, driven, cut=cut)
