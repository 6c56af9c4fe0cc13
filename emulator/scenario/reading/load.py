"""Loading of a scenario file into a resolved scenario, or an error that lists the mistakes."""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from ..algorithms import spell_out, spell_out_towards
from ..model import Scenario
from .checks import check
from .data_and_model_files import find_dataset, find_initial, find_own_model, find_owners
from .document import Address, Document
from .fault_checks import check_batteries, check_numbers
from .json_schema import schema
from .link_checks import check_carrying, check_degraded, check_keys, find_hidden_conflicts
from .link_trace_files import find_link_traces
from .network_reading import find_network
from .plugin_files import find_plugin_files, leave_out_data, leave_out_model, leave_out_plugins
from .profiles import Library, inline
from .trace_files import find_traces
from .typed_values import Override, override
from .wording import explain
from .workload_checks import check_beside_workload, find_workload_files
from .yaml_subset import parse, read


def load(path: str | Path, overrides: Sequence[str | Override] = ()) -> Scenario:
    """Return the scenario in the file at `path`, after each `PATH=VALUE` of `overrides`.

    Profiles and algorithms given by name are replaced by their contents. Raises ScenarioError; its
    message has a line for each mistake, with file, line, place, the value and the expected one.
    """
    file = Path(path)
    return _resolve(read(file), overrides, Library(file.parent))


def load_without_code(
    path: str | Path, overrides: Sequence[str | Override] = ()
) -> tuple[Scenario, list[str]]:
    """Return the scenario as `load` does, and the keys that it lacks: no Python file is run.

    Plugins that are Python files are left out; shipped data and a shipped model stand for a user's
    model and for data that a function returns.
    """
    file, left = Path(path), list[str]()
    return _resolve(read(file), overrides, Library(file.parent), left), left


def loads(
    text: str, overrides: Sequence[str | Override] = (), folder: str | Path = "."
) -> Scenario:
    """Return the scenario in `text`, as `load` does; `folder` is the place to look for profiles."""
    return _resolve(parse(text, "scenario"), overrides, Library(Path(folder)))


def _resolve(
    document: Document,
    overrides: Sequence[str | Override],
    library: Library,
    left: list[str] | None = None,
) -> Scenario:
    """Return the scenario in `document`; with a list `left`, run no code and add the keys to it."""
    if not isinstance(document.data, dict):
        if not document.mistakes:
            document.complain((), "a scenario is a mapping, as `name: …`, `training: …`")
        raise document.refusal()

    def expand(address: Address) -> None:
        inline(document, library, address)
        spell_out_towards(document, address)

    for given in overrides:
        override(document, Override(given) if isinstance(given, str) else given, expand)
    inline(document, library)
    spell_out(document)
    if left is not None:
        left += [*leave_out_plugins(document), *leave_out_data(document)]
    find_plugin_files(document, library.folder)
    find_dataset(document, library.folder)
    find_owners(document, library.folder)
    if left is not None:  # the data has been checked by now
        left += leave_out_model(document)
    find_own_model(document, library.folder)
    find_initial(document, library.folder)
    find_traces(document, library.folder)
    find_link_traces(document, library.folder)
    find_network(document, library.folder)
    find_workload_files(document, library.folder)
    check_keys(document)
    scenario = _validated(document)
    check(document)
    if scenario is not None and not document.mistakes:
        check_batteries(document, scenario)
        check_numbers(document, scenario)
        check_degraded(document, scenario)
        check_carrying(document, scenario)
        check_beside_workload(document, scenario)
    if document.mistakes or scenario is None:
        raise document.refusal()
    return scenario


def _validated(document: Document) -> Scenario | None:
    try:
        # pydantic's strict mode takes lists for tuples from JSON only, and still refuses "3" for 3
        return Scenario.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        explain(document, error.errors(include_url=False), schema())
        find_hidden_conflicts(document, schema())
        return None
