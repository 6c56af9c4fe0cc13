"""The process that measures the kept versions of the model on the test set, after the run.

It runs in a container without a network. For each version it writes the record `evaluation`, as a
line of JSON, to its standard output. It ends early when its standard input ends: the conductor is
gone then.
"""

import select
import sys

from msgspec.structs import replace

from ...learning.learners.device import DeviceEvaluator
from ...learning.learners.graph import read_layout
from ...log.lines import line
from .. import config
from .kept_versions import kept_versions, read_version


def main() -> None:
    """Measure every version in `config.VERSIONS`, the oldest version first.

    The file of a version that cannot be read is named on standard error, and passed over.
    """
    evaluator = DeviceEvaluator(config.GRAPH, config.SHARD)
    size = read_layout(config.GRAPH).size
    for path in kept_versions(config.VERSIONS):
        try:
            record, theta = read_version(path, size)
        except ValueError as error:
            print(f"{path.name} is damaged: {error}", file=sys.stderr, flush=True)
            continue
        accuracy, loss, error_ = evaluator.evaluate(theta)
        measured = replace(record, accuracy=accuracy, loss=loss, error=error_)
        sys.stdout.buffer.write(line(measured))
        sys.stdout.buffer.flush()
        if select.select([sys.stdin], [], [], 0)[0]:
            return


if __name__ == "__main__":
    main()
