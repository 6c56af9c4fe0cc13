"""The interfaces of a container on several networks, joined into one bridge."""

from pathlib import Path

from emulator.node import interface
from emulator.shaping.box.rewiring import Addressing
from emulator.shaping.joined_networks import commands


def _addressing(number: int, *, version6: bool = True) -> Addressing:
    words = f"10.9.{number}.2/24 broadcast 10.9.{number}.255 scope global"
    return Addressing(f"02:42:0a:09:0{number}:02", 1500, (words,), (), (), version6=version6)


def test_two_interfaces_become_ports_of_a_bridge_with_both_addresses() -> None:
    assert list(map(str, commands([_addressing(1), _addressing(2)]))) == [
        "ip link set dev eth0 down",
        "ip address flush dev eth0",
        "ip link set dev eth0 name net0",
        "ip link set dev eth1 down",
        "ip address flush dev eth1",
        "ip link set dev eth1 name net1",
        "ip link add name eth0 type bridge forward_delay 0 stp_state 0 mcast_snooping 0",
        "ip link set dev net0 master eth0",
        "ip link set dev net0 type bridge_slave isolated on",
        "ip link set dev net0 up",
        "ip link set dev net1 master eth0",
        "ip link set dev net1 type bridge_slave isolated on",
        "ip link set dev net1 up",
        "ip link set dev eth0 address 02:42:0a:09:01:02 mtu 1500",
        "ip address add 10.9.1.2/24 broadcast 10.9.1.255 scope global dev eth0",
        "ip link set dev eth0 up",
        "ip address add 10.9.2.2/24 broadcast 10.9.2.255 scope global dev eth0",
    ]


def test_without_addresses_of_version_6_the_bridge_gives_itself_none() -> None:
    with_them = list(map(str, commands([_addressing(1), _addressing(2)])))
    without = list(map(str, commands([_addressing(1, version6=False), _addressing(2)])))
    (silent,) = [line for line in without if line not in with_them]
    assert silent == "ip link set dev eth0 addrgenmode none"
    assert without.index(silent) < without.index("ip link set dev eth0 up")


def _counter(folder: Path, device: str, received: int) -> None:
    there = folder / device / "statistics"
    there.mkdir(parents=True)
    for name in ("rx_bytes", "tx_bytes"):
        (there / name).write_text(str(received))


def test_the_bytes_of_joined_networks_are_those_of_all_ports(tmp_path: Path, monkeypatch) -> None:
    for device, received in (("eth0", 70), ("net0", 50), ("net1", 30)):
        _counter(tmp_path, device, received)
    monkeypatch.setattr(interface, "INTERFACE", tmp_path / "eth0" / "statistics")
    assert interface.interface_bytes() == (80, 80)


def test_behind_the_box_all_frames_pass_one_device(tmp_path: Path, monkeypatch) -> None:
    for device, received in (("eth0", 70), ("net0", 50), ("net1", 30), ("wire", 90)):
        _counter(tmp_path, device, received)
    monkeypatch.setattr(interface, "INTERFACE", tmp_path / "eth0" / "statistics")
    assert interface.interface_bytes()[0] == 70
