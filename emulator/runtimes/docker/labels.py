"""What marks everything that a run creates. Nothing without the mark is ever touched."""

RUN = "emulate.run"
SCENARIO = "emulate.scenario"
ROLE = "emulate.role"
DEVICE = "emulate.device"
FOLDER = "emulate.folder"


def labels(run: str, scenario: str, folder: str, role: str, device: str = "") -> dict[str, str]:
    marks = {RUN: run, SCENARIO: scenario, FOLDER: folder, ROLE: role}
    return {**marks, DEVICE: device} if device else marks
