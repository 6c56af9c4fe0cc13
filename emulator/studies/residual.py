"""AdaComp by residuals against dense training, in step (Chen et al., 2018, table 2)."""

from .study import Entry, Study

_LSTM = (
    "training.dataset=sentences",
    "training.model=char-lstm",
    "training.optimizer={kind: adam}",
    "evaluate.every=4000",
    "stop.updates=40000",
)
_MODELS: dict[str, tuple[tuple[str, ...], str]] = {  # what each sets, and its learning rate
    "MNIST CNN": ((), "0.03"),
    "character LSTM": (_LSTM, "0.003"),
}
_CODECS = ("dense", "adacomp-residual")

RESIDUAL = Study(
    name="residual",
    about="AdaComp by residuals against dense training, ten learners",
    scenario="residual.yaml",
    entries=tuple(
        Entry(model, codec, (*sets, f"training.codec={codec}"), (rate,))
        for model, (sets, rate) in _MODELS.items()
        for codec in _CODECS
    ),
)
