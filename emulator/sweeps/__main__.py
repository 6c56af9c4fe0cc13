"""The process that plays one point of a sweep: `python -m emulator.sweeps SCRATCH`."""

from .point_process import main

main()
