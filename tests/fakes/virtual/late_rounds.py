"""A scenario in which two devices are late for the same round."""

LATE_ROUNDS = """
name: late-rounds
seed: 3
training: {dataset: digits, model: digits-mlp, batch_size: 8, learning_rate: 0.05, codec: dense,
  synchronization: {kind: fedavg, clients: 60%, patience: 5s}}
evaluate: {every: 10}
stop: {updates: 12}
virtual: {learner: numpy, step: {lognormal: [50ms, 0.3]}, boot: 200ms, serve: 1ms}
devices:
  - {name: a, count: 3, link: dsl}
  - {name: b, count: 2, profile: {cpu: 20%}, link: 3g}
faults:
  - {kind: crash, nodes: [a-1], at: 3s, lasts: 2s}
  - {kind: partition, nodes: [b-0], at: 2s, lasts: 2s}
  - {kind: pause, nodes: [a-2], at: 1s, lasts: 1s}
  - {kind: byzantine, nodes: [a-0], lie: noise, at: 1s, lasts: 3s}
  - {kind: straggler, nodes: [b-1], delay: {exponential: 200ms}, at: 1s}
"""
"""Two devices are late for the same round, and the end of the run records both."""
