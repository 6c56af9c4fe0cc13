"""Put a study's tables into its page: `python -m analysis.studies FOLDER [--docs DIR]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import RunError
from . import MODULES
from .folder import open_study
from .markdown import replace


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m analysis.studies", description=__doc__)
    parser.add_argument("study", type=Path, help="a study's folder, as runs/studies/adacomp")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="where its page is")
    options = parser.parse_args(arguments)
    try:
        study = open_study(options.study)
        module = MODULES[study.name]
        page = options.docs / f"{study.name}.md"
        replace(page, f"make table-{study.name}", module.tables(study))
        made = [page]
        if hasattr(module, "figure"):
            made.append(options.docs / f"{study.name}.png")
            module.figure(study, made[-1])
    except RunError as error:
        print(error, file=sys.stderr)
        return 1
    print(*made, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
