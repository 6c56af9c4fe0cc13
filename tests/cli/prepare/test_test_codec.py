"""`emulate test-codec`: each law with its result, and the exit code."""

from pathlib import Path

import pytest

from emulator.checks.laws.codec_trials import LAWS
from tests.fakes.typed_commands import Emulate
from tests.layers import ROOT

HALF = ROOT / "scenarios" / "own" / "half.py"


def test_a_sound_codec_keeps_each_law(emulate: Emulate) -> None:
    said = emulate("test-codec", f"{HALF}:Half")
    assert said.code == 0
    assert said.out.count("ok   ") == len(LAWS)
    assert said.out.endswith(f"half.py:Half keeps all {len(LAWS)} laws\n")


@pytest.mark.slow
def test_a_broken_codec_is_shown_with_an_example(emulate: Emulate, tmp_path: Path) -> None:
    code = HALF.read_text().replace("values=len(values)", "values=0")
    (tmp_path / "own.py").write_text(code)
    said = emulate("test-codec", f"{tmp_path}/own.py:Half")
    assert said.code == 1
    assert (
        "FAIL charged     every byte that it sends is counted, by content\n"
        "     count says (0, 0, 0), and the frames have 2 bytes\n"
        "     with the gradient [0] of a model with dense [1]\n"
    ) in said.out
    assert said.out.endswith(f"own.py:Half breaks 1 of {len(LAWS)} laws: charged\n")
    verdicts = emulate("test-codec", f"{tmp_path}/own.py:Half", "--json").json
    assert [each["name"] for each in verdicts if each["problem"]] == ["charged"]


@pytest.mark.parametrize(
    "typed, says",
    [
        (["topkk"], "'topkk' (did you mean 'topk'?) is not dense or"),
        (["topk"], "keep: is missing: a number in %: write --set keep=VALUE\n"),
        (["topk", "--set", "keep"], "--set keep: write FIELD=VALUE"),
        (["topk", "--set", "keep=3"], "keep: 3 has no unit: write it in %"),
        (["topk", "--set", "keep=3%", "--set", "scop=x"], "scop: no such key"),
        (["./gone.py:X"], "/gone.py: cannot be read: No such file"),
    ],
)
def test_wrong_words_are_refused(emulate: Emulate, typed: list[str], says: str) -> None:
    said = emulate("test-codec", *typed)
    assert said.code == 2
    assert says in said.err
