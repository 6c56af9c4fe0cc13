"""The server's memory limit where the run's folder is on a tmpfs."""

import os
from pathlib import Path
from shutil import disk_usage

import pytest

from emulator.machine.kernel import room_in_memory
from emulator.runs.folder import RunFolder
from emulator.runtimes.docker.configs import container_settings
from emulator.runtimes.docker.configs.container_settings import Prepared
from emulator.scenario import demand, loads
from emulator.world.roles import EVALUATOR, SERVER
from tests.runtimes.docker.configs.pair_configs import configs
from tests.runtimes.docker.engine.made_up_play import SCENARIO


@pytest.mark.parametrize("kind, counts", [("tmpfs", True), ("ext4", False), ("overlay", False)])
def test_files_in_memory_are_known_by_their_file_system(
    tmp_path: Path, kind: str, counts: bool
) -> None:
    device = os.stat(tmp_path).st_dev
    own = f"{os.major(device)}:{os.minor(device)}"
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        f"36 35 999:7 / /elsewhere rw,noatime shared:1 - {'ext4' if counts else 'tmpfs'} none rw\n"
        f"37 35 {own} / {tmp_path} rw - {kind} none rw,size=900m\n"
        "torn\n"
    )
    room, free = room_in_memory(tmp_path, mounts), disk_usage(tmp_path).free
    assert abs(room - free) < 1 << 30 if counts else room == 0
    assert room_in_memory(tmp_path, tmp_path / "missing") == 0


@pytest.mark.parametrize("room", [0, 900 << 20])
def test_files_in_memory_count_towards_the_servers_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(container_settings, "room_in_memory", lambda path: room)
    scenario, folder = loads(SCENARIO), RunFolder(tmp_path, "abc123")
    world = Prepared(scenario, folder, configs(text=SCENARIO), "image", tmp_path)
    wanted = demand(scenario)
    assert world.container(SERVER, "wan", {}).memory == wanted.server_limit + room
    assert world.container(EVALUATOR, "wan", {}).memory == wanted.evaluator_limit
