"""Every pull, with both kinds of values."""

from emulator.pulls import AnyPull, Delta, WholeModel

KINDS: list[AnyPull] = [WholeModel(), WholeModel("f16"), Delta(), Delta("f16")]
