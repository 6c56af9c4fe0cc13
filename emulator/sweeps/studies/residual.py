"""Study `residual`: AdaComp by residuals against dense, synchronous training.

Chen et al. (2018), table 2.
"""

from .entries import Entry, Study

_LSTM = (
    "training.dataset=sentences",
    "training.model=char-lstm",
    "training.optimizer={kind: adam}",
    "evaluate.every=4000",
    "stop.updates=40000",
)
_MODELS: dict[str, tuple[tuple[str, ...], str, dict[str, str]]] = {
    # overrides, learning rate, and codecs by the name of the entry
    "MNIST CNN": ((), "0.03", {"dense": "dense", "adacomp-residual": "adacomp-residual"}),
    "character LSTM": (
        _LSTM,
        "0.003",
        {
            "dense": "dense",
            "adacomp-residual": "adacomp-residual",
            # the paper tries factors from 1.5 to 3, and chooses 2
            "adacomp-residual, factor 1.5": "{kind: adacomp-residual, factor: 1.5}",
        },
    ),
}

RESIDUAL = Study(
    name="residual",
    about="AdaComp by residuals against dense training, ten learners",
    scenario="residual.yaml",
    entries=tuple(
        Entry(model, name, (*sets, f"training.codec={codec}"), (rate,))
        for model, (sets, rate, codecs) in _MODELS.items()
        for name, codec in codecs.items()
    ),
)
