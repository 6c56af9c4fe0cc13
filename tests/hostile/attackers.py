"""The attackers' process, with a number of messages per second.

python -m tests.hostile.attackers FILE, where FILE holds an `Attack` as JSON. A line on standard
input begins an attack, the next one ends it; an answer on standard output says how many messages
have been sent so far. The end of the input ends the process, with its counts as JSON.
"""

import json
import select
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from emulator.learning import models
from emulator.transport.secrets import Secret, Token

from .insider import Insider
from .messages import HostileMessages
from .mute import Mute
from .outsider import Outsider
from .saboteur import Saboteur


class Attack(msgspec.Struct):
    """An attack on the server at `address`."""

    address: str
    secrets: dict[str, Secret]
    """By name, the secrets of hostile devices."""
    victim: str
    """An honest device, in whose name attackers speak."""
    model: str
    largest: int
    """Bytes of the largest frame that the server takes."""
    pace: float
    """Hostile messages per second."""
    outsiders: int
    seed: int


class Attackers:
    """Hostile devices, and peers without a secret; each has an address of its own."""

    def __init__(self, attack: Attack) -> None:
        names = list(attack.secrets)
        layout = models.find(attack.model).layout
        sources = (f"127.0.1.{number}" for number in range(1, 255))

        def messages(name: str) -> HostileMessages:
            return HostileMessages(name, attack.victim, layout, attack.largest, attack.seed)

        self._pace = attack.pace
        # each device must say hello before the run begins
        silent = names.pop()
        self.mutes = [Mute(attack.address, next(sources), attack.secrets[silent], silent)]
        self.insiders = [
            Insider(attack.address, next(sources), attack.secrets[name], messages(name), name)
            for name in names
        ]
        for insider in self.insiders:
            insider.join()
        self.saboteurs: list[Saboteur] = []
        if isinstance(secret := attack.secrets[names[-1]], Token):
            source, last = next(sources), self.insiders.pop()
            last.close()  # the saboteur speaks for the device from here on
            self.saboteurs.append(Saboteur(attack.address, source, secret, messages(names[-1])))
        self.outsiders = [
            Outsider(attack.address, next(sources), messages(f"outsider-{number}"))
            for number in range(attack.outsiders)
        ]
        self.sent = 0

    def play(self) -> None:
        """Attack between two lines of standard input, and again, until the input ends."""
        while sys.stdin.readline():
            self._attack()
            print(self.sent, flush=True)

    def _attack(self) -> None:
        """Attack at the pace until a line has arrived on standard input."""
        began, before = time.monotonic(), self.sent
        while True:
            for attacker in self._all:
                self.sent += attacker.attack()
            for insider in self.insiders:
                insider.settle()
            ahead = (self.sent - before) / self._pace - (time.monotonic() - began)
            if select.select([sys.stdin], [], [], max(0.0, ahead))[0]:
                sys.stdin.readline()
                return

    @property
    def _all(self) -> list[Insider | Saboteur | Outsider | Mute]:
        return [*self.insiders, *self.saboteurs, *self.outsiders, *self.mutes]

    def counts(self) -> dict[str, Any]:
        """Return numbers of messages by attackers and kinds, connections, and answers."""
        wild: list[Any] = [*self.saboteurs, *self.outsiders, *self.mutes]
        return {
            "insiders": _sum(self.insiders),
            "saboteurs": _sum(self.saboteurs),
            "outsiders": _sum(self.outsiders),
            "mutes": _sum(self.mutes),
            "mutes' own": {mute.node: mute.sent.total() for mute in self.mutes},
            "answers": sum(outsider.answers for outsider in self.outsiders),
            "insiders' own": {i.node: i.sent.total() + i.questions for i in self.insiders},
            "repeats": {insider.node: insider.repeats for insider in self.insiders},
            "breaks": sum(insider.breaks for insider in self.insiders),
            "connections": sum(attacker.connections for attacker in wild),
        }

    def close(self) -> None:
        for attacker in self._all:
            attacker.close()


def _sum(attackers: Any) -> Counter[str]:
    return sum((attacker.sent for attacker in attackers), Counter[str]())


def main() -> None:
    attack = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Attack)
    attackers = Attackers(attack)
    print(0, flush=True)
    try:
        attackers.play()
        for outsider in attackers.outsiders:
            outsider.close()  # reads the last answers
        print(json.dumps(attackers.counts()), flush=True)
    finally:
        attackers.close()


if __name__ == "__main__":
    main()
