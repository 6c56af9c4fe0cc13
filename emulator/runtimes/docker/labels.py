"""What marks everything that a run creates. Nothing without the mark is ever touched."""

RUN = "emulate.run"
SCENARIO = "emulate.scenario"
ROLE = "emulate.role"
DEVICE = "emulate.device"
FOLDER = "emulate.folder"
LOCK = "emulate.lock"
"""The file that the conductor holds for as long as it lives."""


def labels(
    run: str, scenario: str, folder: str, lock: str, role: str, device: str = ""
) -> dict[str, str]:
    marks = {RUN: run, SCENARIO: scenario, FOLDER: folder, LOCK: lock, ROLE: role}
    return {**marks, DEVICE: device} if device else marks
