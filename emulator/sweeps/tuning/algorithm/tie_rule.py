"""Choice among probed settings: the least loss, or a larger step that is almost as good."""

from collections.abc import Mapping

from .setting import Setting

COLD = 1.0
"""Buffer at the cold start: the least loss wins."""
STEADY = 1.01
"""Buffer later on: a larger step whose loss is up to 1 % higher wins."""


def choose(losses: Mapping[Setting, float], buffer: float) -> Setting:
    """Return the setting with the least loss, or the last one that is larger and almost as good.

    Among the settings with a larger learning rate, or with the same rate and a larger momentum,
    the last one in ascending order (rate first) with a loss below `buffer` times the least wins.
    `losses` must not be empty.
    """
    ascending = sorted(losses, key=lambda setting: (setting.rate, setting.momentum))
    chosen = min(ascending, key=losses.__getitem__)
    limit = losses[chosen] * buffer
    for setting in ascending[ascending.index(chosen) + 1 :]:
        if losses[setting] < limit:
            chosen = setting
    return chosen
