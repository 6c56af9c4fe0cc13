"""The image of a workload's programs: found in the engine, pulled, or built from a folder."""

from collections.abc import Callable
from hashlib import sha256

from docker import DockerClient
from docker.errors import APIError, BuildError, ImageNotFound

from ....errors import DeploymentError
from ....scenario.sections.workload_section import WorkloadSection
from ..engine.client import finished, refusals

NAME = "emulate/workload"
"""Name of the images that are built; the tag depends on the folder's path."""
_LAST = 15
"""Lines of a failed build that its error has."""


def programs_image(
    client: DockerClient, workload: WorkloadSection, tell: Callable[[str], None]
) -> str:
    """Return the id of the image of `workload`. `tell` shows a step that may take long.

    Raises DeploymentError, with the key of the scenario, if there is no such image, or if its build
    fails.
    """
    if workload.build is not None:
        return _built(client, workload.build, tell)
    name = workload.image or ""
    with refusals("workload.image: looking for it"):
        try:
            return str(client.images.get(name).id)
        except ImageNotFound:
            tell(f"pulling {name}")
    try:
        # with a tag, as without one the engine would pull all tags of the name
        repository, _, tag = name.rpartition(":") if ":" in name.split("/")[-1] else (name, "", "")
        pulled = finished(client.images.pull, repository, tag=tag or "latest")
        return str(pulled.id)
    except APIError as error:
        raise DeploymentError(
            f"workload.image: the engine has no image {name!r}, and cannot pull it: "
            f"{error.explanation or error}: build it, or write workload.build"
        ) from error


def _built(client: DockerClient, folder: str, tell: Callable[[str], None]) -> str:
    tell(f"building the image of {folder}")
    tag = f"{NAME}:{sha256(folder.encode()).hexdigest()[:12]}"
    with refusals("workload.build: building the image"):
        try:
            image, _ = finished(client.images.build, path=folder, tag=tag, rm=True, forcerm=True)
        except BuildError as error:
            lines = [str(each.get("stream", "")).rstrip() for each in error.build_log]
            said = "\n".join(f"    {text}" for text in lines[-_LAST:] if text.strip())
            raise DeploymentError(
                f"workload.build: the build of {folder} failed: {error.msg}\n{said}"
            ) from error
    return str(image.id)
