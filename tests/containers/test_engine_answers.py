"""What fakes of the engine answer, asked of the engine: calls, keys, types and refusals."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from docker.errors import APIError, ImageNotFound, NotFound

from emulator.runs.folder import new_id
from emulator.runtimes.docker.configs import spec
from emulator.runtimes.docker.engine.cleanup import clean_up, labels
from emulator.runtimes.docker.engine.owners import owned, place
from emulator.runtimes.docker.images import node_image
from emulator.runtimes.docker.network.foreign_links import _LASTING
from tests.runtimes.docker.configs.wanted_container import WANTED
from tests.runtimes.docker.engine.engine_answers import lacking

pytestmark = pytest.mark.docker


@pytest.fixture
def made(client, tmp_path):
    """A container that runs, its network, a volume, and the engine's answer to the creation."""
    run = new_id()
    marks = labels(run, "answers", str(tmp_path), str(place(run)), "device", "far")
    network_name, answers = f"emulate-{run}-wan", []

    def take(answer, *rest, **more):
        if answer.request.path_url.partition("?")[0].endswith("/containers/create"):
            answers.append(answer.json())

    image = node_image.require(client).id
    wanted = replace(WANTED, image=image, network=network_name, labels=marks, mounts={})
    options = {**spec.container(wanted), **_LASTING, "entrypoint": ["sleep"], "command": ["60"]}
    client.api.hooks["response"].append(take)
    with owned(run):
        try:
            network = client.networks.create(**spec.network(network_name, marks))
            client.volumes.create(**spec.box_volume(run, marks))
            container = client.containers.create(**options)
            container.start()
            network.reload()
            container.reload()
            yield SimpleNamespace(container=container, network=network, creation=answers[-1])
        finally:
            client.api.hooks["response"].remove(take)
            removed = clean_up(client, run)
    assert (removed.containers, removed.networks, removed.volumes, removed.left) == (1, 1, 1, ())


def test_the_engine_answers_what_its_fakes_do(client, made):
    container, network = made.container, made.network
    assert lacking(client, "info", "version") == []
    assert lacking(client, "containers", "networks", "volumes") == []
    assert lacking(client, "images") == lacking(client, "image", name=node_image.NAME) == []
    assert lacking(client, "layers", name=node_image.name()) == []
    calls = ("inspect_container", "update quota", "update memory")
    assert lacking(client, *calls, name=container.name) == []
    assert lacking(client, "inspect_network", name=network.name) == []
    both = SimpleNamespace(attrs={**network.attrs, **container.attrs})
    assert lacking(both, "attrs") == lacking(made.creation, "creation") == []
    container.kill()
    assert lacking(container, "id", "status", "wait", "logs") == []
    assert lacking(client, "events", name=container.id) == []


def test_the_engine_refuses_as_its_fakes_do(client, made):
    with pytest.raises(NotFound):
        client.api.inspect_container("emulate-nobody")
    with pytest.raises(ImageNotFound):
        client.images.get("emulate/nothing:0")
    with pytest.raises(APIError, match="active endpoints") as refused:
        client.api.remove_network(made.network.id)
    assert refused.value.status_code == 403
    taken = made.network.attrs["IPAM"]["Config"][0]["Subnet"]
    with pytest.raises(APIError, match="Pool overlaps"):
        client.networks.create(**spec.network(f"{made.network.name}-2", {}, taken))
