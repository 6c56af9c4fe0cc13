"""The look of lines: told apart in every kind of colour vision, in grey print, and by dashes."""

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from analysis.pictures import line_styles
from analysis.pictures.line_styles import COLOURS, LineStyle, run_styles
from analysis.pictures.theme import run_colours
from emulator import aggregation, codecs, schedules, synchronization
from emulator.scenario.algorithms import ALGORITHMS

_VISIONS = {  # Machado, Oliveira and Fernandes, 2009, severity 1: applied to linear RGB
    "full colour vision": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
_XYZ = np.array([(0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505)])
_LEAST, _LEAST_LIGHTNESS = 24.0, 8.0
"""Least distance in CIELAB (1976) of two colours, and of their lightness; 2.3 can be noticed."""


def cielab(colour: str, vision: Any = _VISIONS["full colour vision"]) -> NDArray[np.float64]:
    """Return L*, a*, b* of `colour` as seen with `vision`, under the white of sRGB."""
    encoded = np.array(to_rgb(colour))
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(vision) @ linear, 0, 1)
    x, y, z = np.cbrt(np.maximum(_XYZ @ seen / _XYZ.sum(axis=1), 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", _VISIONS.values(), ids=_VISIONS)
def test_colours_are_told_apart(vision: Any) -> None:
    distances = {
        (one, other): float(np.linalg.norm(cielab(one, vision) - cielab(other, vision)))
        for one, other in combinations(COLOURS, 2)
    }
    assert min(distances.values()) >= _LEAST, min(distances, key=lambda pair: distances[pair])


def test_colours_are_told_apart_in_grey_print_and_seen_on_white() -> None:
    ordered = sorted(COLOURS, key=lambda colour: cielab(colour)[0])
    lightness = [float(cielab(colour)[0]) for colour in ordered]
    assert min(np.diff(lightness)) >= _LEAST_LIGHTNESS
    assert lightness[-1] <= 80
    dashes = {
        line_styles._style(number).colour: line_styles._style(number).dash for number in range(8)
    }
    for one, other in pairwise(ordered):
        assert dashes[one] != dashes[other], "colours of neighbouring lightness"


def styles(*names: str) -> list[LineStyle]:
    return list(line_styles.line_styles(names).values())


def test_an_algorithm_looks_alike_in_every_figure() -> None:
    asgd, adacomp = styles("ASGD", "AdaComp 1 %")
    assert styles("adacomp · seed 3", "asgd · seed 3") == [adacomp, asgd]
    assert run_colours(["asgd"]) == {"asgd": asgd.colour}
    assert styles("codec={kind: topk, keep: 1%}") == styles("topk (keep 1%) + constant")
    assert styles("layer by layer") == styles("layer-by-layer") != styles("layers")


def test_variants_of_an_algorithm_have_its_colour_and_another_dash() -> None:
    looks = styles("AdaComp 1 %", "AdaComp 0.5 %", "AdaComp 0.1 %")
    assert len({(look.colour, look.marker) for look in looks}) == 1
    assert len({look.dash for look in looks}) == 3


@pytest.mark.parametrize("count", [2, 8, 30, 100])
def test_no_two_lines_are_alike(count: int) -> None:
    looks = styles("asgd", *(f"batch_size={number}" for number in range(count - 1)))
    assert len(set(looks)) == count
    assert len({look.colour for look in looks}) == min(count, len(COLOURS))
    if count <= 30:  # without markers, too
        assert len({(look.colour, look.dash) for look in looks}) == count


def test_unknown_names_keep_their_colours() -> None:
    (alone,) = styles("My codec")
    assert styles("asgd", "My codec")[1] == alone
    assert styles("My codec", "adacomp")[0] == alone


def test_seeds_have_dashes() -> None:
    runs = [("a · seed 1", "adacomp"), ("a · seed 2", "adacomp"), ("b", "asgd")]
    found = run_styles(pd.DataFrame(runs, columns=["run", "setting"]))
    one, two, other = found.values()
    assert one._replace(dash=9) == two._replace(dash=9) and one.dash != two.dash
    assert other.colour != one.colour


@pytest.mark.parametrize("setting", ["asgd", "mine", "AdaComp 1 %", "home · asgd"])
def test_runtimes_of_a_setting_share_its_colour(setting: str) -> None:
    names = [f"{setting} · docker", "other", f"{setting} · virtual", setting]
    docker, other, virtual, alone = styles(*names)
    assert len({(look.colour, look.marker) for look in (docker, virtual, alone)}) == 1
    assert len({look.dash for look in (docker, virtual, alone)}) == 3
    assert other.colour != docker.colour


def test_names_of_the_package_are_known() -> None:
    families = (codecs, schedules, aggregation, synchronization)
    kinds = {kind for package in families for kind in package.FAMILY.classes}
    assert not {*ALGORITHMS, *kinds} - {*line_styles._NUMBERS}, "add them to _FAMILIES"
