"""Probes the engine and the kernel's means to shape links, in a container made as a node's."""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import requests
from docker import DockerClient
from docker.errors import APIError, DockerException

from ....costs.host_limits import FILES, HostLimit
from ....errors import DeploymentError, HostError
from ....machine.cache import cache
from ....machine.kernel import raise_limit
from ....machine.kernel_tables import Supply
from ....node import config
from ....runs.folder import new_id
from ....scenario import Device, Scenario, Timed
from ....scenario.cores_and_memory import LEAST_FORKS, beside_devices, forked
from ....scenario.sections.devices import MEMORY
from ....scenario.timeline.link_changes import reshaped_links
from ....shaping.backend import Backend, Delay, choose
from ....shaping.features import Features
from ....world.links.link import Link, Side
from ....world.verbs import row
from ..configs import spec
from ..configs.container_settings import NOBODY, Means
from ..configs.node_networks import boxed_nodes
from ..configs.spec import Container
from ..network.ways import room, subnet
from .cleanup import LOCK, ROLE, RUN, clean_up
from .client import finished, refusals
from .endpoint import endpoint
from .engine_traits import (
    OTHER,
    Lack,
    broken,
    files_needed,
    lacks,
    unlimited,
)
from .hosts import EngineHost, at
from .owners import owned, place

CORES = 1.0
"""CPU quota of the probe; an engine of one core gives no more."""

TRIAL = 30.0
"""Seconds in which a fork server must have said whether it can fork."""

BOOT = Path("/proc/sys/kernel/random/boot_id")
"""File with an id of the running kernel."""


@dataclass(frozen=True)
class Probed:
    """The answers of the engine, and of a container made as a node's."""

    features: Features
    lacks: tuple[Lack, ...]
    """Limits of containers that the engine does not set."""
    files: int
    """Files that a process of a container may open."""


def probe(client: DockerClient, image: str) -> Features:
    """Return the kernel's means of shaping; raises as `examine` does."""
    return examine(client, image).features


def examine(
    client: DockerClient, image: str, files: int | None = None, host: EngineHost | None = None
) -> Probed:
    """Try mounts, limits and every means of shaping in a throwaway container.

    `files`: number of open files to ask the engine for; None: the engine's own. `host`: that of the
    engine, if it is not this machine.
    The run has no id before its folder is created, so the probe is labelled with its own. Raises
    HostError if containers cannot use a run's files, or run on another kernel.
    """
    run, host = new_id(), host or EngineHost(client)
    with (
        owned(run),
        _files(run) as folder,
        refusals(f"probing what the engine can do{at(host)}"),
        _warnings(client) as warnings,
    ):
        try:
            report = json.loads(_answer(client, image, run, host.place(folder, run), files))
        finally:
            clean_up(client, run)
            host.forget(run)
        known = lacks(client.info(), warnings)
    if not host.name and report["boot"] != BOOT.read_text(encoding="utf-8").strip():
        raise HostError(
            f"the engine at {endpoint()} runs containers on another kernel, as Docker Desktop does "
            "in a virtual machine, or on another machine: its clock is not this one's, so no fault "
            f"would strike in time: {OTHER}"
        )
    if report["mounts"]:
        raise HostError(
            f"a node's process cannot use the files that a container mounts: {report['mounts']}: "
            f"another user (id {_user()}) must be allowed to read below the cache and the folder "
            "of runs: name other places in EMULATE_CACHE and --runs"
        )
    missing = tuple(dict.fromkeys(known + unlimited(report)))
    return Probed(Features.read(report["features"]), missing, report["files"])


def _user() -> int:
    return os.getuid() or NOBODY


