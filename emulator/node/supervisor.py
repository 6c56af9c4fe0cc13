"""The first process of a container: shapes the link, runs the container's part, plays its faults.

Only the supervisor may touch the network. The part (worker, evaluator or server) is a child process
under a user without any capability. The conductor writes verbs as lines of JSON to the supervisor's
standard input. The supervisor writes reports as lines of JSON to standard output, each with the
host's monotonic clock. When standard input ends, the conductor is gone, and the container ends.
"""

import os
import selectors
import signal
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from ..errors import DeploymentError
from ..machine.kernel import raise_limit
from ..world import verbs
from ..world.battery import BatteryConstants
from ..world.powers import perform
from . import config, interface, orders, reports
from .battery_feed import BatteryFeed
from .config import ENDINGS, NodeConfig
from .control_group import cpu_use
from .fidelity.link_meter import LinkMeter, link_meter
from .interface import GONE, SAMPLING, InterfaceGoneError, interface_bytes
from .orders import (
    BEGINS,
    HOLD,
    AnyOrder,
    Do,
    Forked,
    HoldMessages,
    LetBegin,
    LineReader,
    ProgramDone,
    ProgramEnded,
    ProgramUse,
    QuotaAnswer,
    ReviveProgram,
    StopPart,
    Zero,
)
from .part.part_powers import PartPowers
from .part.part_process import PartProcess
from .part.program_process import ProgramProcess
from .reports import (
    BatteryReport,
    BegunReport,
    DelayReport,
    DrawnReport,
    ExitReport,
    FailedReport,
    ForkReport,
    LinkChangeReport,
    LostReport,
    OverlapReport,
    ReadyReport,
    RecordReport,
    TrafficReport,
    VerbReport,
    say,
)

PART_LOOK, LONGEST_LOOK = 0.2, 1.0
"""Longest time between two looks whether the part has ended, which no event tells: emulated
seconds, as each look takes some of the device's CPU quota, and at most so many real ones."""

PRESS_LOOK = 0.02
"""Real seconds between two looks at a press or release that is under way."""


def main() -> None:
    """Run the supervisor of this container; exit with 1, and the reason, if the network fails."""
    node = config.read()
    raise_limit()  # the part inherits it
    supervisor = Supervisor(node)
    try:
        supervisor.run()
    except DeploymentError as error:
        if isinstance(error, InterfaceGoneError) or not interface.INTERFACE.is_dir():
            supervisor.abandon()
            sys.exit(GONE)  # tc and nft, too, fail for this reason
        say(FailedReport(f"{node.name}: {error}"))
        sys.exit(1)


