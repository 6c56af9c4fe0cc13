"""The tuned scenario: a file that runs as it is, with the reasons in its comments."""

from collections.abc import Sequence
from pathlib import Path

from ...runs.results import replacing
from ...scenario import Scenario, dump
from .setting import Setting
from .trial_players import with_setting

MODEL = "model.npz"
"""File beside the tuned scenario: the model that it begins with."""


def write(
    path: Path, scenario: Scenario, setting: Setting, reasons: Sequence[str], *, begins: bool
) -> None:
    """Write `scenario` with `setting` to `path`, and `reasons` as comments above.

    With `begins` the scenario begins with the model in the file `MODEL` beside it.
    """
    tuned = with_setting(scenario, setting)
    if begins:
        training = tuned.training.model_copy(update={"initial": MODEL})
        tuned = tuned.model_copy(update={"training": training})
    comments = "".join(f"# {line}\n" for line in reasons)
    with replacing(path) as sink:
        sink.write(f"{comments}{dump(tuned)}".encode())
