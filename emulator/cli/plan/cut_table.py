"""The table of `emulate check` for a cut model: both parts, and the bytes of an update."""

from rich.table import Table

from ...costs.cut_traffic import CutTraffic
from ...errors import counted
from ..tables import table


def cut_table(traffic: CutTraffic) -> Table:
    """Return a table of the bytes of a device's update, with the calculations."""
    made = table("bytes of an update", "up", "down", title=_title(traffic))
    sizes, rows, device = traffic.sizes, traffic.rows, traffic.device
    values = f"{rows:,} · {traffic.crossing:,} · {traffic.width} = {sizes.activations:,}"
    made.add_row("activations, and their gradient", values, values)
    if sizes.labels:
        made.add_row("labels", f"{sizes.labels // 4:,} · 4 = {sizes.labels:,}", "")
    if sizes.logits:
        outputs = f"{sizes.logits // 4:,} · 4 = {sizes.logits:,}"
        made.add_row("outputs down, their gradient up", outputs, outputs)
    push, pull = (_product(device.parameters, size) for size in (device.push, device.pull))
    made.add_row("push, and pull", push, pull)
    made.add_row("together", f"{traffic.up:,}", f"{traffic.down:,}")
    for update in traffic.smaller:
        made.add_row(
            f"with {counted(update.rows, 'example')}", f"{update.up:,}", f"{update.down:,}"
        )
    whole = traffic.whole
    made.add_row("without the cut", f"{whole.push:,}", f"{whole.pull:,}")
    made.add_row("share", _share(traffic.up, whole.push), _share(traffic.down, whole.pull))
    return made


def _title(traffic: CutTraffic) -> str:
    return (
        f"cut behind {traffic.name}, layer {traffic.layer} of {traffic.layers}: devices hold "
        f"{traffic.device.parameters:,} parameters, the server {traffic.server_parameters:,}"
    )


def _product(parameters: int, size: int) -> str:
    """Return `size` in bytes as a product with the number of `parameters`, if it is a multiple."""
    width, rest = divmod(size, parameters)
    return f"about {size:,}" if rest or not width else f"{parameters:,} · {width} = {size:,}"


def _share(size: int, whole: int) -> str:
    return f"{size / whole:.1%}"
