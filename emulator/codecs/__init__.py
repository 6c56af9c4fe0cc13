"""Gradient codecs, which compress a gradient into frames and decode the frames.

To add a codec: write a file, name the class here, and add a row to the tests' tables.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..plugins import Family, plain
from ..vectors import Buffer, Frames, Gradient, Indices, NotFinite, Vector
from .adacomp_residual import AdaCompResidual
from .base import ByteCount, Codec, Encoder, EncoderContext, Memory, RememberingEncoder
from .dense import Dense
from .dgc import DGC
from .dryden import Dryden
from .ef_signsgd import EFSignSGD
from .feedback import ErrorFeedback, RandomEncoder, StatelessEncoder, encoder, refusal
from .onebit import OneBit
from .qsgd import QSGD
from .randomk import RandomK
from .segment_encoder import SegmentEncoder, uncuttable
from .signsgd import SignSGD
from .strom import Strom
from .terngrad import TernGrad
from .threshold import Threshold
from .topk import TopK

AnyCodec: TypeAlias = (
    Dense
    | TopK
    | Threshold
    | RandomK
    | AdaCompResidual
    | DGC
    | Dryden
    | Strom
    | OneBit
    | EFSignSGD
    | SignSGD
    | QSGD
    | TernGrad
)

FAMILY = Family("codecs", AnyCodec, Codec)


def make(description: Mapping[str, Any]) -> AnyCodec:
    """Build the codec described by `plain`."""
    codec: AnyCodec = FAMILY.make(description)
    return codec


__all__ = [
    "DGC",
    "FAMILY",
    "QSGD",
    "AdaCompResidual",
    "AnyCodec",
    "Buffer",
    "ByteCount",
    "Codec",
    "Dense",
    "Dryden",
    "EFSignSGD",
    "Encoder",
    "EncoderContext",
    "ErrorFeedback",
    "Frames",
    "Gradient",
    "Indices",
    "Memory",
    "NotFinite",
    "OneBit",
    "RandomEncoder",
    "RandomK",
    "RememberingEncoder",
    "SegmentEncoder",
    "SignSGD",
    "StatelessEncoder",
    "Strom",
    "TernGrad",
    "Threshold",
    "TopK",
    "Vector",
    "encoder",
    "make",
    "plain",
    "refusal",
    "uncuttable",
]