class Supervisor:
    """Follows the conductor's orders, the part and the clock, and has the verbs done."""

    def __init__(self, node: NodeConfig) -> None:
        self.node, self.powers = node, PartPowers(node)
        self.part, self.clock = self.powers.part, node.clock
        self.program = self.part if isinstance(self.part, ProgramProcess) else None
        """The program of a workload in another container, if this is its sidecar."""
        self._unanswered: list[tuple[int, Callable[[], None]]] = []
        """Reports of verbs that wait for answers of the conductor, with the numbers of these."""
        self._look = min(LONGEST_LOOK, self.clock.real(PART_LOOK))
        self.battery: BatteryFeed | None = None
        """Battery of a device that has one."""
        self.later: list[tuple[float, Do]] = []
        """Ends of faults that the device drew itself: clock time when due, and the order."""
        self.meter: LinkMeter | None = None
        """Measures the link, if the link is shaped."""
        self.revivals = Revivals()
        """Boots of a durable server, or of the evaluator, that died unasked."""
        self._pressed: Do | None = None
        """The order of the press or release that is under way."""
        self.holds: dict[str, Any] = {}
        """Changed delays of the messages that the server receives, by node."""
        self.sent_delay = self.powers.sent_delay()
        """The delay that the server adds to this node's messages, as it was last reported."""

    def run(self) -> None:
        """Shape the link, start the part, and do verbs until the part or the conductor ends."""
        signal.signal(signal.SIGTERM, lambda number, frame: self._close())
        self.powers.shape()
        self.selector = selectors.DefaultSelector()
        self.selector.register(0, selectors.EVENT_READ, self._ordered)
        control, self.part.control = os.pipe()
        self.selector.register(control, selectors.EVENT_READ, self._drawn)
        self.orders, self.draws = LineReader(0), LineReader(control)
        if battery := getattr(self.node.part, "battery", None):
            seconds_of = None if self.program is None else self.program.processor_seconds
            self.battery = BatteryFeed(BatteryConstants.read(battery), seconds_of)
        self.meter = link_meter(self.node, self.powers.box_losses, self.powers.box_queues)
        if self.meter is not None:
            self.meter.listen(self.selector)
        if self.node.forked and isinstance(self.part, PartProcess):
            self.part.fork = lambda *facts: say(ForkReport(*facts))
        self.powers.boot(anew=False)
        say(ReadyReport())
        self._watch()
        self._take_last_records()
        self._sample()
        if self.meter is not None:
            self.meter.report(self.clock.now(), say, last=True)

    def _watch(self) -> None:
        """Handle orders, drawn faults, due ends and samples until the part has come to its end."""
        due = self.clock.now()
        while not self._finished():
            for key, _ in self.selector.select(self._until(due)):
                key.data()
            now = self.clock.now()
            if now >= due:
                self._sample()
                due = now + SAMPLING
            if self.meter is not None:
                self._measure(self.meter, now)
            self._end_due(now)
            self._change_link(now)
            self._revive()
            self.powers.presser.keep()
            self.powers.press_on()
            if self.battery is not None and not self.powers.closing:
                self._drain(self.battery, now)
            if self.powers.parting is not None and now >= self.powers.parting:
                self.powers.end_part()

    def _measure(self, meter: LinkMeter, now: float) -> None:
        """Take and report the measurements of the link that are due at the clock time `now`."""
        if now >= meter.due():
            cut = self.powers.faults.holds("sever")
            meter.tick(now, self.powers.link_in_force, cut=cut)
            meter.report(now, say)

    def _revive(self) -> None:
        """Boot a part that was killed for want of memory once no pressure holds the device."""
        if self.powers.starved and not self._pressed_now():
            self.powers.revive()

    def _end_due(self, now: float) -> None:
        """End the drawn faults whose ends are due by `now`, unless the part was asked to end."""
        due = [order for at, order in self.later if at <= now]
        self.later = [entry for entry in self.later if entry[0] > now]
        for order in due:
            if not self.powers.closing:  # SIGTERM may come at any line
                self.obey(order)

    def _change_link(self, now: float) -> None:
        """Make the changes of the link that are due by `now`."""
        schedule = self.powers.schedule
        if schedule.take(now):
            self.powers.change_link()
            self._report_delay()
            if schedule.done(self.clock.now()):
                say(LinkChangeReport(schedule.played, round(schedule.latest, 6)))

    def _report_delay(self) -> None:
        """Report the delay that the server has to add to the node's messages, if it has changed."""
        delay = self.powers.sent_delay()
        if delay is not None and delay != self.sent_delay:
            self.sent_delay = delay
            say(DelayReport(delay))

    def _until(self, sample: float) -> float:
        """Return the real seconds until something is due; `sample` is when the next sample is."""
        parting = [] if self.powers.parting is None else [self.powers.parting]
        battery = [] if self.battery is None else [self.battery.due(self.part.pid)]
        meter = [] if self.meter is None else [self.meter.due()]
        dated = [self.powers.schedule.due, *(at for at, _ in self.later)]
        due = min([sample, *parting, *battery, *meter, *dated])
        wait = self.clock.real(max(0.0, due - self.clock.now()))
        look = PART_LOOK if self.powers.closing else self._look
        return min(look if self.powers.pressing is None else PRESS_LOOK, wait)

    def _finished(self) -> bool:
        """Return whether the supervisor's work is over; report a part that ended unasked.

        A device whose part failed stays: the schedule may boot it again.
        """
        code, powers = self.part.take_exit(), self.powers
        if code is None:
            return powers.closing and self.part.down
        if powers.parting is not None:
            powers.parting = None
            return powers.closing
        if (code or self.program) and not powers.closing:
            cause = self.part.memory_cause()
            powers.starved = self._pressed_now() and bool(cause)
            returns = powers.starved and self._releases()
            revived = self.revivals.allows(self.node.part, self.clock.now())
            say(ExitReport(code, cause, returns or revived))
            if revived:
                powers.boot()
                return False
        if self.program is not None:  # the conductor decides on the end of the run
            return powers.closing
        return code == 0 or powers.closing or not powers.on_device

    def _pressed_now(self) -> bool:
        """Return whether a memory fault holds the device, or has not released the memory yet."""
        return self.powers.faults.holds("press") or self.powers.pressing is not None

    def _releases(self) -> bool:
        """Return whether the pressure is going to end without an order of the conductor."""
        if self.powers.pressing is not None:
            drawn = self._pressed is not None and self._pressed.lasts is not None
            if drawn or not self.powers.faults.holds("press"):
                return True
        return any(order.verb == "release" for _, order in self.later)

    # -- orders --------------------------------------------------------------------------------

    def obey(self, order: AnyOrder) -> None:
        """Do as `order` says."""
        match order:
            case StopPart(reason):
                self._close(ENDINGS[reason])
            case HoldMessages(node, delay):
                self.holds[node] = delay
                self.powers.settings.change(HOLD, self.holds)
            case LetBegin():
                self.powers.settings.change(BEGINS, {})
            case Zero(at):
                self.powers.schedule.begin(at)
                if self.program is not None and self.battery is not None:
                    self.battery.begin(at, interface_bytes())
            case ProgramDone() | ProgramEnded() | ProgramUse() | ReviveProgram():
                self._hear_of_program(order)
            case Forked(pid):
                self.powers.forked(pid)
            case QuotaAnswer():
                if self.powers.pressing is not None:
                    self.powers.pressing.answer(order)
            case Do():
                self._do(order)

    def _hear_of_program(
        self, order: ProgramDone | ProgramEnded | ProgramUse | ReviveProgram
    ) -> None:
        """Take what the conductor says of the program of this sidecar."""
        if self.program is None:
            return
        match order:
            case ProgramDone(ask):
                self.program.answered(ask)
                done = [report for number, report in self._unanswered if number <= ask]
                self._unanswered = [each for each in self._unanswered if each[0] > ask]
                for report in done:
                    report()
            case ProgramEnded(life, code, cause):
                self.program.ended(life, code, cause)
            case ProgramUse(life, seconds):
                self.program.used(life, seconds)
            case ReviveProgram():
                if self.program.down and not (self.powers.faults.ended or self.powers.closing):
                    self.powers.boot()

    def _do(self, order: Do) -> None:
        """Do and report the verb of `order`, unless another fault of the verb holds the device."""
        verb = order.verb
        if self.powers.faults.changes(verb, order.fault):
            before, began = self.powers.pressing, reports.now()
            earlier = self.part.waits_for
            perform(self.powers, verb, order.setting)
            if (change := self.powers.pressing) is not None and change is not before:
                self._pressed = order
                change.report = lambda: self._did(order)
            elif (ask := self.part.waits_for) is not None and ask != earlier:
                report = partial(self._did, order, None if verbs.begins(verb) else began)
                self._unanswered.append((ask, report))
            else:
                self._did(order, None if verbs.begins(verb) else began)
            self._report_delay()
        elif order.planned is not None and verbs.begins(verb):
            say(OverlapReport(order.fault, verb, planned=order.planned))

    def _did(self, order: Do, began: float | None = None) -> None:
        """Report the verb of `order`, which was done just now, and plan the end of its fault.

        A verb that ends a fault is reported as of the time at which it `began`: the
        fault holds the node from the one record to the other. A device that shares its CPU quota
        with its supervisor may push before the supervisor runs again.
        """
        fault = self.powers.faults.kind(order.verb)
        say(VerbReport(order.verb, fault, order.planned, order.setting), began)
        self._plan_end(order)

    def _plan_end(self, order: Do) -> None:
        """Plan the end of the fault of `order`, if the device drew it itself, and not for good.

        Its duration counts from now: the moment at which the verb was done, as the log has it.
        """
        if order.lasts is not None:
            end = Do(order.end, order.fault)
            self.later.append((self.clock.now() + order.lasts, end))

    def _close(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask the part to end, by the signal `how`, and plan no more ends of faults."""
        self.later.clear()
        self.powers.close(how)

    # -- input -----------------------------------------------------------------------------------

    def _ordered(self) -> None:
        """Do the verbs that the conductor has sent; end the container if the conductor is gone."""
        lines = self.orders.read()
        if lines is None:
            self.selector.unregister(0)
            self.abandon()
            return
        for line in lines:
            self.obey(orders.decode(line))

    def abandon(self) -> None:
        """Kill the part without a report: the container ends."""
        self.powers.closing = True
        self.part.signal(signal.SIGKILL)

    def _drawn(self) -> None:
        """Begin faults that the device has drawn, and plan the ends; report the part's records."""
        for line in self.draws.read() or ():
            match reports.decode_part(line):
                case RecordReport() as record:
                    say(record)
                case BegunReport(zero) if self.battery is not None:
                    self.battery.begin(zero, interface_bytes())
                case DrawnReport() as drawn if verbs.row(drawn.begin).by == "engine":
                    say(drawn)  # the conductor begins and ends it
                case DrawnReport() as drawn:
                    self._begin(drawn)

    def _begin(self, drawn: DrawnReport) -> None:
        """Begin the fault that the device has drawn, and plan its end."""
        verb, fault, lasts = drawn.begin, drawn.fault, drawn.lasts
        order = Do(verb, fault, drawn.setting, end=drawn.end, lasts=lasts)
        faults = self.powers.faults
        held = faults.holds(verb)
        if faults.prolongs(verb, lasts) and held:
            say(OverlapReport(fault, verb, lasts))
        self.obey(order)
        if held:  # its verb was not done anew
            self._plan_end(order)
        if lasts is None and verbs.row(verb).silences:
            say(LostReport())

    def _take_last_records(self) -> None:
        """Report the records that the part wrote before the end."""
        while any(key.data == self._drawn for key, _ in self.selector.select(0)):
            for line in self.draws.read() or ():
                if isinstance(record := reports.decode_part(line), RecordReport):
                    say(record)

    def _sample(self) -> None:
        """Report the interface's byte counters. Raises InterfaceGoneError without an interface."""
        rx, tx = interface_bytes()
        # the processor time that counts is the program's, which the conductor asks the engine for
        say(TrafficReport(rx, tx, cpu_use() if self.program is None else None))

    def _drain(self, battery: BatteryFeed, now: float) -> None:
        """Feed `battery` up to `now`; switch the device off if the battery is empty, on if the
        charge is back."""
        verb = battery.tick(now, self.part.pid, interface_bytes())
        if verb is not None:
            self.obey(Do(verb, "energy"))
            say(BatteryReport(battery.level()))
            if battery.lost:
                say(LostReport())
        elif (level := battery.news()) is not None:
            say(BatteryReport(level))


MOST_DEATHS = 5
"""Deaths within `SERVER` or `EVALUATOR` seconds after which the part stays down: it cannot live."""
SERVER, EVALUATOR = 20.0, 60.0
"""An evaluator takes longer to its first work, as it loads TensorFlow."""


class Revivals:
    """Counts the recent deaths of a part that can come back.

    A server can if its state is on disk; evaluator and relays keep no state that a run needs.
    """

    def __init__(self) -> None:
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)

    def allows(self, part: object, now: float) -> bool:
        """Return whether `part`, which died at the time `now`, is to be started again.

        If the part has died too often, say so in the node's log.
        """
        match part:
            case config.ServerRole() if part.plan.durability is not None:
                within = SERVER
            case config.EvaluatorRole() | config.RelayRole():
                within = EVALUATOR
            case _:
                return False
        self._deaths.append(now)
        if len(self._deaths) < MOST_DEATHS or now - self._deaths[0] > within:
            return True
        words = f"it died {MOST_DEATHS} times within {within:g} s, and is not started again"
        print(words, file=sys.stderr, flush=True)
        return False
