"""A signal behind the end that the server gave the run leaves the run its end."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.runs.conductor import ProgressView, run
from emulator.runs.folder import create
from emulator.runs.session import Session
from emulator.runtimes.docker import container_runtime, play_containers
from emulator.runtimes.docker.engine.cleanup import Removed
from emulator.runtimes.docker.engine.hosts import Hosts
from emulator.runtimes.docker.engine.stdio import OutputEnded
from emulator.scenario import loads
from emulator.shaping.backend import Backend
from tests.fakes.plain_records import read
from tests.runtimes.docker.engine.made_up_play import SCENARIO, Played

STAGES = ("written", "model", "streams", "containers", "networks")


@pytest.mark.parametrize(
    "stage, reason", [*((stage, "time") for stage in STAGES), ("model", "canceled")]
)
def test_a_signal_at_each_stage_of_the_ending(
    stage: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`written`: the server has written its last record, and the conductor has not read it."""
    monkeypatch.setattr(container_runtime, "LAST_WRITES", 0.3)
    monkeypatch.setattr(container_runtime, "LAST_REPORTS", 0.1)
    folder, scenario = create("pair", tmp_path), loads(SCENARIO)
    play = Played(folder)
    runtime, steps = play.runtime, list[str]()
    session = Session(scenario, (), folder, "docker")

    def at(step: str) -> None:
        steps.append(step)
        if step == stage:
            os.kill(os.getpid(), signal.SIGINT)

    def before(step: str, work: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: (at(step), work(*given))[1]

    take = runtime._take

    def taking(timeout: float) -> None:
        if runtime._log.zero is not None and not steps:
            play.write(0.1, "stop", reason=reason)
            at("written")
        elif runtime._log.stop and "model" not in steps:
            at("model")
        take(timeout)

    monkeypatch.setattr(runtime, "_take", taking)
    monkeypatch.setattr(play.wires, "close", before("streams", lambda: None), raising=False)
    monkeypatch.setattr(
        container_runtime, "clean_up_hosts", before("containers", lambda *of: Removed())
    )
    monkeypatch.setattr(play_containers, "clean_up_late", before("networks", lambda *of: ()))
    client: Any = None
    ready: Any = SimpleNamespace(hosts=Hosts.here(client), backend=Backend())
    with play_containers.conducting(ready, session, ProgressView()) as conducted:
        conducted.made = runtime
        play.write(0.0, "start", devices=2, zero=time.monotonic())
        run(scenario, (), runtime)
    assert set(steps) == set(STAGES)
    assert session.summary["stop"] == reason
    assert [r["reason"] for r in read(folder.records) if r["what"] == "stop"] == [reason]


@pytest.mark.parametrize("growing", ["model.part", "checkpoint.part", ""])
def test_a_model_that_a_slow_disk_takes_is_waited_for(
    growing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk takes three times as long as a server may that writes nothing."""
    monkeypatch.setattr(container_runtime, "LAST_WRITES", 0.2)
    monkeypatch.setattr(container_runtime, "LAST_REPORTS", 0.1)
    folder = create("pair", tmp_path)
    play = Played(folder)
    runtime, shown = play.runtime, list[str]()
    play.view.progress = shown.append  # type: ignore[method-assign]
    play.begin()
    play.write(0.1, "stop", reason="time")
    part, began = folder.server / (growing or "model.part"), time.monotonic()
    part.write_bytes(b"x")
    take = runtime._take

    def taking(timeout: float) -> None:
        if growing and time.monotonic() - began < 0.6:
            with part.open("ab") as file:
                file.write(b"more")
        elif growing and part.exists():
            part.rename(folder.server / "model.npz")
            play.wires.news.append([OutputEnded("server")])
        take(timeout)

    monkeypatch.setattr(runtime, "_take", taking)
    try:
        assert not runtime.wait(until=60.0)
    finally:
        runtime._node_logs.close()
    assert (folder.server / "model.npz").is_file() == bool(growing)
    assert ("the server has not written its model in time" in shown) == (not growing)
