"""The losses of a run in containers, computed again in virtual time with the arrivals in its order.

Sums of float32 depend on the order of the summands, and a difference in the last bit may turn a
ReLU on or off, and grow. So two runs in containers agree to the last bit only if the gradients of
each step, and the activations of each batch at a cut, arrive in the same order.
"""

import emulator
from emulator.core.cut.activation_gate import ActivationGate
from emulator.synchronization.barrier import Lockstep


def replay(scenario, run, folder, monkeypatch):
    """Play the file `scenario` in virtual time into `folder`, in the order of arrivals of `run`."""
    steps = _in_turns(run.said("update"), run.summary["devices"])
    batches = _in_turns(run.said("activations"), run.summary["devices"])
    make_step, open_gate = Lockstep._step, ActivationGate._opened

    def step(self):
        if names := next(steps, None):
            self._arrivals = {name: self._arrivals[name] for name in names}
        return make_step(self)

    def opened(self, group):
        if group.complete and (names := next(batches, None)):
            group.arrived = {name: group.arrived[name] for name in names}
        return open_gate(self, group)

    with monkeypatch.context() as patch:
        patch.setattr(Lockstep, "_step", step)
        patch.setattr(ActivationGate, "_opened", opened)
        return emulator.run(scenario, on="virtual", runs=folder)


def _in_turns(records, count):
    """Yield the nodes of `records`, `count` at a time."""
    nodes = [record["node"] for record in records]
    return iter([nodes[i : i + count] for i in range(0, len(nodes), count)])
