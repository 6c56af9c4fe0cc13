"""Folders of profiles: those beside and above a scenario, then the emulator's own."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_SHIPPED = (_PACKAGE.parent / "scenarios" / "profiles", _PACKAGE / "profiles")
"""Folders of the emulator's own profiles, in a checkout and in an installed package."""


def profile_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders in which a scenario in `folder` looks up profiles, in that order."""
    above = (parent / "scenarios" / "profiles" for parent in folder.absolute().parents)
    own = (folder / "profiles", folder / "scenarios" / "profiles", *above)
    return tuple(dict.fromkeys((*own, *_SHIPPED)))
