"""Deaths of shards of the server, as the conductor plays and records them."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from emulator.node import config
from emulator.node.reports import ExitReport, VerbReport
from emulator.runs.folder import create
from emulator.runtimes.docker.engine.stdio import Said
from emulator.world.verbs import Action
from tests.runtimes.docker.engine.made_up_play import SCENARIO, Played

SHARDS = ["server", "server_2", "server_3"]
DURABLE = SCENARIO.replace("devices:", "server: {shards: 3, durability: update}\ndevices:")


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    with closing(Played(create("pair", tmp_path), text=DURABLE)) as played:
        yield played


def test_a_server_crash_kills_all_shards_and_is_one_fault_on_record(played: Played) -> None:
    played.begin()
    played.wires.told.clear()
    played.runtime.perform(Action("kill", "server", "server-crash"), 3.0)
    assert played.wires.told == SHARDS
    played.runtime.perform(Action("kill", "near", "crash"), 3.0)
    assert played.wires.told == [*SHARDS, "near"]
    done = VerbReport("kill", "server-crash", 3.0)
    played.hear(*(Said(shard, "", done, time.monotonic()) for shard in SHARDS))
    (fault,) = [record for record in played.view.records if record["what"] == "kill"]
    assert (fault["node"], fault["fault"]) == ("server", "server-crash")


def test_a_shard_that_comes_back_has_an_exit_on_record(played: Played) -> None:
    played.begin()
    for shard in SHARDS:
        played.runtime._exits.created(shard, "1")
    played.hear(Said("server_3", "", ExitReport(-9, "", True), time.monotonic()))
    (gone,) = [record for record in played.view.records if record["what"] == "exit"]
    assert (gone["node"], gone["code"], gone["returns"]) == ("server_3", -9, True)


def test_durable_shards_have_output_folders_of_their_own(tmp_path: Path) -> None:
    def outputs(text: str) -> list[Path | None]:
        with closing(Played(create("pair", tmp_path), text=text)) as played:
            world = played.world
        specs = [world.container(shard, "wan", {}) for shard in SHARDS]
        return [spec.mounts.get(str(config.OUTPUT)) for spec in specs]

    server, *others = outputs(DURABLE)
    assert others == [server / "server_2", server / "server_3"]  # type: ignore[operator]
    assert outputs(DURABLE.replace("update", "none"))[1:] == [None, None]
