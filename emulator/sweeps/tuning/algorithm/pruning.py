"""Pruning: settings of a grid that need no probe, as in the released code of Omnivore."""

from collections.abc import Iterable

from .setting import Setting


def against_previous(setting: Setting, last: Setting | None) -> str:
    """Return the reason to prune `setting`, given `last`, the choice of fewer groups; or "".

    More groups add implicit momentum, so they bear no larger rate, and no more explicit momentum
    at the same rate. A smaller rate with less momentum takes smaller steps than were needed.
    """
    if last is None:
        return ""
    if setting.rate > last.rate:
        return f"rate above {last.rate:.4g}"
    if setting.rate == last.rate and setting.momentum > last.momentum:
        return f"momentum above {last.momentum:g} at the rate {last.rate:.4g}"
    if setting.rate < last.rate and setting.momentum < last.momentum:
        return f"both rate and momentum below {last.rate:.4g} and {last.momentum:g}"
    return ""


def after_divergence(setting: Setting, diverged: Iterable[Setting]) -> str:
    """Return the reason to rule `setting` out because of `diverged` settings; "" without a reason.

    If training diverges at a rate and a momentum, it does at all that are at least as large.
    """
    for other in diverged:
        if setting.rate >= other.rate and setting.momentum >= other.momentum:
            return f"diverged at rate {other.rate:.4g} and momentum {other.momentum:g}"
    return ""
