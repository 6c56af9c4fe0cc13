"""Study `reliability`: accuracy over the crash rate and the mean time between failures.

It corresponds to the reliability experiment of Hardy et al. (2017).
"""

from collections.abc import Iterator

from .entries import Entry, Study

CRASH_RATES = (0, 10, 20, 30, 40, 50)
"""Shares of the devices that crash for good, in per cent."""
UP_TIMES = (12.5, 25, 50, 100)
"""Mean times between failures, in seconds; without crashes a run takes 100 s."""
_LASTS = "{exponential: 10s}"
"""Law of the time that a device stays down when it comes back."""
_RATES = {
    # best learning rate without crashes, and all the rates that were tried there
    "ASGD": ("asgd", "0.02", ("0.01", "0.02", "0.03")),
    "AdaComp": ("adacomp", "0.1", ("0.05", "0.1", "0.2")),
}
_ONLY_WAITS = "faults=[{kind: straggler, nodes: all, at: 0s, delay: {exponential: 1s}}]"


def _worlds() -> Iterator[tuple[str, str]]:
    """Yield names of worlds, each with the override for the world's faults."""
    for share in CRASH_RATES:
        crashes = f"faults[1].share={share}%" if share else _ONLY_WAITS
        yield f"crash rate {share} %", crashes
    for up in UP_TIMES:
        crash = f"{{kind: crash, nodes: all, every: {{exponential: {up}s}}, lasts: {_LASTS}}}"
        yield f"MTBF {up} s", f"faults[1]={crash}"


RELIABILITY = Study(
    name="reliability",
    about="AdaComp against ASGD on 20 devices that crash",
    scenario="reliability.yaml",
    entries=tuple(
        Entry(
            world,
            name,
            (f"training.algorithm={algorithm}", crashes),
            # rates are tuned without crashes: who plans a training knows of no crash to come
            rates if crashes == _ONLY_WAITS else (best,),
        )
        for world, crashes in _worlds()
        for name, (algorithm, best, rates) in _RATES.items()
    ),
)
