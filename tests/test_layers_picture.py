"""The picture of the layers shows the imports that the code has."""

import pytest

from tests.draw_layers import PICTURE, picture


@pytest.mark.slow
def test_the_picture_of_the_layers_is_up_to_date() -> None:
    assert PICTURE.read_text() == picture(), "run `make layers`, and look at docs/layers.svg"
