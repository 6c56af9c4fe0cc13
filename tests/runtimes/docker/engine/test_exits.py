"""Nodes that end unasked: a record with its reason, in the view, the summary and the report."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.pages.run_warnings import warnings
from emulator.errors import DeploymentError
from emulator.machine import host
from emulator.node.control_group import MemoryCounts, memory_cause
from emulator.node.reports import ExitReport
from emulator.runs.cancel import Canceled
from emulator.runs.conductor import run as conduct
from emulator.runs.folder import create
from emulator.runtimes.docker import container_runtime
from emulator.runtimes.docker.configs.container_settings import Prepared
from emulator.runtimes.docker.engine import exits
from emulator.runtimes.docker.engine.cleanup import Removed
from emulator.runtimes.docker.engine.hosts import Hosts
from emulator.runtimes.docker.engine.stdio import OutputEnded, Said
from emulator.runtimes.docker.launching import Launcher
from emulator.scenario import loads
from emulator.scenario.sections.devices import MEMORY
from emulator.transport.secrets import Token
from tests.fakes.plain_records import read
from tests.fakes.runs.handmade_run import written
from tests.runtimes.docker.configs.pair_configs import configs
from tests.runtimes.docker.engine.engine_answers import unlike
from tests.runtimes.docker.engine.made_up_events import Events, engine, event
from tests.runtimes.docker.engine.made_up_play import SCENARIO, Played, Wires

LIMIT = int(MEMORY)


# -- the kernel's counts ---------------------------------------------------------------------------


def groups(root: Path, version: int, *, hits: int, kills: int) -> Path:
    """The files of a control group as a container sees them."""
    if version == 2:
        (root / "memory.events").write_text(f"low 0\nmax 7\noom {hits}\noom_kill {kills}\n")
        return root
    (root / "memory").mkdir(exist_ok=True)
    control = f"oom_kill_disable 0\nunder_oom 0\noom_kill {kills}\n"
    (root / "memory" / "memory.oom_control").write_text(control)
    return root


@pytest.mark.parametrize(
    "version, hits, kills, found",
    [
        *((2, 3, 1, "limit"), (2, 2, 1, "host"), (2, 5, 0, ""), (2, 2, 0, "")),
        *((1, 0, 1, "memory"), (1, 0, 0, "")),
    ],
)
def test_for_whose_want_of_memory_the_kernel_kills(
    tmp_path: Path, version: int, hits: int, kills: int, found: str
) -> None:
    before = MemoryCounts.read(groups(tmp_path, version, hits=2, kills=0))
    after = MemoryCounts.read(groups(tmp_path, version, hits=hits, kills=kills))
    assert memory_cause(before, after) == found


def test_a_kernel_that_counts_nothing(tmp_path: Path) -> None:
    assert MemoryCounts.read(tmp_path) == MemoryCounts(0, None)
    assert memory_cause(MemoryCounts(), MemoryCounts()) == ""


# -- the engine's word -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "events, code, found, words",
    [
        (
            [event("kill", signal="9"), event("die", exitCode="137")],
            *(-9, "engine", "somebody ended its container through Docker (signal 9)"),
        ),
        (
            [event("oom"), event("die", exitCode="137")],
            *(-9, "limit", "killed by its own memory limit of 256MiB: if no fault"),
        ),
        (
            [event("oom"), event("die", exitCode="1")],
            *(1, "", "its container ended, exit code 1: last words"),
        ),
        ([event("die", exitCode="139")], -11, "", "its container ended, killed by signal 11"),
        ([event("die", exitCode="0")], 0, "", "its container ended, exit code 0"),
        ([], None, "", "its container ended, Docker does not say how"),
        ([event("die")], None, "", "its container ended, Docker does not say how"),
    ],
)
def test_how_a_container_ended(
    events: list[dict[str, Any]], code: int | None, found: str, words: str
) -> None:
    how = exits.of_container(engine(*events), "emulate-1-far", "far", LIMIT, "last words")
    assert (how.code, how.cause) == (code, found)
    assert how.reason.startswith(words)


def test_made_up_engines_answer_as_the_engine_does(play: Callable[..., Played]) -> None:
    assert unlike(engine(*KILLED, *LIMITED), "events", name="far") == []
    client = play(*KILLED).client
    assert unlike(client, "info", "events", name="far") == []
    assert unlike(client.containers.create(), "id", "attrs") == []


def test_an_exit_after_a_resume_is_not_that_of_the_life_before() -> None:
    """The engine knows the containers of both lives by one name, but by two ids."""
    lives = {"emulate-1-far": [*KILLED, *LIMITED], "old": KILLED, "new": LIMITED}

    def events(filters: dict[str, Any], **rest: object) -> Events:
        return Events(lives[filters["container"]])

    client: Any = SimpleNamespace(api=SimpleNamespace(events=events))
    resumed = exits.Exits(Hosts.here(client))
    for container, ended, killed in (("new", "limit", "limit"), ("old", "engine", "host")):
        resumed.created("far", container, LIMIT)
        assert resumed.container("far").cause == ended
        assert resumed.part("far", -9, "memory").cause == killed


def test_each_container_is_known_by_the_id_that_the_engine_gave_it(tmp_path: Path) -> None:
    made: list[str] = []

    class Created(exits.Exits):
        def created(self, node: str, container: str, memory: int | None = None) -> None:
            made.append(container)

    numbers = count()
    container = SimpleNamespace(
        create=lambda **about: SimpleNamespace(id=f"id {next(numbers)}", start=lambda: None)
    )
    volume = SimpleNamespace(create=lambda **about: None)
    client: Any = SimpleNamespace(containers=container, volumes=volume, api=None)
    known = replace(configs(text=SCENARIO), secrets=defaultdict(lambda: Token("home", "secret")))
    folder = create("pair", tmp_path)
    folder.server.mkdir()
    world, wires = Prepared(loads(SCENARIO), folder, known, "image", folder.path), Wires()
    hosts = Hosts.here(client)
    launcher = Launcher(hosts, folder, world, wires, Created(hosts))  # type: ignore[arg-type]
    launcher.start_box(hosts.home)
    launcher.start_fork_server(hosts.home)
    for node in ("server", *(device.name for device in world.scenario.nodes)):
        launcher.start(node)
    launcher.close()
    assert made == [f"id {number}" for number in range(3 + len(world.scenario.nodes))]


def test_an_engine_that_does_not_answer() -> None:
    def refuse(**about: object) -> None:
        raise exits.DockerException("gone")

    client: Any = SimpleNamespace(api=SimpleNamespace(events=refuse))
    how = exits.of_container(client, "emulate-1-far", "far", LIMIT, "")
    assert how == (None, "", "its container ended, Docker does not say how")


OWN = (
    "killed by its own memory limit of 256MiB: if no fault `memory` took the rest, raise `memory` "
    "in the profile of far"
)
HOST = "killed by the kernel: the host ran out of memory"


@pytest.mark.parametrize("node", ["server", "evaluator"])
def test_nobody_can_raise_the_limit_of_a_node_that_is_no_device(node: str) -> None:
    how = exits.of_part(engine(), f"emulate-1-{node}", node, 300 << 20, -9, "limit")
    assert how.reason.startswith(
        "killed by its own memory limit of 300MiB: more than `emulate check` reckons"
    )


@pytest.mark.parametrize(
    "code, found, events, words",
    [
        (-9, "limit", [], OWN),
        (-9, "memory", [event("oom")], OWN),
        (-9, "memory", [], HOST),
        (-9, "host", [event("oom")], HOST),
        (-9, "", [], "killed by signal 9"),
        (3, "", [], "exit code 3"),
    ],
)
def test_how_a_part_ended(code: int, found: str, events: list[dict[str, Any]], words: str) -> None:
    client = engine(*events)
    assert exits.of_part(client, "emulate-1-far", "far", LIMIT, code, found).reason == words


# -- a run -----------------------------------------------------------------------------------------

News = Callable[[], list[Said | OutputEnded]]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Played]]:
    monkeypatch.setattr(container_runtime, "LAST_REPORTS", 0.2)  # no gateway reports
    made: list[Played] = []

    def run(*events: dict[str, Any], text: str = SCENARIO) -> Played:
        made.append(Played(create("pair", tmp_path), *events, text=text))
        return made[-1]

    yield run
    for item in made:
        item.close()


KILLED = (event("kill", signal="9"), event("die", exitCode="137"))


@pytest.mark.slow
def test_a_device_whose_container_dies_is_on_record(
    play: Callable[..., Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    # once all devices are gone, the runtime waits in vain for a server that writes nothing here
    monkeypatch.setattr(container_runtime, "LAST_WRITES", 0.5)
    run = play(*KILLED)
    run.begin()
    run.hear(OutputEnded("far"))
    (gone,) = list(read(run.folder.reports))
    assert run.view.records[-1] == gone
    assert (gone["node"], gone["code"], gone["cause"]) == ("far", -9, "engine")
    assert "through Docker" in gone["reason"]
    assert not run.survivors.none
    run.hear(OutputEnded("near"))
    assert run.survivors.none
    assert "through Docker" in (run.folder.devices / "far.log").read_text()


def test_a_device_that_ends_once_the_run_is_over_is_not(play: Callable[..., Played]) -> None:
    run = play(event("die", exitCode="0"))
    run.begin()
    run.write(3.0, "stop", reason="time")
    run.hear(OutputEnded("far"), OutputEnded("server"))
    assert list(read(run.folder.reports)) == []


DURABLE = SCENARIO + "server: {durability: update}\n"
LIMITED = (event("oom"), event("die", exitCode="137"))


@pytest.mark.parametrize(
    "events, text, orders",
    [(KILLED, DURABLE, set()), (KILLED, SCENARIO, {"stop"}), (LIMITED, DURABLE, {"stop"})],
    ids=["durable", "no state", "own limit"],
)
def test_a_durable_server_whose_devices_were_shot_is_not_told_to_stop(
    events: tuple[dict[str, Any], ...],
    text: str,
    orders: set[str],
    play: Callable[..., Played],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It could go on with new devices, and a server that was told to stop could not."""
    monkeypatch.setattr(container_runtime, "LAST_WRITES", 0.05)
    monkeypatch.setattr(container_runtime, "SETTLE", 0.05)
    run = play(*events, text=text)
    run.begin()
    run.hear(OutputEnded("far"))
    run.hear(OutputEnded("near"))
    assert not run.runtime.wait(until=60.0)
    assert set(run.wires.orders) == orders
    assert run.runtime.given_up == run.survivors.reason


