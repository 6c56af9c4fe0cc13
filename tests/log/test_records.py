"""The Structs of a log's lines against the documentation and against the analysis' columns."""

from msgspec import NODEFAULT
from msgspec.structs import fields

from analysis.reading import runs, shapes
from emulator.log import records
from emulator.log.records.fault_records import TimelineRecord
from emulator.world.verbs import VERBS
from tests.log import record_tables


def test_the_page_documents_every_field_as_it_is() -> None:
    """Otherwise: `python -m tests.log.record_tables`."""
    assert record_tables.PAGE.read_text() == record_tables.page()


def test_every_field_has_a_docstring() -> None:
    for struct in (*records.KINDS.values(), TimelineRecord):
        texts = record_tables.docstrings(struct)
        assert texts.keys() == set(struct.__struct_fields__)
        assert "" not in texts.values(), struct


def test_the_analysis_has_a_column_for_each_field_of_each_kind() -> None:
    """A column of an optional field may be missing: records without it fill no memory."""
    of_verbs = [kind for verb in VERBS for kind in (verb.record, verb.undone_record)]
    columns_of = runs.COLUMNS | dict.fromkeys(of_verbs, runs.FAULT)
    assert columns_of.keys() == records.KINDS.keys()
    for what, columns in columns_of.items():
        known = {field.name: field for field in fields(records.KINDS[what])}
        required = {name for name, field in known.items() if field.default is NODEFAULT}
        assert required <= set(columns) <= known.keys(), what
    planned = fields(TimelineRecord)
    assert tuple(each.name for each in planned if each.default is NODEFAULT) == runs.TIMELINE


def test_the_analysis_expects_the_types_of_the_fields() -> None:
    structs = (*records.KINDS.values(), TimelineRecord)
    for struct, field in [(each, field) for each in structs for field in fields(each)]:
        words = record_tables.described(field.type)
        tag = str(struct.__struct_config__.tag)
        match shapes.OF_KIND.get((tag, field.name), shapes.COLUMNS.get(field.name)):
            case shapes.MAPPING:
                assert words == "mapping", field.name
            case shapes.NUMBER:
                assert words.startswith(("number", "integer")), field.name
            case shapes.TEXT:
                assert words == "text", field.name
            case shapes.FLAG:
                assert words == "true or false", field.name
            case shapes.PAIRS:
                assert words.startswith("list of ["), field.name


def test_the_analysis_checks_columns_that_exist() -> None:
    structs = (*records.KINDS.values(), TimelineRecord)
    assert shapes.COLUMNS.keys() <= {field.name for struct in structs for field in fields(struct)}
