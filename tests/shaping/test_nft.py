"""Loss and cuts as nftables rules, as golden text."""

from dataclasses import replace

from emulator.shaping import access, nft, tc
from emulator.shaping.backend import Backend
from emulator.shaping.command import Command
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side

ADSL = Link(
    up=Side(Rate(1e6), Seconds(0.025), Seconds(0.003), Fraction(0.001)),
    down=Side(Rate(8e6), Seconds(0.025)),
)
IN_KERNEL = Backend(rate="tbf", delay="netem", loss="netem", cut="nftables")
WITHOUT_NETEM = Backend(rate="tbf", delay="receiver", loss="nftables", cut="nftables")


def _text(commands: list[Command]) -> str:
    return "".join(f"{command}\n{command.text}" for command in commands)


def test_loss_in_nft_words() -> None:
    link = Link(up=Side(loss=Fraction(0.015)), down=Side(loss=Fraction(0.1)))
    (command,) = nft.lose(link, "eth0")
    assert command.words == ("nft", "-f", "-")
    assert command.text == (
        "add table inet emulate-loss\n"
        "delete table inet emulate-loss\n"
        "table inet emulate-loss {\n"
        "  chain input {\n"
        "    type filter hook input priority 0; policy accept;\n"
        '    iifname "eth0" numgen random mod 1000000 < 100000 drop\n'
        "  }\n"
        "  chain output {\n"
        "    type filter hook output priority 0; policy accept;\n"
        '    oifname "eth0" numgen random mod 1000000 < 15000 meta priority set 0x504e0002\n'
        "  }\n"
        "}\n"
    )
    assert nft.lose(Link(up=Side(Rate(1e6))), "eth0") == []


def test_a_cut_in_nft_words() -> None:
    (command,) = access.sever(ADSL, IN_KERNEL)
    assert command.text == (
        "add table inet emulate-cut\n"
        "delete table inet emulate-cut\n"
        "table inet emulate-cut {\n"
        "  chain input {\n"
        "    type filter hook input priority 0; policy accept;\n"
        '    iifname != "lo" drop\n'
        "  }\n"
        "}\n"
        "add table netdev emulate-cut\n"
        "delete table netdev emulate-cut\n"
        "table netdev emulate-cut {\n"
        "  chain egress {\n"
        '    type filter hook egress device "eth0" priority 0; policy accept;\n'
        '    meta protocol != arp fwd to "lo"\n'
        "  }\n"
        "}\n"
    )
    (command,) = access.mend(ADSL, IN_KERNEL)
    assert command.text == (
        "add table inet emulate-cut\ndelete table inet emulate-cut\n"
        "add table netdev emulate-cut\ndelete table netdev emulate-cut\n"
    )


def test_a_cut_by_drops_in_nft_words() -> None:
    backend = replace(IN_KERNEL, cut="drop")
    (command,) = access.sever(ADSL, backend)
    assert command.text == (
        "add table inet emulate-cut\n"
        "delete table inet emulate-cut\n"
        "table inet emulate-cut {\n"
        "  chain input {\n"
        "    type filter hook input priority 0; policy accept;\n"
        '    iifname != "lo" drop\n'
        "  }\n"
        "  chain output {\n"
        "    type filter hook output priority 0; policy accept;\n"
        '    oifname != "lo" drop\n'
        "  }\n"
        "}\n"
    )
    (command,) = access.mend(ADSL, backend)
    assert command.text == "add table inet emulate-cut\ndelete table inet emulate-cut\n"


def test_a_cut_without_nft_loses_all_and_is_mended_by_shaping_anew() -> None:
    backend = replace(IN_KERNEL, cut="netem")
    severed = _text(access.sever(ADSL, backend))
    assert severed.startswith(_text(access.clear()))
    assert severed.count("loss 100.000000%") == 2
    assert access.mend(ADSL, backend) == access.clear() + access.shape(ADSL, backend)


def test_loss_is_picked_by_whom_the_backend_names() -> None:
    assert access.shape(ADSL, IN_KERNEL) == tc.shape(ADSL, IN_KERNEL)
    lose = nft.lose(ADSL, "eth0")
    assert access.shape(ADSL, WITHOUT_NETEM) == tc.shape(ADSL, WITHOUT_NETEM) + lose
