"""The process that plays points of a sweep: `python -m emulator.sweeps SCRATCH…`."""

from .point_process import main

main()
