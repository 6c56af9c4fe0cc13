"""Warnings of `emulate check`: faults that never happen in a run, and faults without an effect."""

from ..scenario.demand import Shortfall
from ..scenario.idle_faults import fault_entries
from ..scenario.model import Scenario
from ..scenario.reading.document import place
from ..units import Seconds
from ..world.faults import Scheduled
from ..world.faults.availability import Availability
from ..world.faults.churn import Churn
from ..world.faults.corrupt import Corrupt
from ..world.faults.energy import Energy
from ..world.faults.occurrences import Once, Repeated
from ..world.laws import Fixed, Law, Uniform


def faults_in_vain(scenario: Scenario) -> list[Shortfall]:
    """Return a warning for each fault of `scenario` that can never happen or changes nothing."""
    return [
        Shortfall("warning", f"{place(address)}: {reason}")
        for address, fault, _ in fault_entries(scenario)
        if (reason := _why(fault, scenario.stop.time))
    ]


def _why(fault: Scheduled, end: Seconds | None) -> str:
    """Return the reason for which `fault` is in vain in a run of `end` seconds, or no text."""
    if end is not None and (begin := _earliest(fault)) >= end:
        return f"begins at {Seconds(begin)} or later, and the run ends at stop.time, {end}"
    match fault:
        case _ if fault.per_iteration is not None and not fault.per_iteration:
            return "never happens: per_iteration is 0%"
        case _ if fault.lasts == Fixed(Seconds(0)):
            return "ends as it begins: lasts is 0s"
        case Corrupt(messages=0):
            return "flips no bits: messages is 0%"
        case Churn(off=off) if off == Fixed(Seconds(0)):
            return "the device is back as it goes away: off is 0s"
        case Energy() if not (fault.idle or fault.core or fault.sent or fault.received):
            return "draws nothing from the battery: give idle, core, sent or received"
        case Availability(start=Seconds() as start, trace=traces) if start > _longest(traces):
            return (
                f"start is {start}, and no trace is longer than {Seconds(_longest(traces))}: the "
                "traces begin anew until then"
            )
    return ""


def _earliest(fault: Scheduled) -> float:
    """Return the earliest second at which `fault` may begin, as far as its keys tell."""
    match fault.occurrences:
        case Once(at=at):
            return _least(at)
        case Repeated(every=every, window=(begin, _)):
            return begin + _least(every)
    return 0.0


def _least(law: Law) -> float:
    """Return a bound below which `law` draws nothing."""
    match law:
        case Fixed(fixed):
            return float(fixed)
        case Uniform((least, _)):
            return float(least)
    return 0.0


def _longest(traces: tuple[str, ...]) -> float:
    """Return the seconds of the longest of `traces`, whose last steps are their ends."""
    return max(float(text.rpartition(" ")[2]) for text in traces)
