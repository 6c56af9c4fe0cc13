"""Commands as one types them, in an empty folder of a machine with neither engine nor data."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Said(NamedTuple):
    """What a command left on the terminal."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Emulate = Callable[..., Said]


SCENARIO = """# Does it say what is wrong?
name: pair
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {updates: 100}
devices:
  - {name: near, count: 3, profile: phone}
  - {name: far, link: {up: {rate: 1mbit}}}
faults:
  - {kind: crash, nodes: [far], at: 60s}
"""


def scenario(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    text = SCENARIO
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "pair.yaml"
    file.write_text(text)
    return file
