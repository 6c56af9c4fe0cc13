"""Files that the emulator ships: profiles, templates and studies, in a checkout and in a wheel."""

from collections.abc import Mapping
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def shipped(name: str) -> tuple[Path, ...]:
    """Return the emulator's own folders `name`, in a checkout and in an installed package."""
    return (_PACKAGE.parent / "scenarios" / name, _PACKAGE / name)


def profile_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders in which a scenario in `folder` looks up profiles, in that order.

    Those beside and above the scenario come before the emulator's own.
    """
    above = (parent / "scenarios" / "profiles" for parent in folder.absolute().parents)
    own = (folder / "profiles", folder / "scenarios" / "profiles", *above)
    return tuple(dict.fromkeys((*own, *shipped("profiles"))))


def study_files() -> Mapping[str, Path]:
    """Return the files of the papers' studies by name."""
    places = (root / "scenarios" / "papers" for root in (_PACKAGE.parent, _PACKAGE))
    return {file.stem: file for place in places for file in sorted(place.glob("*/*.yaml"))}
