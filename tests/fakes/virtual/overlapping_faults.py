"""The small world with faults that overlap, and a server behind a slow link."""

from pathlib import Path
from typing import Any, TypeAlias

from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.virtual_world import SCENARIO, Onlooker

OVERLAPPING = SCENARIO.replace(
    "faults:",
    """faults:
  - {kind: crash, nodes: [adsl], at: 2s, lasts: 500ms}
  - {kind: crash, nodes: [adsl-1], at: 2.2s, lasts: 3s}
  - {kind: partition, nodes: [adsl-2], at: 1.9s, lasts: 2s}""",
)


SERVER = (
    "server={link: {up: {rate: 10mbit, delay: 1ms}, down: {rate: 2mbit, jitter: 1ms, delay: 2ms}}}"
)


Played: TypeAlias = tuple[Path, dict[str, Any], Onlooker]


def happened(folder: Path, what: str) -> list[PlainRecord]:
    return [record for record in read(folder / "run.jsonl") if record["what"] == what]
