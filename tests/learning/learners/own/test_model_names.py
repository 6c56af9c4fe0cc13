"""Names of own models: the same for the same sources, wherever the files lie."""

from pathlib import Path

from emulator.learning.learners.export import model_name
from emulator.learning.models.own_model import ModelSource


def test_a_model_with_a_loss_of_a_file_is_the_same_elsewhere(tmp_path: Path) -> None:
    def named(folder: str, loss: str = "mine", text: str = "def mine(y_true, y_pred): ...") -> str:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        (place / "models.py").write_text("def build(): ...")
        (place / "losses.py").write_text(text)
        return model_name(ModelSource(f"{place}/models.py:build", f"{place}/losses.py:{loss}"))

    assert named("here") == named("there")
    others = named("here", "other"), named("here", text="def mine(y_true, y_pred): return 0")
    assert len({named("here"), *others}) == 3
