"""Study `adacomp`: AdaComp against ASGD, bytes pushed until equal accuracy (Hardy et al., 2017).

It corresponds to table 1 of the paper.
"""

from .entries import Entry, Study

_EVALUATE_EVERY = {200: "1000", 50: "500"}
"""Updates between two evaluations, by the number of devices."""


def _topk(keep: str, *, values: str, indices: str, feedback: bool = False) -> tuple[str, ...]:
    """Return the overrides for AdaComp with the share `keep` and these codings."""
    return (
        f"training.codec={{kind: topk, keep: {keep}, values: {values}, indices: {indices}}}",
        "training.modulation=per-parameter",
        f"training.error_feedback={str(feedback).lower()}",
    )


_ENTRIES: dict[str, tuple[tuple[str, ...], dict[int, tuple[str, ...]]]] = {
    # overrides, and learning rates to try by the number of devices
    "ASGD": ((), {200: ("0.0025", "0.005", "0.01"), 50: ("0.01", "0.02", "0.04")}),
    "AdaComp 1 %": (
        _topk("1%", values="f32", indices="gap"),
        {200: ("0.05", "0.1", "0.2"), 50: ("0.02", "0.05", "0.1")},
    ),
    "AdaComp 1 %, signs": (
        _topk("1%", values="ternary", indices="matrix"),
        {200: ("0.05", "0.1", "0.2"), 50: ("0.02", "0.05", "0.1")},
    ),
    "AdaComp 0.5 %, signs, error feedback": (
        _topk("0.5%", values="ternary", indices="matrix", feedback=True),
        {200: ("0.02", "0.05", "0.1"), 50: ("0.02", "0.05", "0.1")},
    ),
}

ADACOMP = Study(
    name="adacomp",
    about="AdaComp against ASGD, 50 and 200 devices",
    scenario="adacomp.yaml",
    entries=tuple(
        Entry(
            f"{count} devices",
            name,
            (f"devices[0].count={count}", f"evaluate.every={every}", *sets),
            rates[count],
        )
        for count, every in _EVALUATE_EVERY.items()
        for name, (sets, rates) in _ENTRIES.items()
    ),
    target=0.985,
    also=(("AdaComp 1 %", "ASGD"),),
)
