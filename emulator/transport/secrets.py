"""Secrets for a run: a secret for each node, and the server's allow-list of all nodes.

A node proves the node's name with a token (ZeroMQ's PLAIN), sufficient on the private network of a
host. With `server.encrypt: true` a node uses a key pair (CURVE), which also encrypts every message.
"""

import secrets
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import structs


class Token(msgspec.Struct, frozen=True, tag="plain"):
    """A node's name, and a secret that only the node and the server know."""

    name: str
    token: str


class KeyPair(msgspec.Struct, frozen=True, tag="curve"):
    """A node's key pair and the server's public key, each 40 characters of Z85."""

    public: str
    private: str
    server: str


Secret = Token | KeyPair


class Guests(msgspec.Struct, frozen=True, tag="plain"):
    """The server's allow-list for PLAIN: from name to token."""

    tokens: dict[str, str]


class Keys(msgspec.Struct, frozen=True, tag="curve"):
    """The server's allow-list for CURVE: its own private key, and from public key to name."""

    private: str
    names: dict[str, str]
    relays: dict[str, list[str]] = {}
    """The nodes that each relay may speak for, by the relay's name, which is in `names`, too."""


AllowList = Guests | Keys


pack_keys = msgspec.json.Encoder().encode
"""Turns the allow-list of an agent into bytes, for a secret of the swarm."""
read_keys = msgspec.json.Decoder(Keys).decode
"""Turns the bytes into the allow-list; raises a msgspec.MsgspecError if they are none."""


def issue(names: Iterable[str], *, encrypt: bool) -> tuple[AllowList, dict[str, Secret]]:
    """Make a secret for each of `names`; return the server's allow-list and the secrets by name."""
    if not encrypt:
        tokens = {name: secrets.token_urlsafe(32) for name in names}
        return Guests(tokens), {name: Token(name, token) for name, token in tokens.items()}
    server_public, server_private = _pair()
    pairs = {name: _pair() for name in names}
    by_name: dict[str, Secret] = {
        name: KeyPair(public, private, server_public) for name, (public, private) in pairs.items()
    }
    return Keys(server_private, {public: name for name, (public, _) in pairs.items()}), by_name


def issue_relayed(
    names: Iterable[str], behind: Mapping[str, list[str]]
) -> tuple[Keys, dict[str, Secret], dict[str, Keys]]:
    """Make a key pair for each of `names`; those `behind` a relay prove theirs to the relay, and
    the relay its own to the server.

    Returns the server's allow-list, the secrets by name, the relays' too, and the allow-list of
    each relay.
    """
    relayed = {name for own in behind.values() for name in own}
    guests, secrets = issue([*(n for n in names if n not in relayed), *behind], encrypt=True)
    lists: dict[str, Keys] = {}
    for relay, own in behind.items():
        lists[relay], known = issue(own, encrypt=True)  # type: ignore[assignment]
        secrets |= known
    assert isinstance(guests, Keys)
    return structs.replace(guests, relays=dict(behind)), secrets, lists


def _pair() -> tuple[str, str]:
    import zmq  # not at the top: a supervisor reads secrets without zmq's memory

    public, private = zmq.curve_keypair()
    return public.decode(), private.decode()
