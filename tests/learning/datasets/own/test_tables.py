"""Tables: columns, labels, owners, and what is refused with line and column."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.learning import datasets
from emulator.learning.datasets.own import OwnDataset, kept_data
from emulator.learning.models.task import Task

from .given import mistakes


def table(folder: Path, rows: list[str], heading: str = "a,b,label,writer") -> None:
    (folder / "own.csv").write_text("\n".join([heading, *rows]) + "\n")


def own(folder: Path, **keys: Any) -> OwnDataset:
    return kept_data.resolved(OwnDataset(str(folder / "own.csv"), **keys))


@pytest.mark.parametrize("heading", ["\ufeffa,b,label,writer", 'a , "b ", label , writer '])
def test_a_byte_order_mark_and_blanks_are_no_part_of_a_name(tmp_path: Path, heading: str) -> None:
    table(tmp_path, ROWS, heading)
    assert datasets.describe(own(tmp_path, owners="writer")).task.values == 2


ROWS = [f"{row},{row / 4},{'good' if row % 3 else 'bad'},ann-{row % 4}" for row in range(40)]


def test_a_row_is_an_example_and_words_are_classes(tmp_path: Path) -> None:
    table(tmp_path, ROWS)
    kept = own(tmp_path, owners="writer")
    data = datasets.load(kept)
    assert datasets.describe(kept).task == Task("vectors", (2,), classes=2)
    assert (len(data.train), len(data.test), data.class_names) == (32, 8, ("bad", "good"))
    assert data.rows is not None and data.owners is not None
    assert data.train.inputs.tolist() == [[row, row / 4] for row in data.rows]
    assert data.train.labels.tolist() == [int(row % 3 > 0) for row in data.rows]
    assert data.owners.tolist() == [f"ann-{row % 4}" for row in data.rows]


def test_a_second_table_is_the_test_set(tmp_path: Path) -> None:
    table(tmp_path, ROWS)
    other = tmp_path / "test.csv"
    other.write_text("label,b,a\nbad,7,3\ngood,8,4\n")  # columns are found by name
    kept = own(tmp_path, owners="writer", test_file=str(other))
    data = datasets.load(kept)
    assert (len(data.train), data.rows) == (40, None)
    assert data.test.inputs.tolist() == [[3, 7], [4, 8]]
    other.write_text("label,b,a\nbad,7,3\ngood,8,5\n")
    assert own(tmp_path, owners="writer", test_file=str(other)).sha256 != kept.sha256


@pytest.mark.parametrize(
    ("keys", "task"),
    [
        ({"label": "b"}, Task("vectors", (2,), targets=1)),
        ({"label": ("a", "b")}, Task("vectors", (1,), targets=2)),
        ({"label": "a", "task": "regression"}, Task("vectors", (2,), targets=1)),
        ({"label": "b", "inputs": "tokens"}, Task("tokens", (2,), targets=1, vocabulary=40)),
    ],
)
def test_columns_may_be_targets_or_token_ids(
    tmp_path: Path, keys: dict[str, Any], task: Task
) -> None:
    table(tmp_path, [f"{row},{row}.5,{row % 7},x" for row in range(40)])
    kept = own(tmp_path, owners="writer", **keys)
    assert datasets.describe(kept).task == task
    examples = datasets.load(kept).train
    assert examples.batch(slice(5))[1].shape == (5, *task.answers)


def test_rows_of_pixels_are_images(tmp_path: Path) -> None:
    pixels = np.arange(20 * 12).reshape(20, 12) % 256
    rows = [f"{row % 2}," + ",".join(map(str, image)) for row, image in enumerate(pixels)]
    table(tmp_path, rows, "label," + ",".join(f"p{pixel}" for pixel in range(12)))
    kept = own(tmp_path, size=(2, 2))
    data = datasets.load(kept)
    assert datasets.describe(kept).task == Task("images", (2, 2, 3), classes=2)
    assert (data.train.inputs.reshape(-1, 12) == pixels[data.rows]).all()
    assert (data.train.inputs.dtype, data.train.scale) == (np.uint8, 255)


@pytest.mark.parametrize("column", ["a,b,label,writer\n", '"a ",b, label ,writer\n'])
def test_a_cell_of_several_lines_does_not_shift_the_line_of_a_mistake(
    tmp_path: Path, column: str
) -> None:
    (tmp_path / "own.csv").write_text(
        "a,b,label,writer\n1,2,x,w\n\n" + '1,2,"x\ny",w\n' + "abc,2,x,w\n1,2,y,w\n"
    )
    (found,) = mistakes(tmp_path, "{file: ./own.csv, owners: writer}")
    assert found.startswith("own.csv:6: a: 'abc' is not a finite number (named by scenario.yaml:2")


def test_all_mistakes_of_a_table_are_reported_at_once(tmp_path: Path) -> None:
    table(tmp_path, ["1,,x,w", "2,abc,y,w", "3,4,,w", "4,inf,x,", "x,6,x,w"])
    found = mistakes(tmp_path, "{file: ./own.csv, owners: writer}", model="digits-mpl")
    assert [line.partition(" (named")[0] for line in found[1:]] == [
        "own.csv:2: b: is empty: a number was expected",
        "own.csv:3: b: 'abc' is not a finite number",
        "own.csv:4: label: is empty",
        "own.csv:5: b: 'inf' is not a finite number",
        "own.csv:5: writer: is empty",
        "own.csv:6: a: 'x' is not a finite number",
    ]
    assert found[0].startswith("scenario.yaml:2: training.model: 'digits-mpl' (did you mean ")


@pytest.mark.parametrize(
    ("content", "keys", "expected"),
    [
        ("", "", "own.csv:1: is empty: the names of the columns were expected"),
        ("a,label\n", "", "own.csv: has no example"),
        ("a,a,label\n1,2,3\n", "", "own.csv:1: names the column 'a' twice"),
        ("a,,label\n1,2,3\n", "", "own.csv:1: column 2 has no name"),
        ("a,b\n1,2\n", "", "own.csv: has no column 'label': it has a, b"),
        ("a,label\n1,2\n", "owners: who", "own.csv: has no column 'who': it has a, label"),
        ("label\n1\n", "", "own.csv: has no column beside the labels: inputs were expected"),
        ("a,label\n1,2,3\n1,0\n", "", "own.csv:2: has 3 cells, and the first line names 2 c"),
        ("a,b,label\n1,2,0\n1.0,2.0\n", "", "own.csv:3: has 2 cells, and the first line names 3"),
        ("a,label\n1,2\n1,0,4\n", "", "own.csv:3: has 3 cells, and the first line names 2 c"),
        ("a,label\n1,0\n2,one\n3,1\n4,1\n", "", "own.csv:3: label: 'one' is not a finite numb"),
        ("a,label\n1,0\n1,-1\n1,1\n", "", "own.csv:3: label: is -1: a class is a whole number"),
        ("a,label\n1,x\n1,x\n", "", "own.csv: label: has a single class: there is nothing"),
        ("a,label\n1,1.5\n1,x\n", "task: regression", "own.csv:3: label: 'x' is not a finite"),
        ("a,label\n1,0\n7,1\n", "inputs: tokens, vocabulary: 5", "own.csv:3: a: is 7: a token"),
        ("a,label\n1,0\n2,1\n", "size: [2, 2]", "own.csv: has 1 columns of inputs, which are no"),
        ("a,label\n1,0\n2,1\n", "label: [a, a]", "scenario.yaml:2: training.dataset.label: a, a"),
        ("a,label\n1,0\n2,1\n", "test_file: ./no.csv", "no.csv: cannot be read: No such file"),
        ("\xff\xfe", "", "own.csv: is no text in UTF-8: invalid start byte at byte 0"),
        ("a;label\n1,5;2\n", "", "own.csv:1: is parted by ';': cells are parted by commas"),
        ("a,label\n1,0\n1,999999999999\n", "", "own.csv:3: label: is 999999999999: the largest"),
        ("a,label\n1,0\n1,999999999\n", "", "own.csv: label: has no example of 999999998 of the"),
        ('a,"label\n' + "1,0\n" * 40_000, "", "own.csv:1: begins a row that cannot be read: "),
        ('a,label\n1,"0\n' + "1,0\n" * 40_000, "", "own.csv:2: begins a row that cannot be rea"),
        ('a,label\n1,"0\n1,1\n', "", "own.csv:2: begins a row that cannot be read: unexpected "),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(
    tmp_path: Path, content: str, keys: str, expected: str
) -> None:
    (tmp_path / "own.csv").write_text(content, encoding="latin-1")
    found = mistakes(tmp_path, f"{{file: ./own.csv, {keys}}}")
    assert len(found) == 1 and found[0].startswith(expected), found


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas

    def lacking(*_: object, **__: object) -> None:
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pandas, "read_parquet", lacking)
    (tmp_path / "own.parquet").write_bytes(b"PAR1")
    (found,) = mistakes(tmp_path, "./own.parquet")
    assert "pip install 'edge-emulate[parquet]'" in found


def test_a_parquet_file_is_read_as_a_table(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pandas

    columns = {"a": np.arange(30) / 3, "label": ["x", "y", "z"] * 10, "writer": list("wv") * 15}
    pandas.DataFrame(columns).to_parquet(tmp_path / "own.parquet")
    kept = kept_data.resolved(OwnDataset(str(tmp_path / "own.parquet"), owners="writer"))
    assert datasets.describe(kept).task == Task("vectors", (1,), classes=3)
    columns["a"][4] = np.nan
    pandas.DataFrame(columns).to_parquet(tmp_path / "own.parquet")
    (found,) = mistakes(tmp_path, "{file: ./own.parquet, owners: writer}")
    assert found.startswith("own.parquet: a[4]: is empty: a number was expected")
    times = {"a": pandas.date_range("2024", periods=30), "label": [0, 1, 2] * 10}
    pandas.DataFrame(times).to_parquet(tmp_path / "own.parquet")
    found = mistakes(tmp_path, "./own.parquet")
    assert "a[0]: Timestamp('2024-01-01 00:00:00') is not a finite number" in found[0]
    (tmp_path / "own.parquet").write_bytes(b"PAR1 and no more")
    (found,) = mistakes(tmp_path, "./own.parquet")
    assert found.startswith("own.parquet: is no table that can be read: ")
