"""The configurations of two devices, one of them behind a slow link."""

from emulator.runs import planning
from emulator.runtimes.docker.configs import NodeConfigs
from emulator.scenario import loads
from emulator.shaping.backend import Backend
from emulator.transport.secrets import Guests, Token

TEXT = """
name: pair
seed: 7
training: {dataset: digits, model: digits-mlp, algorithm: adacomp, batch_size: 20}
evaluate: {every: 50}
stop: {updates: 100, accuracy: 97%, time: 1min}
server: {link: {up: {rate: 1gbit}, down: {rate: 1gbit, delay: 2ms}}, checkpoint: {every: 30s}}
devices:
  - name: near
  - name: far
    profile: {cpu: 20%, memory: 256MiB}
    link: {up: {rate: 1mbit, delay: 25ms, jitter: 3ms}, down: {rate: 8mbit, delay: 25ms}}
    failures: [{name: hot, faults: [{kind: crash, per_iteration: 1%, lasts: 30s}]}]
faults: [{kind: partition, nodes: [far], at: 10s, lasts: 5s}]
"""
SCENARIO = loads(TEXT)
NEAR, FAR = SCENARIO.nodes
HELD = Backend(rate="tbf", delay="receiver", cut="nftables")
DELAYED = Backend(rate="tbf", delay="netem", cut="nftables")


def configs(backend: Backend = HELD, text: str = TEXT, parameters: int = 1000) -> NodeConfigs:
    names = ("near", "far", "evaluator")
    tokens = {name: f"secret of {name}" for name in names}
    secrets = {name: Token(name, token) for name, token in tokens.items()}
    examples = {"near": 700, "far": 300}
    scenario = loads(text)
    plan = planning.plan(scenario, examples)
    return NodeConfigs(scenario, plan, parameters, Guests(tokens), secrets, backend, 65534)
