"""The keys of `manifest.json` and `summary.json` that docs/run-folder.md names."""

import re

from tests.layers import ROOT

PAGE = (ROOT / "docs/run-folder.md").read_text()


def section(title: str) -> str:
    """Return the text of the page from the heading `title` to the next heading of its level."""
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


DOCUMENTED = {
    "manifest": set(re.findall(r"`([a-z_]+)`", section("manifest.json"))),
    "summary": {
        key
        for row in section("summary.json").splitlines()
        if row.startswith("| `")
        for key in re.findall(r"`([a-z_]+)`", row.split(" | ")[0])
    },
}
