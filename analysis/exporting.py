"""Writing of tidy tables as files, a file for each table."""

from importlib.util import find_spec
from pathlib import Path

from .errors import RunError
from .loading import Runs
from .tidy import TABLES


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
        part = path.with_name(f".{path.name}.part")
        try:
            if form == "csv":
                table.to_csv(part, index=False)
            else:
                table.to_parquet(part, engine="pyarrow", index=False)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        paths.append(path)
    return paths
