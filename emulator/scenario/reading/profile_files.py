"""Profiles as files to look at: description, source and keys, and failure profiles to try out."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..timeline.fault_plan import FaultPlan, fault_plan
from .document import refused
from .load import loads
from .profiles import Kind, Library
from .yaml_subset import read

KINDS: tuple[Kind, ...] = ("devices", "links", "failures", "networks")

SAMPLED = 8
"""Devices of a sample: enough to see what is common to them and what is drawn apart."""

_LENGTHS = ("10min", "1h", "6h", "24h", "168h", "720h", "8760h")
"""Lengths of a sample; the first with enough faults is shown."""


@dataclass(frozen=True)
class ProfileFile:
    """A profile: texts, and the keys that a scenario takes over."""

    kind: Kind
    name: str
    file: Path
    description: str
    source: str
    keys: dict[str, Any]

    @property
    def line(self) -> str:
        """The first sentence of the description."""
        return self.description.split(". ")[0].strip().removesuffix(".")

    def plain(self) -> dict[str, Any]:
        """Return the texts as JSON types."""
        texts = {"description": self.description, "source": self.source, "file": str(self.file)}
        return {"kind": self.kind, "name": self.name, **texts}


def profile_files(folder: Path, kind: Kind) -> Iterator[ProfileFile]:
    """Yield the profiles of `kind` that a scenario in `folder` can use, by name.

    Raises ScenarioError for a file that cannot be read.
    """
    for name, file in sorted(Library(folder).names(kind).items()):
        yield read_profile(file, kind, name)


def find_profiles(folder: Path, name: str) -> list[ProfileFile]:
    """Return the profiles called `name`, or the profile in the file at the path `name`.

    Raises ScenarioError for a file that cannot be read.
    """
    if "/" in name or name.endswith((".yaml", ".yml")):
        return [read_profile(folder / name, None, Path(name).stem)]
    library = Library(folder)
    names = {kind: library.names(kind) for kind in KINDS}
    return [read_profile(names[kind][name], kind, name) for kind in KINDS if name in names[kind]]


def read_profile(file: Path, kind: Kind | None, name: str) -> ProfileFile:
    """Return the profile in `file`. With `kind` None the keys of the file tell the kind.

    Raises ScenarioError for a file that cannot be read.
    """
    document = read(file)
    if document.mistakes or not isinstance(document.data, dict):
        if not document.mistakes:
            document.complain((), "a profile is a mapping")
        raise refused(document.mistakes)
    keys = dict(document.data)
    description, source = (str(keys.pop(key, "") or "") for key in ("description", "source"))
    return ProfileFile(kind or _kind(keys), name, file, description, source, keys)


def _kind(keys: dict[str, Any]) -> Kind:
    if "faults" in keys:
        return "failures"
    if "layers" in keys:
        return "networks"
    return "links" if "up" in keys or "down" in keys else "devices"


def sample(profile: ProfileFile, seed: int, length: str | None = None) -> FaultPlan:
    """Return the plan of `SAMPLED` devices with the failure profile `profile`.

    `length` is the time of the sample; by default it is as long as it takes for some faults on each
    device, or until no more follow. Raises ScenarioError if the profile has mistakes.
    """
    lengths = _LENGTHS if length is None else (length,)
    plan = _plan(profile, seed, lengths[0])
    for tried in lengths[1:]:
        if len(plan.faults) >= 2 * SAMPLED or (
            (plan.expected or plan.batteries) and not plan.faults
        ):
            break
        longer = _plan(profile, seed, tried)
        if len(longer.faults) == len(plan.faults) > 0:
            break
        plan = longer
    return plan


def _plan(profile: ProfileFile, seed: int, length: str) -> FaultPlan:
    scenario = {
        "name": "sample",
        "seed": seed,
        "training": {"dataset": "digits", "model": "digits-mlp", "algorithm": "asgd"},
        "stop": {"time": length},
        "devices": [
            {"name": "device", "count": SAMPLED, "failures": [str(profile.file.absolute())]}
        ],
    }
    return replace(fault_plan(loads(json.dumps(scenario))), name=profile.name)
