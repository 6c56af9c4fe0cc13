"""`emulate trace`: statistics, a picture, and a trace in another format."""

from pathlib import Path

import pytest

from emulator.cli.plan import show_trace
from emulator.world.links.traces import AUTO, FORMATS
from tests.analysis.drawn_figures import kept, legend
from tests.fakes.typed_commands import Emulate

CSV = "seconds,rate_mbit,delay_ms\n0,8,20\n3,0,40\n4,end\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "mine.csv"
    file.write_text(CSV)
    return file


def test_statistics_of_a_trace(emulate: Emulate, file: Path) -> None:
    result = emulate("trace", file)
    assert (result.code, result.err) == (0, "")
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert lines[0] == "mine.csv: 2 samples, 4s"
    assert lines[1] == "format: csv, by its first line; the file has one direction, for up or down"
    assert "rate 6 mbit 8 mbit 0 mbit 8 mbit 0 mbit 8 mbit" in lines
    assert "one-way delay 25 ms 20 ms 20 ms 40 ms 20 ms 40 ms" in lines
    assert "outage: 25.0% of the time at a rate of zero" in lines


def test_statistics_for_scripts(emulate: Emulate, file: Path) -> None:
    found = emulate("trace", file, "--json", "--scale", "0.5").json
    assert found["duration"] == 4
    assert found["rate"]["mean"] == 3e6
    assert found["loss"] is None
    assert (found["format"], found["direction"]) == ("csv", None)


def test_a_file_with_both_directions_names_the_one_shown(emulate: Emulate, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("DL_bitrate,UL_bitrate\n1000,10\n2000,20\n")
    second = emulate("trace", log, "--direction", "up").out.splitlines()[1]
    assert (
        second == "format: 5g, by its first line; direction: up (--direction down shows the other)"
    )
    assert "format: 5g, as given; direction: down" in emulate("trace", log, "--format", "5g").out
    found = emulate("trace", log, "--json").json
    assert (found["format"], found["direction"]) == ("5g", "down")


def test_a_trace_in_another_format(emulate: Emulate, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("DL_bitrate,UL_bitrate\n1000,10\n2000,20\n")
    assert emulate("trace", log, "--to", "cooked").out == "0\t1\n1\t2\n"
    assert emulate("trace", log, "--direction", "up", "--to", "cooked").out == "0\t0.01\n1\t0.02\n"


def test_a_format_that_cannot_hold_the_trace(emulate: Emulate, file: Path) -> None:
    result = emulate("trace", file, "--to", "mahimahi")
    assert result.code == 2
    assert "rates only, no delays" in result.err


@pytest.mark.slow
def test_a_trace_is_drawn(
    emulate: Emulate, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace that loops is drawn twice, with the begin of the second round marked."""
    figures, figure = kept(monkeypatch), tmp_path / "new" / "trace.png"
    result = emulate("trace", file, "--loop", "--figure", figure)
    assert result.out.splitlines()[-1] == f"figure: {figure}"
    rate, delay = figures["trace.png"].axes
    assert (rate.get_ylabel(), delay.get_ylabel()) == ("rate (mbit/s)", "delay (ms)")
    assert delay.get_xlabel() == "time (s)"
    for panel, values in ((rate, [8, 0, 8, 0, 0]), (delay, [20, 40, 20, 40, 40])):
        drawn, second = panel.get_lines()
        assert list(drawn.get_xdata()) == [0, 3, 4, 7, 8]
        assert list(drawn.get_ydata()) == values
        assert list(second.get_xdata()) == [4, 4]
    assert legend(rate) == ["outage: a rate of zero", "begin of round 2"]


def test_a_malformed_trace_is_refused_with_its_line(emulate: Emulate, file: Path) -> None:
    file.write_text(CSV + "5,1,1\n")
    result = emulate("trace", file)
    assert result.code == 2
    assert result.err == f"{file}:5: '5,1,1' follows the end\n"
    missing = emulate("trace", file.with_name("missing"))
    assert (missing.code, "No such file" in missing.err) == (2, True)


def test_the_options_offer_all_formats() -> None:
    assert (AUTO, tuple(FORMATS)) == (show_trace._AUTO, show_trace._FORMATS)