def test_a_run_that_has_not_begun_waits_for_no_model(
    play: Callable[..., Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancellation while containers are made is said at once, and takes no time of its own."""
    monkeypatch.setattr(container_runtime, "clean_up_hosts", lambda *which: Removed())
    run = play()
    shown: list[str] = []
    run.view.progress = shown.append  # type: ignore[method-assign]

    def interrupt(timeout: float) -> None:
        raise Canceled

    run.wires.read = interrupt  # type: ignore[assignment]
    began = time.monotonic()
    with pytest.raises(Canceled):
        conduct(run.scenario, [], run.runtime)
    assert time.monotonic() - began < container_runtime.LAST_WRITES / 2
    assert shown[-2].startswith("stopping: ") and shown[-1] == "removing the containers"
    assert "stop" not in run.wires.orders


def test_a_device_that_dies_before_the_start_ends_the_run_by_name(
    play: Callable[..., Played],
) -> None:
    run = play(*KILLED)
    run.wires.news = [[OutputEnded("far")]]
    began = time.monotonic()
    with pytest.raises(DeploymentError, match="far ended unasked: somebody ended its container"):
        run.runtime.deploy(run.scenario, run.survivors)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "last", [Said("far", "", ExitReport(-9, "limit")), OutputEnded("far")], ids=["part", "node"]
)
def test_a_device_that_dies_at_the_start_is_gone_and_the_run_goes_on(
    play: Callable[..., Played], last: Said | OutputEnded
) -> None:
    """Its end may be heard before the server's log is read again."""
    run = play(*LIMITED)
    hear = run.wires.read
    run.wires.news = [[last]]

    def begin_and_die(timeout: float) -> list[Said | OutputEnded]:
        if news := hear(timeout):
            run.write(0.0, "start", devices=2, zero=time.monotonic())
        return news

    run.wires.read = begin_and_die  # type: ignore[method-assign]
    run.runtime.deploy(run.scenario, run.survivors)
    (gone,) = read(run.folder.reports)
    assert (gone["node"], gone["cause"]) == ("far", "limit")
    assert not run.survivors.none


def test_a_supervisors_last_words_are_the_reason(play: Callable[..., Played]) -> None:
    run = play(event("die", exitCode="1"))
    run.begin()
    run.hear(Said("far", "the network interface eth0 is gone"), OutputEnded("far"))
    (gone,) = read(run.folder.reports)
    assert gone["reason"].endswith("exit code 1: the network interface eth0 is gone")


@pytest.mark.parametrize("node", ["server", "evaluator"])
def test_a_run_ends_with_its_server_and_says_why(play: Callable[..., Played], node: str) -> None:
    run = play(event("die", exitCode="0"))
    run.begin()
    report = ExitReport(-9, "host")
    with pytest.raises(DeploymentError, match=f"{node} ended unasked: killed by the kernel"):
        run.hear(Said(node, "", report, time.monotonic()), OutputEnded(node))
    (gone,) = read(run.folder.reports)
    assert gone["node"] == node


def test_the_load_of_a_run_ends_with_the_run(
    play: Callable[..., Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The containers of other hosts take seconds to end: that load is not the run's."""
    monkeypatch.setattr(container_runtime, "LAST_WRITES", 0.2)
    run = play()
    run.begin()
    run.load.busy += [0.5] * 3
    run.load.pressure += [None] * 3
    run.write(3.25, "stop", reason="updates")
    run.hear()
    run.runtime._take(0.0)
    run.load.busy += [1.0] * 20
    run.load.pressure += [None] * 20
    run.runtime._take(0.0)
    run.runtime._record_load(last=True)  # as at the end of all containers
    loads = [record for record in read(run.folder.reports) if record["what"] == "host"]
    assert [(record["at"], record["busy"]) for record in loads] == [(3.25, [0.5] * 3)]


@pytest.mark.parametrize("node", ["server", "evaluator"])
def test_an_earlier_end_of_its_process_does_not_explain_that_of_a_container(
    play: Callable[..., Played], node: str
) -> None:
    run = play(*KILLED)
    run.begin()
    run.hear(Said(node, "", ExitReport(-9, "host", returns=True), time.monotonic()))
    with pytest.raises(DeploymentError, match=f"{node} ended unasked: somebody ended its contain"):
        run.hear(OutputEnded(node))
    causes = [(record["node"], record["cause"]) for record in read(run.folder.reports)]
    assert causes == [(node, "host"), (node, "engine")]


def test_the_hosts_load_is_sampled_from_the_start_to_the_stop(
    play: Callable[..., Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To start a hundred containers makes any host busy, and spoils nothing."""
    monkeypatch.setattr(host, "LOAD_SAMPLING", 0.01)
    monkeypatch.setattr(host, "_ticks", iter(zip(range(9999), range(9999), strict=True)).__next__)
    run = play()
    time.sleep(0.05)
    assert run.load.busy == []
    run.begin()
    until = time.monotonic() + 5
    while not run.load.busy:
        assert time.monotonic() < until
        time.sleep(0.01)
    run.write(3.0, "stop", reason="time")
    run.hear(OutputEnded("server"))
    sampled = len(run.load.busy)
    time.sleep(0.05)
    assert len(run.load.busy) == sampled


# -- afterwards ------------------------------------------------------------------------------------


def test_a_report_names_who_ended_and_why(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"at": 0.0, "what": "start", "devices": 2},
        {"at": 3.04, "what": "exit", "node": "far", "code": -9, "reason": "killed"},
        {"at": 9.0, "what": "stop", "reason": "time"},
    ]
    late = {"outcome": "success", "fidelity": {"kept_up": False, "reasons": ["it was late"]}}
    result = warnings(written(tmp_path / "run", records, summary=late))
    assert "far ended unasked at 3.0 s: killed" in result
