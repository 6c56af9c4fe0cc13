"""A cut model as a whole: the devices' part, then the server's part."""

import numpy as np

from ...optimizers.base import OptimizerState
from ...vectors import Vector
from ..server.parameters import Saved


class JoinedState:
    """Reads the parts of a model as the model that they are together."""

    def __init__(self, devices: Saved, server: Saved) -> None:
        self._devices, self._server = devices, server

    @property
    def version(self) -> int:
        """Updates applied to the devices' part."""
        return self._devices.version

    def snapshot(self) -> Vector:
        """Return the parameters of both parts, f32[N]."""
        return np.concatenate([self._devices.snapshot(), self._server.snapshot()])

    def optimizer_state(self) -> OptimizerState:
        """Return the state of both parts' optimizer; its counts are those of the devices' part."""
        kind, own = self._devices.optimizer_state()
        theirs = self._server.optimizer_state().arrays
        joined = {
            name: np.concatenate([array, theirs[name]]) if array.dtype == np.float32 else array
            for name, array in own.items()
        }
        return OptimizerState(kind, joined)
