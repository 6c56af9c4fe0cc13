"""Who is let in: the allow-list, as ZeroMQ's authentication protocol (ZAP) asks for it."""

from typing import Any

import zmq
from zmq.auth.thread import ThreadAuthenticator

from .secrets import AllowList, Guests, Keys

DOMAIN = "emulate"


class Admission:
    """Answers libzmq, in a thread, whether a peer may connect; until `stop`."""

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
        """Have `socket` ask here about each peer, before it binds."""
        socket.setsockopt_string(zmq.ZAP_DOMAIN, DOMAIN)
        match self._guests:
            case Guests():
                socket.setsockopt(zmq.PLAIN_SERVER, 1)
            case Keys(private, _):
                socket.setsockopt(zmq.CURVE_SERVER, 1)
                socket.setsockopt(zmq.CURVE_SECRETKEY, private.encode())

    def sender(self, frame: zmq.Frame) -> str:
        """Return the node that sent `frame`, by metadata that ZeroMQ adds, not by a peer's word."""
        try:
            return self.names.get(str(frame.get("User-Id")), "")
        except zmq.ZMQError:
            return ""

    def expel(self, node: str) -> None:
        """Let `node` in no more; connections that it has are not touched."""
        for user in [user for user, name in self.names.items() if name == node]:
            self._open.pop(user, None)

    def callback(self, domain: str, key: bytes) -> bool:
        """Return whether the owner of the public `key`, in Z85, may enter; pyzmq calls it."""
        return key.decode() in self._open

    def stop(self) -> None:
        self._guard.stop()
