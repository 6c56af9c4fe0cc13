"""A small workload, to be changed here and there."""

import pytest

from emulator.errors import ScenarioError
from emulator.scenario import Scenario, loads

WORKLOAD = """\
name: own
seed: 7
workload:
  image: own/app:1
  server: {command: 'serve --for {count}', ready: {port: 7000}, env: {SEED: '{seed}'}}
  device: {command: [join, '{server}:7000', 'as {name}', '{index}'], mounts: {/etc/own: ./app}}
  driver: {command: drive}
  metrics: {accuracy: 'acc=([0-9.]+%?)'}
  output: /results
stop: {driver: true, time: 1min, metric: {accuracy: 97%}}
server: {link: {up: {rate: 1gbit}, down: {rate: 1gbit}}}
devices:
  - name: home
    count: 2
    profile: {cpu: 20%, memory: 256MiB}
    link: {up: {rate: 1mbit, delay: 25ms}, down: {rate: 8mbit, delay: 25ms}}
  - {name: office}
faults: [{kind: partition, nodes: [home-0], at: 10s, lasts: 5s}]
"""


def own_workload(*changes: tuple[str, str], folder: str = ".") -> Scenario:
    """Return the scenario with `changes`; its paths count from `folder`."""
    text = WORKLOAD.replace("mounts: {/etc/own: ./app}", "mounts: {/etc/own: .}")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return loads(text, folder=folder)


def mistakes_of_workload(*changes: tuple[str, str]) -> list[str]:
    """Return the lines of the error that the scenario with `changes` raises."""
    with pytest.raises(ScenarioError) as error:
        own_workload(*changes)
    return str(error.value).split("\n")
