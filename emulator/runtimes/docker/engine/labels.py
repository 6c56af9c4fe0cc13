"""The labels of all containers and networks of a run. Nothing without them is ever touched."""

RUN = "emulate.run"
SCENARIO = "emulate.scenario"
ROLE = "emulate.role"
DEVICE = "emulate.device"
FOLDER = "emulate.folder"
LOCK = "emulate.lock"
"""Path of a file that the conductor locks for as long as it lives."""
LINK = "emulate.link"
"""Name of the foreign container whose link a sidecar and a box make; they have no conductor."""


STARTED = "emulate.started"
"""Time at which the foreign container of a link was started: a later start has lost the link."""


def labels(
    run: str, scenario: str, folder: str, lock: str, role: str, device: str = ""
) -> dict[str, str]:
    """Return the labels of a container or network of `run`; `device` is empty but for devices."""
    marks = {RUN: run, SCENARIO: scenario, FOLDER: folder, LOCK: lock, ROLE: role}
    return {**marks, DEVICE: device} if device else marks
