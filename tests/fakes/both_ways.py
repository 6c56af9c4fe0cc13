"""The rule that a number of pushed bytes never stands alone, for texts and for JSON."""

import re
from typing import Any

PUSHED = re.compile(r"\bpushed\b")
_RATIO = re.compile(r"\bratio\b|fewer|[x×] less|compression", re.IGNORECASE)
_SAID = re.compile(r"push|both", re.IGNORECASE)
_OF_A_PUSH = re.compile(r"^(push_bytes|bytes|pushed|push_bytes_per_s|bytes_to_.*)$")
_SUMMED = {"compression_ratio": "traffic_ratio", "ratio": None}
"""Names of ratios of pushes that do not say so, and the key that must stand beside."""


def one_sided(text: str) -> list[str]:
    """Return what `text`, a table, a line or a paragraph, says of one direction only."""
    found = []
    if PUSHED.search(text) and not ("pulled" in text and "both" in text):
        found.append(text)
    return found + [line for line in text.splitlines() if unnamed_ratio(line)]


def unnamed_ratio(line: str) -> bool:
    """Return whether `line` has a ratio, and does not say of which direction."""
    return bool(_RATIO.search(line)) and not _SAID.search(line)


def one_sided_keys(content: Any, place: str = "") -> list[str]:
    """Return the keys of JSON `content` that give pushed bytes without pulled ones beside."""
    if isinstance(content, list):
        items = enumerate(content)
        return [key for n, item in items for key in one_sided_keys(item, f"{place}[{n}]")]
    if not isinstance(content, dict):
        return []
    found = []
    for key, value in content.items():
        if _OF_A_PUSH.match(key) and not _partners(key) & content.keys():
            found.append(f"{place}.{key}")
        if key in _SUMMED and _SUMMED[key] not in content:
            found.append(f"{place}.{key}")
        found += one_sided_keys(value, f"{place}.{key}")
    return found


def _partners(key: str) -> set[str]:
    """Return the names that the pulled bytes beside `key` may have."""
    if key.startswith("bytes"):
        return {key.replace("bytes", "pulled", 1)}
    return {key.replace("push", "pull", 1)}
