"""The laws of codecs: shipped codecs keep all laws, and each broken codec is found."""

from pathlib import Path

import pytest

from emulator import codecs
from emulator.checks.laws.codec_trials import LAWS, examine
from emulator.codecs import Codec
from tests.fakes.codecs.codec_table import ROWS
from tests.fakes.codecs.stateless_codecs import CODECS
from tests.layers import ROOT

HALF = (ROOT / "scenarios" / "own" / "half.py").read_text()


def _shipped() -> list[object]:
    found = {row.id: row.values[0] for row in CODECS} | {n: r.codec for n, r in ROWS.items()}
    quick = {next(name for name in found if name.startswith(kind)) for kind in ("topk", "dgc")}
    return [
        pytest.param(codec, id=name, marks=[] if name in quick else [pytest.mark.slow])
        for name, codec in found.items()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("codec", _shipped())
def test_shipped_codecs_keep_all_laws(codec: Codec) -> None:
    assert [verdict for verdict in examine(codec) if verdict.problem] == []


COUNTS_ONE_KIND = """count(self, frames: Frames) -> ByteCount:
        if isinstance(frames[0], memoryview):
            return ByteCount(values=0, indices=len(frames[0]), headers=0)
"""
# law: what is changed in half.py, and the words and the example of the message
BROKEN = {
    "charged": (
        ("values=len(values)", "values=len(values) + 1"),
        "count says (3, 0, 0), and the frames have 2 bytes",
        "gradient [0] of a model with dense [1]",
    ),
    "decoded": (
        (".astype(np.float32)\n", ".astype(np.float64)\n"),
        "values that are not one vector of float32",
        "gradient [0] of a model with dense [1]",
    ),
    "repeatable": (
        (
            "largest = np.finfo(_HALF).max",
            "largest = 9; gradient = gradient + self.noise()",
        ),
        "the frames are not the same a second time",
        "of a model with dense [1]",
    ),
    "finite": (
        ("frame_checks.check_finite(", "frame_checks.check_shape("),
        "encode takes a gradient with nan in entry 0",
        "gradient [0] of a model with dense [1]",
    ),
    "fitting": (
        (
            "frame_checks.check_finite(gradient, layout)",
            "if not np.isfinite(gradient).all(): "
            "raise frame_checks.not_finite_error(gradient, layout)",
        ),
        "encode takes float32[2] for 1 entries",
        "gradient [0] of a model with dense [1]",
    ),
    "hostile": (
        ("if len(frame) != layout.size * _HALF.itemsize", "if False"),
        "decode takes the frames [0000000000000000…] in place of [0000]",
        "gradient [0] of a model with dense [1]",
    ),
    "carried": (
        ('    """The whole gradient', '    odd: object = object()\n    """The whole gradient'),
        "a field is none of these",
        "gradient [0] of a model with dense [1]",
    ),
    "remembered": (
        ("StatelessEncoder(self, context.layout)", "Own(self, context.layout)"),
        "Own has no methods memory and recall",
        "gradient [0] of a model with dense [1]",
    ),
    "segmented": (
        ("        largest = ", "        assert len(layout.variables) != 1\n        largest = "),
        "raises AssertionError",
        "of a model with",
    ),
    "feedback": (
        ("return Gradient(values)", "return Gradient(values / np.float32(1 + self.turns()))"),
        "were sent as",
        "of a model with dense",
    ),
}
# further ways to break a law, and the words of the message
ALSO_BROKEN = {
    "charged by kind": (
        ("count(self, frames: Frames) -> ByteCount:\n", COUNTS_ONE_KIND),
        "count of frames from a socket differs from that of the sent ones",
    ),
    "charged beyond the limit": (
        (".tobytes(),)", ".tobytes() + bytes(70_000),)"),
        "bytes: a server refuses it",
    ),
    "repeatable in place": (
        ("gradient.clip(-largest, largest)", "gradient.clip(-1e-9, 1e-9, out=gradient)"),
        "encode changes the gradient that it is given",
    ),
    "hostile by another error": (
        ("raise WireError(f", "raise KeyError(f"),
        "a server would die of them; raise WireError",
    ),
    "remembered too little": (
        ("StatelessEncoder(self, context.layout)", "Short(self, context.layout)"),
        "memory returns a vector without an entry for each parameter",
    ),
    "remembered badly": (
        ("StatelessEncoder(self, context.layout)", "Forgets(self, context.layout)"),
        "after memory and recall, the frames differ from those without a crash",
    ),
    "remembered as one": (
        ("StatelessEncoder(self, context.layout)", "Whole(self, context.layout)"),
        "memory and recall of each layer do not make the memory of the whole model",
    ),
    "text in place of bytes": (
        (".tobytes(),)", ".tobytes().hex(),)"),
        "encode returns a str: frames are bytes",
    ),
}
OWN = """
    TURNS = []
    def turns(self): self.TURNS.append(1); return len(self.TURNS) % 2
    def noise(self): return np.float32(random.random())

class Own:
    def __init__(self, codec, layout): self.codec, self.layout = codec, layout
    def encode(self, gradient): return self.codec.encode(gradient, self.layout)

import random
from emulator.codecs import Memory

class Short(Own):
    # its memory has an entry too few
    def __init__(self, codec, layout):
        super().__init__(codec, layout)
        self.kept = np.zeros(layout.size, np.float32)
    def encode(self, gradient):
        frames = super().encode(gradient + self.kept)
        self.kept = self.kept + gradient
        return frames
    def memory(self, part): return Memory((self.kept[part][:-1],), 1)
    def recall(self, part, memory): pass

class Forgets(Short):
    # it recalls the memories of layers alone
    def memory(self, part): return Memory((self.kept[part],), 1)
    def recall(self, part, memory):
        if part != slice(None): self.kept[part] = memory.vectors[0]

class Whole(Short):
    # it recalls the memory of the whole model alone
    def memory(self, part): return Memory((self.kept[part],), 1)
    def recall(self, part, memory):
        if part == slice(None): self.kept = memory.vectors[0]
"""


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_codec_is_told_what_it_breaks(name: str, tmp_path: Path) -> None:
    (old, new), says, example = BROKEN[name]
    assert old in HALF
    turns = (
        "    TURNS = []\n    def turns(self): self.TURNS.append(1); return len(self.TURNS) % 2\n"
    )
    (tmp_path / "own.py").write_text(HALF.replace(old, new) + turns + OWN)
    codec = codecs.make({"kind": f"{tmp_path}/own.py:Half"})
    broken = {verdict.name: verdict for verdict in examine(codec) if verdict.problem}
    assert name in broken
    assert says in broken[name].problem
    assert example in broken[name].example


@pytest.mark.parametrize("name", ALSO_BROKEN)
def test_what_else_breaks_a_law_is_told(name: str, tmp_path: Path) -> None:
    (old, new), says = ALSO_BROKEN[name]
    assert old in HALF
    (tmp_path / "own.py").write_text(HALF.replace(old, new) + OWN)
    codec = codecs.make({"kind": f"{tmp_path}/own.py:Half"})
    assert [v.name for v in examine(codec) if says in v.problem], [
        v.problem for v in examine(codec)
    ]


def test_the_shipped_file_keeps_all_laws() -> None:
    codec = codecs.make({"kind": f"{ROOT}/scenarios/own/half.py:Half"})
    assert {verdict.name: verdict.problem for verdict in examine(codec)} == dict.fromkeys(LAWS, "")
    assert BROKEN.keys() == LAWS.keys()


@pytest.mark.parametrize("wrong", ["-values", "values[::-1].copy()"])
def test_a_codec_that_decodes_uphill_is_found(wrong: str, tmp_path: Path) -> None:
    code = HALF.replace("return Gradient(values)", f"return Gradient({wrong})")
    (tmp_path / "own.py").write_text(code)
    verdicts = examine(codecs.make({"kind": f"{tmp_path}/own.py:Half"}))
    assert [v.name for v in verdicts if "against the gradient" in v.problem] == ["decoded"]
