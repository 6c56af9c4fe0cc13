"""Lines of a container's output: reports on standard output, and text."""

from typing import Any

from emulator.node.reports import LostReport, Stamped, encode
from emulator.runtimes.docker.engine.stdio import Said, _Connection


def _frame(stream: int, data: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4) + data


def test_a_report_may_come_in_pieces_and_counts_on_standard_output_alone() -> None:
    nothing: Any = None
    connection = _Connection("far", nothing, nothing, float)
    line = encode(Stamped(7.5, LostReport()))
    data = _frame(1, line[:9]) + _frame(2, line + b"\n") + _frame(1, line[9:] + b"\nhello\n")
    said = [each for place in range(len(data)) for each in connection.feed(data[place : place + 1])]
    text = line.decode()
    assert said == [
        Said("far", text, error=True),
        Said("far", text, LostReport(), 7.5),
        Said("far", "hello"),
    ]
