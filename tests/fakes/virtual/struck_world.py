"""A small world in virtual time whose devices some faults strike, and the times of its updates."""

from pathlib import Path

from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.virtual_world import played


def struck(
    folder: Path, text: str, faults: tuple[str, ...], overrides: tuple[str, ...]
) -> list[PlainRecord]:
    """Play the scenario `text` with the keys `overrides` and the `faults`; return its records."""
    listed = ", ".join(f"{{{fault}}}" for fault in faults)
    folder, summary, _ = played(folder, *overrides, text=f"{text}faults: [{listed}]\n")
    assert summary["outcome"] == "success"
    return list(read(folder / "run.jsonl"))


def update_times(
    records: list[PlainRecord], since: float, until: float, node: str = "a"
) -> list[float]:
    """Return the times between `since` and `until` of the updates of `node`, in seconds."""
    times = [r["at"] for r in records if r["what"] == "update" and r["node"] == node]
    return [round(at, 6) for at in times if since < at < until]
