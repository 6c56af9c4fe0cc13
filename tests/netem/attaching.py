"""Attachment to the box as a program in a lab's node.

The program attaches the network and ends; the link stays. With `--changing` the program then reads
links from standard input, one line of JSON each, and puts each in the place of the former link. It
answers the attachment and each line with `{"ok": true}`, and detaches the network at the end of the
input.
"""

import argparse
import json
import socket
import sys

from emulator.errors import DeploymentError
from emulator.shaping.backend import Backend
from emulator.shaping.box.attachment import attach, change, connect, detach
from emulator.world.links import reshaping
from emulator.world.links.link import Link


def main() -> int:
    """Attach the network of this process to the box; return the exit status."""
    wanted = _arguments()
    try:
        link = reshaping.read(json.loads(wanted.link))
        backend = Backend.read(json.loads(wanted.backend))
        with connect(wanted.socket) as box:
            own = attach(box, wanted.name, link, backend, wanted.device, changing=wanted.changing)
            if wanted.changing:
                _follow(box, wanted.name, link, backend)
                detach(box, wanted.name, own, wanted.device)
    except (DeploymentError, ValueError, KeyError, TypeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m tests.netem.attaching")
    parser.add_argument("--socket", required=True, help="socket of the box")
    parser.add_argument("--name", required=True, help="name of the link in the box's reports")
    parser.add_argument("--link", required=True, help="link as JSON in base units")
    parser.add_argument("--backend", required=True, help="mechanisms as JSON")
    parser.add_argument("--device", default="eth0", help="network device to be shaped")
    parser.add_argument(
        "--changing", action="store_true", help="read further links from standard input"
    )
    return parser.parse_args()


def _follow(box: socket.socket, name: str, link: Link, backend: Backend) -> None:
    """Change `link` to each link of standard input. Raises DeploymentError."""
    _confirm()
    for line in sys.stdin:
        new = reshaping.read(json.loads(line))
        change(box, name, link, new, backend)
        link = new
        _confirm()


def _confirm() -> None:
    print(json.dumps({"ok": True}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
