"""Admission of peers by the allow-list, through ZeroMQ's authentication protocol (ZAP)."""

from typing import Any

import zmq
from zmq.auth.thread import ThreadAuthenticator

from .secrets import AllowList, Guests, Keys

DOMAIN = "emulate"


class Admission:
    """Tells libzmq whether a peer may connect, from a thread that runs until `stop`."""

    def __init__(self, context: "zmq.Context[Any]", guests: AllowList) -> None:
        self._guests = guests
        self._guard = ThreadAuthenticator(context)
        self._guard.start()
        match guests:
            case Guests(tokens):
                self.names = {name: name for name in tokens}
                self._open = dict(tokens)
                self._guard.configure_plain(domain=DOMAIN, passwords=self._open)
            case Keys(_, names):
                self.names = dict(names)
                self._open = dict(names)
                self._guard.configure_curve_callback(domain=DOMAIN, credentials_provider=self)

    def require(self, socket: "zmq.Socket[Any]") -> None:
        """Make `socket` authenticate every peer. Call it before the socket binds."""
        socket.setsockopt_string(zmq.ZAP_DOMAIN, DOMAIN)
        match self._guests:
            case Guests():
                socket.setsockopt(zmq.PLAIN_SERVER, 1)
            case Keys(private, _):
                socket.setsockopt(zmq.CURVE_SERVER, 1)
                socket.setsockopt(zmq.CURVE_SECRETKEY, private.encode())

    def sender(self, frame: zmq.Frame) -> str:
        """Return the name of the node that sent `frame`; empty if the node is unknown.

        The name comes from the metadata that ZeroMQ adds after authentication. A peer cannot forge
        the metadata.
        """
        try:
            return self.names.get(str(frame.get("User-Id")), "")
        except zmq.ZMQError:
            return ""

    def expel(self, node: str) -> None:
        """Refuse new connections of `node`; open connections stay."""
        for user in [user for user, name in self.names.items() if name == node]:
            self._open.pop(user, None)

    def callback(self, domain: str, key: bytes) -> bool:
        """Return whether the owner of the public `key` (Z85) may connect. Called by pyzmq."""
        return key.decode() in self._open

    def stop(self) -> None:
        self._guard.stop()
