"""Writing of tidy tables as files, a file for each table."""

from importlib.util import find_spec
from pathlib import Path

from ..errors import RunError
from ..pictures.picture_file import whole_file
from ..tables.loading import Runs
from ..tables.tidy import TABLES


def write(runs: Runs, form: str, out: Path) -> list[Path]:
    """Write each table of `runs` in the format `form`, `csv` or `parquet`; return the paths.

    The files are NAME.csv or NAME.parquet in the folder `out`. A file appears when it is complete.
    Raises RunError without the package that writes Parquet, and OSError.
    """
    if form == "parquet" and find_spec("pyarrow") is None:
        raise RunError(
            "Parquet needs the package pyarrow: pip install 'edge-emulate[parquet]'; or choose csv"
        )
    tables = {name: runs.table(name) for name in TABLES}
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, table in tables.items():
        path = out / f"{name}.{form}"
        with whole_file(path) as sink:
            if form == "csv":
                table.to_csv(sink, index=False)
            else:
                table.to_parquet(sink, engine="pyarrow", index=False)
        paths.append(path)
    return paths
