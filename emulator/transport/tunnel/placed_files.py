"""Files that travel through a tunnel in batches, each the payload of a question."""

from typing import TypeAlias

import msgspec

Placed: TypeAlias = list[tuple[str, int, int, int, bytes | None, int]]
"""Files: relative path, mode, user, group, content, and the place of the content in the file, 0 for
its first piece; the content is None for a folder. Folders come first."""

BATCH = 4 << 20
"""Bytes from which a batch takes no further file, and of the largest piece of a file: an agent has
little memory, and says nothing of its clock while it writes one."""

pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder(Placed).decode
