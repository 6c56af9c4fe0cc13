"""Laws that codecs without a memory keep; `test_codec_laws` has those of the others."""

from collections.abc import Callable
from typing import Annotated
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter

from emulator import codecs
from emulator.codecs import Codec, Dense, TopK
from emulator.codecs.base import decode_once
from emulator.errors import WireError
from emulator.layout import Layout
from emulator.units import Fraction
from emulator.vectors import Gradient, Vector
from tests.fakes.codecs.codec_table import spread
from tests.fakes.codecs.stateless_codecs import CODECS, TABLE, gradients, layout
from tests.fakes.tried_examples import tried


@pytest.mark.parametrize("codec, kept", TABLE)
@tried(quick=10, slow=40, case=gradients())
def test_frames_say_what_the_paper_says(
    codec: Codec, kept: Callable[[Vector, Layout], Vector], case: tuple[Vector, Layout]
) -> None:
    gradient, shape = case
    frames = codec.encode(gradient, shape)
    said = codec.decode(frames, shape)
    assert np.array_equal(spread(said, shape.size), kept(gradient, shape))
    assert said.values.dtype == np.float32
    assert said.indices is None or said.indices.dtype == np.uint32
    assert sum(codec.count(frames)) == sum(map(len, frames))
    assert codec.encode(gradient, shape) == frames
    assert_the_same(decode_once(frames, codec, shape), said)


def assert_the_same(one: Gradient, other: Gradient) -> None:
    assert one.values.dtype == other.values.dtype
    assert one.values.tobytes() == other.values.tobytes()
    assert (one.indices is None) == (other.indices is None)
    if one.indices is not None and other.indices is not None:
        assert one.indices.dtype == other.indices.dtype
        assert one.indices.tobytes() == other.indices.tobytes()


def test_what_is_written_as_it_is_need_not_be_decoded() -> None:
    codec, never = TopK(Fraction(0.1)), Mock(side_effect=AssertionError)
    frames = codec.encode(np.arange(100, dtype=np.float32), layout(100))
    with patch.object(TopK, "decode", never):
        assert decode_once(frames, codec, layout(100)).values.size == 10


@pytest.mark.parametrize("codec", CODECS)
@tried(quick=10, slow=40, case=gradients(), data=st.data())
def test_what_is_accepted_has_one_spelling(
    codec: Codec, case: tuple[Vector, Layout], data: st.DataObject
) -> None:
    gradient, shape = case
    frames = [bytearray(frame) for frame in codec.encode(gradient, shape)]
    for _ in range(data.draw(st.integers(1, 4))):
        frame = data.draw(st.sampled_from(frames))
        at = data.draw(st.integers(0, len(frame)))
        frame[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    sent = [bytes(frame) for frame in frames]
    try:
        said = codec.decode(sent, shape)
    except WireError:
        return
    whole = spread(said, shape.size)
    assert np.isfinite(whole).all()
    assert list(codec.encode(whole, shape)) == sent


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("others", [0.0, 1.0, 3e38])
def test_a_gradient_that_diverged_is_refused_at_the_source(
    codec: Codec, wrong: float, others: float
) -> None:
    gradient = np.full(20_050, others, np.float32)
    gradient[9_950] = wrong
    with pytest.raises(ValueError, match=r"gradient of v1 holds -?(nan|inf): training diverged"):
        codec.encode(gradient, layout(50, 20_000))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "gradient", [np.zeros(9, np.float32), np.zeros((2, 5), np.float32), np.zeros(10)]
)
def test_a_gradient_of_another_model_is_refused(codec: Codec, gradient: Vector) -> None:
    with pytest.raises(ValueError, match=r"float32 of shape \(10,\)"):
        codec.encode(gradient, layout(4, 6))


@pytest.mark.parametrize("codec", CODECS)
def test_frames_outlive_the_gradient(codec: Codec) -> None:
    gradient = np.arange(100, dtype=np.float32)
    frames = codec.encode(gradient, layout(100))
    before = [bytes(frame) for frame in frames]
    gradient[:] = 0
    assert [bytes(frame) for frame in frames] == before


@pytest.mark.parametrize("codec", CODECS)
def test_decodes_what_a_socket_hands_over(codec: Codec) -> None:
    gradient = np.arange(1, 101, dtype=np.float32)
    frames = codec.encode(gradient, layout(100))
    views = [memoryview(bytes(frame)) for frame in frames]
    assert spread(codec.decode(views, layout(100)), 100)[99] == 100
    assert codec.count(views) == codec.count(frames)


@pytest.mark.parametrize("codec", CODECS)
def test_travels_as_plain_data(codec: Codec) -> None:
    description = codecs.plain(codec)
    assert all(type(value) in (str, float) for value in description.values())
    assert codecs.make(description) == codec
    assert type(getattr(codecs.make(description), "keep", None)) is type(
        getattr(codec, "keep", None)
    )


def test_a_scenario_reads_the_same_classes() -> None:
    schema: TypeAdapter[codecs.AnyCodec] = TypeAdapter(
        Annotated[codecs.AnyCodec, Field(discriminator="kind")]
    )
    assert schema.validate_python({"kind": "topk", "keep": "1%"}) == TopK(Fraction(0.01))
    assert schema.validate_python({"kind": "dense"}) == Dense()


@pytest.mark.parametrize(
    "description",
    [
        {"kind": "tpok", "keep": 0.01},
        {"keep": 0.01},
        {"kind": "topk", "keep": 0.0},
        {"kind": "topk", "keep": 1.5},
        {"kind": "topk", "keep": float("nan")},
        {"kind": "topk", "keep": 0.01, "indices": "u33"},
        {"kind": "topk", "keep": 0.01, "values": "f64"},
        {"kind": "topk", "keep": 0.01, "scope": "layer"},
    ],
)
def test_an_impossible_codec_is_refused(description: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        codecs.make(description)
