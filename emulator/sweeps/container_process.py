"""Process that plays points in containers: `python -m emulator.sweeps.container_process SCRATCH…`.

The process speaks to the sweep as `point_process` describes. When the sweep ends early, the process
cancels its run, which removes the containers.
"""

import os
import signal
from pathlib import Path

from ..errors import DeploymentError
from ..runs.conductor import RunView
from ..runtimes.docker.play_containers import play
from ..scenario import Scenario
from .point_process import main


def in_containers(scenario: Scenario, scratch: Path, view: RunView) -> Path:
    """Play `scenario` in containers inside the folder `scratch`; return the run folder.

    Raises DeploymentError if the containers, and not the training, failed.
    """
    folder, summary = play(scenario, scratch, view)
    if summary["stop"] == "failed":
        raise DeploymentError(f"the run in containers failed: {summary['detail']}")
    return folder


def cancel() -> None:
    """Ask this process to cancel its run, as `kill` does."""
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(in_containers, cancel)
