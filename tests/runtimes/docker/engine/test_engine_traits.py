"""Engines of other configurations, by their documents: what they cannot keep is refused or said."""

import json
import resource
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError
from requests import Response

from emulator.cli.prepare import doctor
from emulator.errors import HostError
from emulator.node import engine_probe
from emulator.node.control_group import cpu_quota
from emulator.runtimes.docker.configs import spec
from emulator.runtimes.docker.engine import client as connecting
from emulator.runtimes.docker.engine import probing
from emulator.runtimes.docker.engine.cleanup import Removed
from emulator.runtimes.docker.engine.engine_traits import (
    LACKS,
    broken,
    lacks,
    other_machine,
    refusal,
)
from emulator.scenario import Scenario
from emulator.scenario.timeline.compiled import timeline
from emulator.shaping.features import Features
from tests.fakes.small_scenario import small
from tests.runtimes.docker.engine.engine_answers import unlike

# Parts of the documents of Docker 20.10 on Debian 12, also with --userns-remap=default; the others
# after the engines' documentation.
INFO = {
    "MemoryLimit": True,
    "SwapLimit": True,
    "CpuCfsQuota": True,
    "CPUShares": True,
    "PidsLimit": True,
    "OSType": "linux",
    "NCPU": 2,
    "SecurityOptions": ["name=seccomp,profile=default"],
}
VERSION = {"Version": "20.10.24", "Components": [{"Name": "Engine"}, {"Name": "containerd"}]}
PODMAN = {"Version": "5.4.0", "Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}]}


def secured(*options: str) -> dict[str, Any]:
    return {**INFO, "SecurityOptions": [*INFO["SecurityOptions"], *options]}  # type: ignore[misc]


@pytest.mark.parametrize(
    ("info", "version", "words"),
    [
        (INFO, VERSION, ""),
        (INFO, {"Version": "20.10.24", "ApiVersion": "1.41"}, ""),
        (INFO, {"Version": "29.1", "ApiVersion": "1.100"}, ""),
        (
            INFO,
            {"Version": "19.03", "ApiVersion": "1.40"},
            "this is Docker 19.03, and runs need 20",
        ),
        (secured("name=userns"), VERSION, ""),
        (secured("name=selinux"), VERSION, ""),
        (secured("name=apparmor", "name=cgroupns"), VERSION, ""),
        (secured("name=rootless"), VERSION, "this engine is rootless"),
        (secured("name=cgroupns", "name=rootless"), VERSION, "this engine is rootless"),
        (INFO, PODMAN, "this is podman's socket"),
        ({**INFO, "OSType": "windows"}, VERSION, "this engine's containers are of windows"),
    ],
)
def test_engines_on_which_nothing_can_be_played(
    info: dict[str, Any], version: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refusal(info, version).startswith(words) and bool(words) == bool(refusal(info, version))
    engine = SimpleNamespace(info=lambda: info, version=lambda: version)
    monkeypatch.setattr(connecting, "DockerClient", lambda **how: engine)
    if not words:
        assert connecting.connect() is engine
        return
    with pytest.raises(HostError, match=words) as raised:
        connecting.connect()
    assert "--on virtual" in str(raised.value)


def test_an_image_runs_on_machines_of_its_kind() -> None:
    arm, x86 = {"Architecture": "arm64"}, {"Architecture": "amd64"}
    assert other_machine(x86, {"Arch": "amd64"}) == ""
    assert other_machine(arm, {"Arch": "amd64"}).startswith(
        "its machine is amd64, and the image is for arm64"
    )


# -- limits ----------------------------------------------------------------------------------------

WARNING = "Your kernel does not support CPU cfs period/quota or the cgroup is not mounted."


def test_an_engine_that_sets_all_limits_lacks_none() -> None:
    assert lacks(INFO) == []


@pytest.mark.parametrize("lack", LACKS, ids=lambda lack: lack.flag)
def test_each_missing_limit_is_said(lack: Any) -> None:
    assert lacks({**INFO, lack.flag: False}) == [lack]
    finding = doctor._limits(probing.Probed(Features(), (lack,), 1024))
    assert not finding.ok and lack.words in finding.found and finding.remedy


@pytest.mark.parametrize("missing", [(), LACKS[:1]], ids=["all limits", "one is missing"])
def test_doctor_names_the_limit_of_open_files(missing: tuple[Any, ...]) -> None:
    finding = doctor._limits(probing.Probed(Features(), missing, 1024))
    assert "a process may open 1,024 files" in finding.found


def test_a_warning_of_another_limit_is_said() -> None:
    (lack,) = lacks(INFO, [WARNING])
    assert WARNING in lack.words


def with_fault(kind: str) -> Scenario:
    fault = {
        "slow": "{kind: slow, nodes: [one], at: 5s, factor: 50%}",
        "memory": "{kind: memory, nodes: [one], at: 5s, takes: 50%}",
        "partition": "{kind: partition, nodes: [one], at: 5s}",
    }[kind]
    return small(("stop:", f"faults:\n  - {fault}\nstop:"))


DEVICE = "- name: one\n"
SCENARIOS = {
    "bare": (small(), set()),
    "partition": (with_fault("partition"), set()),
    "slow": (with_fault("slow"), {"CpuCfsQuota"}),
    "memory": (with_fault("memory"), {"MemoryLimit"}),
    "dilation": (small(("stop:", "time: {dilation: 2}\nstop:")), {"CpuCfsQuota"}),
    "cpu": (small((DEVICE, "- {name: one, profile: {cpu: 50%}}\n")), {"CpuCfsQuota"}),
    "limit": (small((DEVICE, "- {name: one, profile: {memory: 300MiB}}\n")), {"MemoryLimit"}),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_limit_that_a_scenario_needs_is_refused_and_the_others_are_not(name: str) -> None:
    scenario, needed = SCENARIOS[name]
    refused = {
        lack.flag for lack in LACKS if [*broken([lack], scenario, tuple(timeline(scenario)))]
    }
    assert refused == needed


# -- the probe -------------------------------------------------------------------------------------

REPORT = {
    "boot": "1-2-3",
    "mounts": "",
    "quota": 1.0,
    "memory": 256 << 20,
    "files": 1024,
    "features": Features(netem=True).plain(),
}


class Engine:
    """An engine whose containers answer with `report`, or that refuses to make one."""

    def __init__(
        self,
        *,
        warnings: list[str] | None = None,
        refuses: str = "",
        most: int = 1 << 20,
        **report: Any,
    ) -> None:
        """`most`: open files that the engine itself may have, and give to containers."""
        self.report, self.warnings, self.refuses = {**REPORT, **report}, warnings, refuses
        self.most = most
        self.api = SimpleNamespace(hooks={"response": []})
        self.containers = SimpleNamespace(create=self.create)
        self.asked: list[dict[str, Any]] = []

    def info(self) -> dict[str, Any]:
        return INFO

    def create(self, **options: Any) -> Any:
        self.asked.append(options)
        for mount in options["mounts"]:
            assert Path(mount["Source"]).exists()
        if self.refuses:
            response = Response()
            response.status_code = 400
            raise APIError("refused", response, self.refuses)
        answer: Any = SimpleNamespace(ok=True, json=lambda: {"Warnings": self.warnings})
        answer.request = SimpleNamespace(path_url="/v1.41/containers/create?name=x")
        for hook in self.api.hooks["response"]:
            hook(answer, timeout=1)
        limits = {limit["Name"]: limit["Hard"] for limit in options["ulimits"]}
        files = limits.get("nofile", self.report["files"])
        said = json.dumps({**self.report, "files": files}).encode()

        def start() -> None:
            if files > self.most:
                words = "error setting rlimit type 7: operation not permitted"
                raise APIError("refused", None, words)

        return SimpleNamespace(
            start=start, wait=lambda: {"StatusCode": 0}, logs=lambda **which: said
        )


def test_the_engine_of_the_probe_answers_as_the_engine_does(tmp_path: Path) -> None:
    client, answers = Engine(warnings=["no swap"]), list[Any]()
    client.api.hooks["response"].append(lambda answer, **more: answers.append(answer.json()))
    made = client.create(mounts=[], ulimits=[])
    assert unlike(client, "info") == unlike(made, "wait", "logs") == []
    assert unlike(answers[0], "creation") == []


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(probing, "clean_up", lambda *which: Removed())
    (tmp_path / "boot_id").write_text("1-2-3\n")
    monkeypatch.setattr(probing, "BOOT", tmp_path / "boot_id")


def examined(**engine: Any) -> probing.Probed:
    client: Any = Engine(**engine)
    return probing.examine(client, "image")


def test_the_probe_is_made_as_a_device_is(tmp_path: Path) -> None:
    client: Any = Engine()
    assert probing.probe(client, "image") == Features(netem=True)
    (asked,) = client.asked
    device = spec.container(
        spec.Container("far", "image", "wan", asked["labels"], {}, cpu=1.0, memory=256 << 20)
    )
    apart = {"name", "hostname", "network", "network_mode", "entrypoint", "command", "devices"}
    apart |= {"mounts", "log_config", "stdin_open", "auto_remove"}
    assert {key: asked[key] for key in asked.keys() - apart} == {
        key: device[key] for key in device.keys() - apart
    }
    assert [mount["ReadOnly"] for mount in asked["mounts"]] == [True, False]
    assert not any((tmp_path / "cache/probes").iterdir())
    assert client.api.hooks == {"response": []}


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ({"boot": "4-5-6"}, "runs containers on another kernel, as Docker Desktop does"),
        ({"mounts": "[Errno 13] Permission denied: '/output/probe'"}, "cannot use the files that"),
        (
            {"refuses": "invalid mount config: bind source path does not exist: /root/.cache"},
            "does not see .*Docker from a snap sees no hidden folders",
        ),
    ],
)
def test_what_the_probe_finds_amiss_is_refused(engine: dict[str, Any], words: str) -> None:
    with pytest.raises(HostError, match=words):
        examined(**engine)


@pytest.mark.parametrize(
    ("engine", "flags"),
    [
        ({}, []),
        ({"warnings": []}, []),
        ({"quota": None}, ["CpuCfsQuota"]),
        ({"quota": None, "memory": None}, ["CpuCfsQuota", "MemoryLimit"]),
        ({"warnings": [WARNING]}, [""]),
    ],
)
def test_limits_that_an_engine_accepts_and_discards(
    engine: dict[str, Any], flags: list[str]
) -> None:
    assert [lack.flag for lack in examined(**engine).lacks] == flags


def test_a_run_is_refused_or_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def backend(scenario: Scenario) -> None:
        client: Any = Engine(quota=None)
        probing.means_for(client, "image", scenario, (), tell=told.append)

    backend(small())
    assert told == [f"engine: {LACKS[0].words}"]
    with pytest.raises(HostError, match=r"sets no CPU quotas.* this scenario needs the limit"):
        backend(SCENARIOS["cpu"][0])


def fleet(count: int, link: str = "") -> Scenario:
    return small((DEVICE, f"- {{name: one, count: {count}{link}}}\n"))


DELAYED = ", link: {up: {delay: 5ms}}"


@pytest.mark.parametrize(
    ("count", "link", "usual", "most", "given"),
    [
        (10, "", 1024, 1 << 20, 1024),  # enough: nothing is asked for
        (477, "", 1024, 1024, 1024),
        (478, "", 1024, 1 << 20, 1026),  # the engine may give more than it does by default
        (478, "", 1024, 1024, 0),
        (240, DELAYED, 1024, 1024, 1024),  # four files a link in the box
        (241, DELAYED, 1024, 1 << 20, 1028),
        (241, DELAYED, 1024, 1027, 0),
    ],
)
def test_files_that_a_fleet_needs_are_asked_for_or_refused(
    count: int, link: str, usual: int, most: int, given: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "raise_limit", lambda: 1 << 20)
    features = Features(tun=True, tbf=True, ifb=True).plain()
    client: Any = Engine(files=usual, most=most, features=features)
    scenario = fleet(count, link)
    if not given:
        with pytest.raises(HostError, match=rf"opens up to 1,02\d files.* may open {usual:,}"):
            probing.means_for(client, "image", scenario, ())
        return
    assert probing.means_for(client, "image", scenario, ()).files == given
    usual_limits = [{"Name": "core", "Soft": 0, "Hard": 0}]
    assert client.asked[0]["ulimits"] == usual_limits
    asked = {"Name": "nofile", "Soft": given, "Hard": given}
    assert [each["ulimits"] for each in client.asked[1:]] == [
        [*usual_limits, asked] for _ in range(given != usual)
    ]


# -- in the probe's container ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "50000 100000\n"}, 0.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1.0),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_the_quota_of_a_control_group(
    tmp_path: Path, files: dict[str, str], cores: float | None
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert cpu_quota(tmp_path) == cores


def test_the_use_of_mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setattr(engine_probe.config, "PATH", tmp_path / "node.json")
    monkeypatch.setattr(engine_probe.config, "OUTPUT", tmp_path)
    user = os.getuid()
    assert "No such file" in engine_probe._mounts(user)
    (tmp_path / "node.json").write_text("{}")
    assert engine_probe._mounts(user) == "" and (tmp_path / "probe").is_file()


# -- networks and compose --------------------------------------------------------------------------


def test_networks_have_no_addresses_of_version_6() -> None:
    """An engine may give them by default; the option of the network comes before the default."""
    options = spec.network("wan", {})["options"]
    assert options["com.docker.network.enable_ipv6"] == "false"


@pytest.mark.parametrize("made", ["container", "box", "foreign end", "probe"])
def test_every_container_is_confined_alike(made: str) -> None:
    wanted = spec.Container("far", "image", "wan", {"emulate.run": "1"}, {})
    options = {
        "container": spec.container(wanted),
        "box": spec.box("1", "image", {}, 0),
        "foreign end": spec.foreign_end("1", "image", {}, "web", True),
        "probe": spec.probe(wanted, [], tun=True),
    }[made]
    assert options.items() >= spec.CONFINED.items()


@pytest.mark.parametrize(("count", "most"), [(315, 1024), (316, 1027)])
def test_the_conductor_raises_its_own_limit_of_open_files_or_refuses(
    count: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [(256, most)]
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda which, limit: limits.append(limit))
    client: Any = Engine(files=1 << 20)
    probing.means_for(client, "image", fleet(count), ())
    assert limits[-1] == (most, most)
    words = rf"files: the run needs {most + 3:,} open files .* has {most:,}: raise its hard limit"
    limits[:] = [(256, most)]
    with pytest.raises(HostError, match=words):
        probing.means_for(client, "image", fleet(count + 1), ())
