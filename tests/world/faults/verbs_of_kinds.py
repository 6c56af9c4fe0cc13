"""A fault of each kind, with its verbs."""

from emulator.units import Fraction, Joules, Seconds
from emulator.world.faults import FAULTS
from emulator.world.laws import Exponential, Fixed, Uniform

VERBS_OF_KINDS = [  # a fault, the verb that begins it, the verb that ends it
    (FAULTS["crash"](), "kill", "start"),
    (FAULTS["server-crash"](), "kill", "start"),
    (FAULTS["crash"](keeps="state"), "halt", "reboot"),  # type: ignore[call-arg]
    (FAULTS["leave"](), "leave", "join"),
    (FAULTS["partition"](), "sever", "mend"),
    (FAULTS["pause"](), "pause", "resume"),
    (FAULTS["corrupt"](messages=Fraction(0.05)), "garble", "clear"),  # type: ignore[call-arg]
    (FAULTS["degrade"](rate=Fraction(0.25)), "reshape", "restore"),  # type: ignore[call-arg]
    (
        FAULTS["flap"](outage=Fixed(Seconds(2)), uptime=Uniform((Seconds(1), Seconds(5)))),  # type: ignore[call-arg]
        *("sever", "mend"),
    ),
    (
        FAULTS["straggler"](delay=Exponential(Seconds(0.5))),  # type: ignore[call-arg]
        *("lag", "catch_up"),
    ),
    (FAULTS["overheat"](heats=Seconds(60), cools=Seconds(120)), "heat", "cool"),  # type: ignore[call-arg]
    (FAULTS["churn"](on=Fixed(Seconds(2)), off=Fixed(Seconds(1))), "leave", "join"),  # type: ignore[call-arg]
    (FAULTS["energy"](capacity=Joules(10)), "kill", "start"),  # type: ignore[call-arg]
    (FAULTS["availability"](trace=("on 0, off 5, end 9",), by="crash"), "kill", "start"),  # type: ignore[call-arg]
    (FAULTS["byzantine"](), "falsify", "reform"),
    (FAULTS["memory"](takes=Fraction(0.8)), "press", "release"),  # type: ignore[call-arg]
    (FAULTS["slow"](factor=Fraction(0.25)), "throttle", "unthrottle"),  # type: ignore[call-arg]
]
