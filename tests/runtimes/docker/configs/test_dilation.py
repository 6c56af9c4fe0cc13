"""A dilated run's containers: quotas, configurations and clocks, word for word."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.machine import kernel
from emulator.node.link.access_link import AccessLink
from emulator.runtimes.docker.configs import NodeConfigs, spec
from emulator.runtimes.docker.configs.container_settings import Prepared
from emulator.runtimes.docker.engine.engine_faults import UNLIMITED, ContainerPowers
from emulator.shaping import access
from emulator.shaping.playable_link import dilated
from tests.runtimes.docker.configs.pair_configs import DELAYED, FAR, HELD, SCENARIO, TEXT, configs
from tests.runtimes.docker.configs.wanted_container import WANTED
from tests.runtimes.docker.engine.engine_answers import unlike

SLOW = f"{TEXT}time: {{dilation: 4}}\n"
RESHAPED = f"{SLOW}faults: [{{kind: degrade, nodes: [far], at: 10s, lasts: 5s, delay: 100ms}}]\n"


@pytest.mark.parametrize(
    "cpu, dilation, quota",
    [
        (0.2, 1.0, (100_000, 20_000)),
        (None, 1.0, None),
        (0.2, 4.0, (400_000, 20_000)),
        (None, 4.0, (400_000, 100_000)),
        (1.5, 2.5, (250_000, 150_000)),
        (0.2, 20.0, (1_000_000, 10_000)),  # the kernel's longest period
        (0.01, 100.0, (1_000_000, 1_000)),  # the engine's shortest time
    ],
)
def test_a_quota_is_divided_and_its_period_multiplied(
    cpu: float | None, dilation: float, quota: tuple[int, int] | None
) -> None:
    assert spec.cpu_quota(cpu, dilation) == quota
    kwargs = spec.container(replace(WANTED, cpu=cpu, dilation=dilation))
    assert (kwargs.get("cpu_period"), kwargs.get("cpu_quota")) == (quota or (None, None))


@pytest.mark.parametrize("dilation", [1, 8])
@pytest.mark.parametrize(
    ("far_down", "filling"),
    [
        ("50mbit", {"server", "near"}),  # nine frames; by its pace TCP would send four, at 8 two
        ("1gbit", {"server", "near"}),  # whole superpackets pass
        ("8mbit", {"near"}),  # cuts the server's packets; that of the device near goes at 1 gbit
        ("50mbit, loss: 1%", {"near"}),
    ],
)
def test_tcp_fills_its_packets_unless_a_link_cuts_them(
    dilation: float, far_down: str, filling: set[str]
) -> None:
    text = TEXT.replace("down: {rate: 8mbit", f"down: {{rate: {far_down}")
    slow = f"time: {{dilation: {dilation}}}\n"
    assert configs(text=text + slow).networks.filling == filling
    reshaped = "faults: [{kind: degrade, nodes: [near], at: 10s, lasts: 5s, delay: 100ms}]\n"
    changing = configs(text=text.rpartition("faults:")[0] + reshaped + slow)
    assert changing.networks.filling == filling - {"near"}


@pytest.mark.parametrize(
    ("up", "bottleneck", "filling"),
    [
        ("1mbit", "", {"server", "near"}),
        ("900kbit", "", {"near"}),
        ("1mbit", "bottlenecks: [{name: street, up: {rate: 2mbit}, members: [near, far]}]\n", True),
        (
            "1mbit",
            "bottlenecks: [{name: street, up: {rate: 1.9mbit}, members: [near, far]}]\n",
            False,
        ),
    ],
)
def test_tcp_fills_no_packets_whose_acknowledgements_hold_it_up(
    up: str, bottleneck: str, filling: set[str] | bool
) -> None:
    text = TEXT.replace("up: {rate: 1mbit", f"up: {{rate: {up}")
    text = text.replace("down: {rate: 8mbit", "down: {rate: 50mbit")
    found = configs(text=text + bottleneck).networks.filling
    assert found == filling if isinstance(filling, set) else ("server" in found) == filling


def test_without_a_rate_tcp_is_left_alone() -> None:
    devices = "devices: [{name: near}, {name: far, link: {up: {delay: 1ms}}}]\n"
    assert configs(text=TEXT.partition("server:")[0] + devices).networks.filling == set()


def test_containers_of_full_packets_have_the_kernel_parameter() -> None:
    for full in (False, True):
        sysctls = spec.container(replace(WANTED, full_packets=full))["sysctls"]
        assert sysctls.get("net.ipv4.tcp_tso_rtt_log") == ("31" if full else None)
        assert sysctls["net.ipv4.tcp_orphan_retries"] == "1"


class Engine:
    """Notes the quotas that a container gets."""

    def __init__(self) -> None:
        self.api, self.quotas = self, list[tuple[int, int]]()

    def update_container(self, name: str, *, cpu_period: int, cpu_quota: int) -> None:
        self.quotas.append((cpu_period, cpu_quota))


def test_the_engine_of_quotas_takes_the_calls_of_the_engine() -> None:
    assert unlike(Engine(), "update quota", name="far") == []


def test_a_throttled_device_has_a_divided_quota_too() -> None:
    engine = Engine()
    for cpu, dilation in [(0.2, 4.0), (None, 4.0), (None, 1.0)]:
        powers = ContainerPowers(engine, "far", cpu, dilation)  # type: ignore[arg-type]
        powers.throttle({"factor": 0.5})
        powers.unthrottle()
    assert engine.quotas == [
        *[(400_000, 10_000), (400_000, 20_000)],
        *[(400_000, 50_000), (400_000, 100_000)],
        *[(100_000, 50_000), (100_000, UNLIMITED)],
    ]


def _slow(made: NodeConfigs) -> NodeConfigs:
    return replace(made, scenario=configs(text=SLOW).scenario)


def test_the_kernel_gets_real_times_and_the_part_emulated_ones() -> None:
    plain, slow = configs(HELD), configs(HELD, text=SLOW)
    far, slower = plain.device(FAR, ["server"]), slow.device(FAR, ["server"])
    assert slower.part == far.part  # its holds, heartbeats and time-outs
    assert (far.dilation, slower.dilation, slower.clock.dilation) == (1.0, 4.0, 4.0)
    beyond = [dilated(plain.scenario.server.link, 4).down]
    assert slower.network.shape == access.shape(dilated(FAR.link, 4), HELD, beyond=beyond)
    assert slow.server().part == plain.server().part
    assert slow.server().dilation == slow.evaluator(["server"]).dilation == 4.0


def test_netem_delays_by_real_times() -> None:
    network = configs(DELAYED, text=SLOW).device(FAR, ["server"]).network
    text = "\n".join(map(str, network.shape))
    assert "delay 100000us 12000us" in text and "rate 250000bit" in text


def test_a_fault_changes_a_dilated_link() -> None:
    text = RESHAPED.replace("faults: [{kind: partition, nodes: [far], at: 10s, lasts: 5s}]\n", "")
    made = configs(DELAYED, text=text)
    (far,) = [device for device in made.scenario.nodes if device.name == "far"]
    link = AccessLink(made.device(far, ["server"]).network)
    words = "\n".join(map(str, link.reshape({"delay": 0.1})))
    assert "delay 500000us 12000us" in words  # (25 ms + 100 ms) * 4
    held = AccessLink(configs(HELD, text=text).device(far, ["server"]).network)
    held.reshape({"delay": 0.1})
    delay = held.received_delay()
    assert delay is not None and delay.delay == pytest.approx(0.125)  # the part's clock is slow


@pytest.mark.parametrize("kernel_has_it", [True, False])
def test_a_kernel_without_the_parameter_starts_containers_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel_has_it: bool
) -> None:
    file = tmp_path / "tcp_tso_rtt_log"
    if kernel_has_it:
        file.write_text("9\n")
    monkeypatch.setattr(kernel, "PARAMETERS", tmp_path)
    folder = SimpleNamespace(work=tmp_path, path=tmp_path, server=tmp_path)
    world = Prepared(SCENARIO, folder, configs(), "image", tmp_path)  # type: ignore[arg-type]
    near, far = (world.container(name, "net", {"emulate.run": "r"}) for name in ("near", "far"))
    assert near.full_packets == kernel_has_it and not far.full_packets
