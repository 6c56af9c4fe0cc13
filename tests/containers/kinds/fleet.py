"""A fleet of which each device suffers another fault, as a scenario for both runtimes.

The links delay each message, so a device makes about five updates a second. Fourteen devices boot
within 16 s besides, which is more than two cores do in time: containers play at half the speed.
Begins and ends of faults are 0.2 s apart or more: processes that start take time.
"""

DILATION = 2
"""Real seconds of an emulated one, in containers, where a device then has one core at most."""

END = 30.0
"""Time of the run's end, in emulated seconds."""

OWN = "{up: {delay: 75ms}, down: {delay: 75ms}}"
NEAR = "{up: {rate: 8mbit, delay: 5ms}, down: {rate: 8mbit, delay: 5ms}}"
RATED = "{up: {rate: 8mbit, delay: 75ms}, down: {rate: 8mbit, delay: 75ms}}"

FLEET = f"""
name: kinds
seed: 1
training: {{dataset: digits, model: digits-mlp, algorithm: adacomp, learning_rate: 0.1}}
evaluate: {{every: 1000}}
stop: {{time: {END}s}}
time: {{dilation: {DILATION}}}
server: {{durability: update}}
virtual: {{step: 10ms, boot: 300ms, learner: none}}
devices:
  - {{name: calm, link: {OWN}}}
  - {{name: crashed, link: {OWN}}}
  - {{name: gone, link: {OWN}}}
  - {{name: kept, link: {OWN}}}
  - {{name: leaver, link: {OWN}}}
  - {{name: churning, link: {OWN}}}
  - {{name: traced, link: {OWN}}}
  - {{name: battery, link: {OWN}}}
  - {{name: frail, link: {OWN}, failures: [{{name: frail, faults: [
      {{kind: crash, per_iteration: 6%, lasts: {{uniform: [500ms, 1s]}}}}]}}]}}
  - {{name: cut, link: {OWN}}}
  - {{name: flapping, link: {OWN}}}
  - {{name: frozen, link: {OWN}}}
  - {{name: forgotten, link: {OWN}}}
  - {{name: shot, link: {OWN}}}
  - {{name: throttled, link: {OWN}}}
  - {{name: quota, link: {OWN}, profile: {{cpu: 40%}}}}
  - {{name: hot, link: {OWN}, failures: [{{name: hot, faults: [
      {{kind: slow, factor: 50%, per_iteration: 4%, lasts: 2s}}]}}]}}
  - {{name: straggler, link: {OWN}}}
  - {{name: heated, link: {OWN}}}
  - {{name: small, link: {OWN}}}
  - {{name: large, link: {OWN}, profile: {{memory: 512MiB}}}}
  - {{name: degraded, link: {NEAR}}}
  - {{name: rated, link: {RATED}}}
  - {{name: lossy, link: {RATED}}}
  - {{name: preset, link: {RATED}}}
  - {{name: garbled, link: {OWN}}}
  - {{name: liar, link: {OWN}}}
faults:
  - {{kind: crash, nodes: [crashed], at: 4s, lasts: 4s}}
  - {{kind: crash, nodes: [gone], at: 4400ms}}
  - {{kind: crash, keeps: state, nodes: [kept], at: 4800ms, lasts: 2s}}
  - {{kind: leave, nodes: [leaver], at: 9800ms, lasts: 4s}}
  - {{kind: churn, nodes: [churning], on: 7s, off: 3s, by: crash}}
  - {{kind: availability, nodes: [traced], start: 0s, trace: ['on 0, off 3, on 6, end 40']}}
  - kind: energy
    nodes: [battery]
    capacity: 125J
    idle: 20W
    core: 1J
    sent: 1nJ
    received: 0J
    back: 50%
    day: 60s
    recharge: [{{begin: 8350ms, end: 50s, power: 50W}}]
  - {{kind: partition, nodes: [cut], at: 5200ms, lasts: 3s}}
  - kind: flap
    nodes: [flapping]
    at: 5600ms
    lasts: 12s
    outage: 1s
    uptime: 4s
  - {{kind: pause, nodes: [frozen], at: 10400ms, lasts: 5s}}
  - {{kind: partition, nodes: [frozen], at: 11600ms, lasts: 1s}}
  - {{kind: pause, nodes: [forgotten], at: 3400ms, lasts: 13s}}
  - {{kind: pause, nodes: [shot], at: 10800ms, lasts: 6s}}
  - {{kind: crash, nodes: [shot], at: 12s, lasts: 2200ms}}
  - {{kind: slow, nodes: [throttled], factor: 25%, at: 8600ms, lasts: 5s}}
  - {{kind: crash, nodes: [throttled], at: 9200ms, lasts: 1s}}
  - {{kind: slow, nodes: [quota], factor: 25%, at: 11200ms, lasts: 4s}}
  - {{kind: straggler, nodes: [straggler], delay: 800ms, at: 3800ms, lasts: 14s}}
  - {{kind: crash, nodes: [straggler], at: 6200ms, lasts: 1200ms}}
  - kind: overheat
    nodes: [heated]
    heats: 60ms
    cools: 60s
    slowdown: 10
    at: 6600ms
    lasts: 12s
  - {{kind: memory, nodes: [quota], takes: 30%, at: 12200ms, lasts: 2400ms}}
  - {{kind: memory, nodes: [small], takes: 75%, at: 15s, lasts: 7s}}
  - {{kind: memory, nodes: [large], takes: 75%, at: 16s, lasts: 7s}}
  - {{kind: degrade, nodes: [degraded], rate: 5%, delay: 200ms, at: 7600ms, lasts: 5200ms}}
  - {{kind: degrade, nodes: [rated], rate: 25%, at: 16800ms, lasts: 10s}}
  - {{kind: crash, nodes: [rated], at: 17200ms, lasts: 1s}}
  - {{kind: partition, nodes: [rated], at: 22600ms, lasts: 1s}}
  - {{kind: degrade, nodes: [lossy], loss: 30%, at: 13400ms, lasts: 6s}}
  - {{kind: degrade, nodes: [preset], link: 2g, at: 8800ms, lasts: 8s}}
  - {{kind: corrupt, nodes: [garbled], messages: 20%, at: 12400ms, lasts: 6s}}
  - {{kind: server-crash, at: 20400ms, lasts: 1s}}
  - {{kind: byzantine, nodes: [liar], lie: same-value, by: 200, at: 24s, lasts: 4s}}
"""

DRAWN = {"frail", "hot", "battery"}
"""Devices that draw their faults themselves, or measure when they strike."""

LATE = 0.3
"""Emulated seconds after its planned time in which an action has to be done."""

TAKEN = 1.5
"""The same of memory, which takes processor time that the fleet's other devices want, too."""
