"""Every schedule, with other settings too."""

from emulator.schedules import AnySchedule, DynaComm, IBatch, LayerByLayer, Sequential

TABLE: list[AnySchedule] = [
    Sequential(),
    LayerByLayer(),
    IBatch(),
    DynaComm(),
    DynaComm(method="paper"),
]
