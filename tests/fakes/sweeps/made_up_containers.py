"""Plays a sweep's point as containers are played: with something to remove when it is cancelled."""

import json
import os
import time
from pathlib import Path

from emulator.runs.cancel import Canceled, canceling
from emulator.runs.conductor import RunView
from emulator.scenario import Scenario
from emulator.sweeps.container_process import cancel
from emulator.sweeps.point_process import main
from tests.fakes.sweeps import made_up_play
from tests.fakes.sweeps.made_up_play import HANGS

FIDELITY = {"kept_up": False, "reasons": ["the host was busy", "packets were late"]}


def container() -> Path:
    """Return the file that stands for the containers of the run in play."""
    return Path(os.environ["PLAYED"]).with_name("container")


def play(scenario: Scenario, scratch: Path, view: RunView) -> Path:
    try:
        with canceling():
            container().write_text(str(os.getpid()))
            if scenario.training.learning_rate == HANGS:
                view.progress("playing")
                time.sleep(60)
    except Canceled:
        time.sleep(0.5)  # as the engine takes its time
        raise SystemExit(130) from None
    finally:
        container().unlink()
    folder = made_up_play.play(scenario, scratch, view)
    summary = json.loads((folder / "summary.json").read_bytes())
    summary |= {"runtime": "docker", "fidelity": FIDELITY}
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


if __name__ == "__main__":
    main(play, cancel)