@contextmanager
def _files(run: str) -> Iterator[Path]:
    """Lay down a configuration and an output folder, as a run's, for the block."""
    folder = cache("probes", run)
    try:
        (folder / "output").mkdir(parents=True)
        (folder / "node.json").write_text("{}", encoding="utf-8")
        # the umask may be any
        for path, mode in (
            (folder, 0o755),
            (folder / "output", 0o755),
            (folder / "node.json", 0o644),
        ):
            path.chmod(mode)
        if os.getuid() == 0:
            shutil.chown(folder / "output", NOBODY, NOBODY)
        yield folder
    except OSError as error:
        raise HostError(f"cannot write {folder}: {error.strerror}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _warnings(client: DockerClient) -> Iterator[list[str]]:
    """Collect the warnings with which the engine creates containers; its client drops them."""
    found: list[str] = []

    def take(response: Any, *anything: Any, **more: Any) -> None:
        if response.request.path_url.partition("?")[0].endswith("/containers/create"):
            found.extend((response.json() if response.ok else {}).get("Warnings") or ())

    hooks = client.api.hooks["response"]
    hooks.append(take)
    try:
        yield found
    finally:
        hooks.remove(take)


def _answer(client: DockerClient, image: str, run: str, folder: Path, files: int | None) -> bytes:
    container = _started(client, image, run, folder, files)
    if container.wait()["StatusCode"]:
        words = container.logs(stdout=False).decode(errors="replace").strip()
        raise DeploymentError(f"the probe of the engine failed: {words}")
    answer: bytes = container.logs(stderr=False)
    return answer


def _started(client: DockerClient, image: str, run: str, folder: Path, files: int | None) -> Any:
    """Start the probe, with `TUN` if the engine can give it; return the container."""
    try:
        return _start(client, image, run, folder, files, tun=True)
    except APIError as error:
        if "bind source path does not exist" in str(error.explanation):
            raise HostError(
                f"the engine at {endpoint()} does not see {folder}, as one of another machine, or "
                "one that may read some folders only (Docker from a snap sees no hidden folders): "
                f"name a folder that it sees in EMULATE_CACHE and --runs, or {OTHER}"
            ) from error
        return _start(client, image, run, folder, files, tun=False)


def _start(
    client: DockerClient, image: str, run: str, folder: Path, files: int | None, *, tun: bool
) -> Any:
    marks = {RUN: run, LOCK: str(place(run)), ROLE: "probe"}
    mounts = {str(config.PATH): folder / "node.json", str(config.OUTPUT): folder / "output"}
    wanted = Container(
        f"probe{'' if tun else '-2'}",
        image,
        "",
        marks,
        mounts,
        CORES,
        memory=int(MEMORY),
        files=files,
    )
    command = ["python3", "-m", "emulator.node.engine_probe", str(_user())]
    container = finished(client.containers.create, **spec.probe(wanted, command, tun=tun))
    container.start()
    return container


def means_for(
    client: DockerClient,
    image: str,
    scenario: Scenario,
    timeline: Sequence[Timed],
    shaping: Delay | None = None,
    *,
    boxes: bool = True,
    host: EngineHost | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Means:
    """Choose the means by which this kernel shapes and cuts the links of `scenario`.

    `timeline`: the scenario's compiled schedule; `shaping` forces the means of delays; `boxes`:
    whether a box could hold packets; `host` as of `examine`; `tell` shows what the engine does not
    keep. Raises HostError
    if the kernel lacks a means, or the engine a limit that `scenario` needs, or open files. This
    process, the conductor, has its own limit of open files raised.
    """
    _raise_own_limit(scenario)
    links = {scenario.server.link, *(device.link for device in scenario.nodes)}
    links.update(*set(reshaped_links(scenario).values()))
    links.update(_around_bottlenecks(scenario))
    found = examine(client, image, host=host)
    if wrong := [*broken(found.lacks, scenario, timeline)]:
        raise HostError(f"the engine at {endpoint()}: {'; '.join(wrong)}")
    for lack in found.lacks:
        tell(f"engine: {lack.words}")
    features = found.features if boxes else replace(found.features, tun=False)
    wanted = cuts_needed(timeline, scenario.nodes, features)
    # an empty battery is a loss of power, too
    cuts = wanted or (bool(scenario.batteries) and features.nftables)
    backend = choose(features, links, cuts, shaping)
    if scenario.bottlenecks:
        backend = _with_queues(backend, features)
    needed = files_needed(len(scenario.nodes), len(boxed_nodes(scenario, backend)))
    return Means(backend, _files_given(client, image, needed, found.files, host))


def no_forks(client: DockerClient, image: str, scenario: Scenario) -> str:
    """Return why all workers of `scenario` are executed; empty if a fork server can start some."""
    if not forked(scenario):
        small = len(scenario.nodes) >= LEAST_FORKS
        return "small memory limits" if small else f"fewer than {LEAST_FORKS} devices"
    return forks_refused(client, image)


def forks_refused(client: DockerClient, image: str) -> str:
    """Return why the engine and its kernel let no fork server fork; empty if they do."""
    run = new_id()
    marks = {RUN: run, LOCK: str(place(run)), ROLE: "probe"}
    with owned(run):
        try:
            options = spec.fork_trial(run, image, marks)
            container = finished(client.containers.create, **options)
            container.start()
            failed = container.wait(timeout=TRIAL)["StatusCode"]
            words: str = container.logs().decode(errors="replace").strip()
        except (DockerException, requests.RequestException) as error:
            return str(getattr(error, "explanation", None) or error)
        finally:
            clean_up(client, run)
    return words or ("its trial failed" if failed else "")


def addresses_given(client: DockerClient) -> int:
    """Return how many containers have addresses on a network that the engine makes now.

    Raises DeploymentError with the remedy if the engine has no range of addresses left.
    """
    run = new_id()
    marks = {RUN: run, LOCK: str(place(run)), ROLE: "probe"}
    with owned(run), refusals("making a network"):
        try:
            options = spec.network(spec.name(run, "wan"), marks)
            return room(subnet(finished(client.networks.create, **options)))
        finally:
            clean_up(client, run)


def _raise_own_limit(scenario: Scenario) -> None:
    """Let this process open as many files as it may. Raises HostError if a run of `scenario` needs
    more."""
    limit = HostLimit(FILES, Supply(raise_limit()))
    others = beside_devices(scenario) + len(scenario.bottlenecks)
    if short := limit.shortage(len(scenario.nodes), others):
        raise HostError(short)


def _files_given(
    client: DockerClient, image: str, needed: int, usual: int, host: EngineHost | None
) -> int:
    """Return how many files a container's process may open: `usual`, or else `needed`.

    Raises HostError if the engine gives fewer than `needed`.
    """
    if needed <= usual:
        return usual
    try:
        given = examine(client, image, needed, host).files
    except DeploymentError:  # the engine may not raise its own limit
        given = usual
    if given < needed:
        raise HostError(
            f"the engine at {endpoint()}: a process of this run opens up to {needed:,} files, and "
            f"one of a container may open {given:,}: raise the engine's limit (LimitNOFILE of its "
            "service, `default-ulimits` in its daemon.json), or use fewer devices"
        )
    return given


def _with_queues(backend: Backend, features: Features) -> Backend:
    """Return `backend` with the queues of bottlenecks. Raises HostError if there can be none."""
    if not (features.ifb and backend.rate in ("tbf", "htb")):
        raise HostError(
            "bottlenecks: this kernel cannot queue the packets of several devices: a gateway needs "
            "ifb, sch_ingress, cls_u32, act_mirred, and sch_tbf or sch_htb: load the modules, or "
            "play the scenario with --on virtual"
        )
    return replace(backend, shared="htb" if features.htb else "tbf")


def _around_bottlenecks(scenario: Scenario) -> Iterator[Link]:
    """Yield the links of gateways, and those of the members with the bottlenecks' delays."""
    for bottleneck in scenario.bottlenecks:
        yield Link(Side(bottleneck.up.rate), Side(bottleneck.down.rate))
    for device in scenario.nodes if scenario.bottlenecks else ():
        if behind := scenario.bottleneck_of.get(device.name):
            yield behind.shared.lengthen(device.link)


def cuts_needed(timeline: Iterable[Timed], devices: Iterable[Device], features: Features) -> bool:
    """Return whether the backend must be able to cut links, by the faults of a scenario.

    The faults are those of `timeline` and those that `devices` draw by iteration. A crash is the
    truer for a cut before it, but can do without where the kernel has no nftables.
    """
    drawn = {hazard["begin"] for device in devices for hazard in device.hazards}
    verbs = {row(name) for name in drawn | {timed.action.verb for timed in timeline}}
    crashes = any(verb.ends_process for verb in verbs)
    return any(verb.severs for verb in verbs) or (crashes and features.nftables)


def described(plain: Mapping[str, Any]) -> str:
    """Return the entries of features or of a backend as one line."""
    return ", ".join(f"{what} {_word(how)}" for what, how in plain.items())


def _word(how: Any) -> str:
    return {True: "yes", False: "no"}.get(how, f"by {how}")
