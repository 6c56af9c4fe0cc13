"""A fleet of which each device has another key of a link, with its trace files."""

import math
from random import Random

SECONDS = 24
SEED = 2
_STEPS = ((3.0, 250), (6.0, 500), (2.4, 200))
"""Rates of six seconds each in mbit, and the packets of 1,500 bytes that they are in a second."""
_SPAN, _END = 6, 18

FILES = {
    "steps.csv": "seconds,rate\n"
    + "".join(f"{_SPAN * place},{rate}mbit\n" for place, (rate, _) in enumerate(_STEPS))
    + f"{_END},end\n",
    "steps.cooked": "".join(f"{_SPAN * place} {rate}\n" for place, (rate, _) in enumerate(_STEPS)),
    "steps.5g.csv": "DL_bitrate,UL_bitrate,PINGAVG\n"
    + "".join(f"{1000 * rate:.0f},500,-\n" for rate, _ in _STEPS for _ in range(_SPAN)),
    "steps.mahimahi": "".join(
        f"{1000 * second + (packet + 1) * 1000 // number}\n"
        for place, (_, number) in enumerate(_STEPS)
        for second in range(_SPAN * place, _SPAN * (place + 1))
        for packet in range(number)
    ),
}
"""Trace files by name: the same rates in each format."""

_FORMATS = {"csv": "steps.csv", "cooked": "steps.cooked", "5g": "steps.5g.csv"}
_FORMATS["mahimahi"] = "steps.mahimahi"

TEXT = (
    f"""
# Does each key of a link do to packets what it says?
name: links
seed: {SEED}
training: {{dataset: mnist, model: mnist-lenet, algorithm: asgd, learning_rate: 0.01}}
evaluate: {{every: 1000000}}
stop: {{time: {SECONDS}s}}
tcp: {{congestion: reno}}
virtual: {{step: 10ms, learner: none}}
devices:
  - {{name: burst, link: {{up: {{delay: 5ms, loss_model: {{gemodel: {{p: 1%, r: 25%}}}}}}}}}}
  - {{name: twice, link: {{up: {{delay: 5ms, duplicate: 10%}}}}}}
  - {{name: wrong, link: {{up: {{rate: 8mbit, corrupt: 5%}}}}}}
  - {{name: overtaken, link: {{down: {{delay: 40ms, reorder: 40%, gap: 4}}}}}}
  - {{name: short, link: {{up: {{rate: 2mbit, limit: 10}}}}}}
  - {{name: framed, link: {{up: {{rate: 2mbit, overhead: 200}}}}}}
  - name: steady
    link: {{up: {{delay: 60ms}}, down: {{rate: 400kbit}}}}
  - name: uniform
    link: {{up: {{delay: 60ms, jitter: 12ms, distribution: uniform}}, down: {{rate: 400kbit}}}}
  - name: normal
    link: {{up: {{delay: 60ms, jitter: 10ms}}, down: {{rate: 400kbit}}}}
  - name: together
    link: {{up: {{delay: 60ms, jitter: 10ms, correlation: 80%}}, down: {{rate: 400kbit}}}}
  - {{name: waiting, link: {{up: {{rate: 8mbit, setup: 100ms}}}}}}
"""
    + "".join(
        f"  - {{name: {name}, link: {{down: {{trace: {{file: {file}, format: {name}}}}}}}}}\n"
        for name, file in _FORMATS.items()
    )
    + """\
  - name: stepping
    link: {down: {rate: 3mbit, steps: [{at: 6s, rate: 6mbit}, {at: 12s, rate: 2400kbit}]}}
  - {name: once, link: {down: {trace: {file: steps.csv, loop: false, start: random}}}}
faults:
  - kind: straggler
    nodes: [burst, wrong, overtaken]
    delay: 100ms
    at: 0s
  - {kind: straggler, nodes: [twice], delay: 2s, at: 0s}
"""
)

_ONCE = Random(f"{SEED}/once/trace").random() * _END
"""Time of the trace at which the device `once` begins."""
_SPANS = [
    (_SPAN * place, _SPAN * (place + 1), 1e6 * rate) for place, (rate, _) in enumerate(_STEPS)
]

TRACED = {
    **{name: [*_SPANS, (_END, SECONDS, _SPANS[0][2])] for name in _FORMATS},
    "stepping": [*_SPANS[:-1], (_SPANS[-1][0], SECONDS, _SPANS[-1][2])],
    "once": [
        *((begin - _ONCE, end - _ONCE, rate) for begin, end, rate in _SPANS[:-1]),
        (_SPANS[-1][0] - _ONCE, math.inf, _SPANS[-1][2]),
    ],
}
"""Begin, end and rate of each span, in seconds of the run, of the devices with a trace."""
