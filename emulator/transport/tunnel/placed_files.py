"""Files that travel through a tunnel, as the payload of a question."""

from typing import TypeAlias

import msgspec

Placed: TypeAlias = list[tuple[str, int, int, int, bytes | None]]
"""Files: relative path, mode, user, group, and content; None for a folder. Folders come first."""

pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder(Placed).decode
