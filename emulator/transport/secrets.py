"""Who may speak: secrets made for one run, one for each node.

On the private network of one host a node proves itself with a token (ZeroMQ's PLAIN); with
`server.encrypt: true` with a key pair (CURVE), which also hides and seals what is said. The
server holds the only list of those admitted.
"""

import secrets
from collections.abc import Iterable

import msgspec


class Token(msgspec.Struct, frozen=True, tag="plain"):
    """What a node shows: its name and a secret that only the server knows besides."""

    name: str
    token: str


class KeyPair(msgspec.Struct, frozen=True, tag="curve"):
    """A node's key pair and the server's public key, each 40 characters of Z85."""

    public: str
    private: str
    server: str


Secret = Token | KeyPair


class Guests(msgspec.Struct, frozen=True, tag="plain"):
    """The server's list for PLAIN: name to token."""

    tokens: dict[str, str]


class Keys(msgspec.Struct, frozen=True, tag="curve"):
    """The server's list for CURVE: its own private key, and public key to name."""

    private: str
    names: dict[str, str]


AllowList = Guests | Keys


def issue(names: Iterable[str], *, encrypt: bool) -> tuple[AllowList, dict[str, Secret]]:
    """Fresh secrets for one run: the server's list, and each node's own."""
    if not encrypt:
        tokens = {name: secrets.token_urlsafe(32) for name in names}
        return Guests(tokens), {name: Token(name, token) for name, token in tokens.items()}
    server_public, server_private = _pair()
    pairs = {name: _pair() for name in names}
    held: dict[str, Secret] = {
        name: KeyPair(public, private, server_public) for name, (public, private) in pairs.items()
    }
    return Keys(server_private, {public: name for name, (public, _) in pairs.items()}), held


def _pair() -> tuple[str, str]:
    import zmq  # only who issues secrets needs it, not a supervisor that reads them

    public, private = zmq.curve_keypair()
    return public.decode(), private.decode()
