"""The measurements as a page of text."""

from typing import Any

from . import durable, planning
from .codecs import patches, trained
from .containers import compute_groups
from .links import box_loop
from .virtual.cost import each

WIDTH = 56
QUIET = 0.05
"""Share of the machine that other work may take before the figures are doubted."""


def page(found: dict[str, Any]) -> str:
    host = found["host"]
    lines = [f"{host['processor']}, {host['cores']} cores, Linux {host['kernel']}", ""]
    if "run" in found:
        lines += [*_rates(found), "", *_costs(found), "", *_memory(found)]
        lines += [*_doubts(found), ""]
    if "durable" in found:
        known = found["durable"]
        lines += [*durable.lines(known["costs"], known["gradients"]), ""]
    if "coding" in found:
        lines += [*_coding(found["coding"]), "", *_segments(found["segments"]), ""]
        lines += [*_trained(found["trained"]), ""]
        lines += [*_patches(found["patches"]), ""]
    if "box" in found:
        lines += [*box_loop.lines(found["box"]), ""]
    if "schedules" in found:
        lines += [*_schedules(found["schedules"]), ""]
    if "overlap" in found:
        lines += [*_overlap(found["overlap"]), ""]
    if "groups" in found:
        lines += [*compute_groups.lines(found["groups"]), ""]
    if "virtual" in found:
        lines += _virtual(found["virtual"])
    return "\n".join(lines).rstrip()


def _rates(found: dict[str, Any]) -> list[str]:
    gradient, exchange, runs = found["gradient"], found["exchange"], found["run"]
    up, down = exchange["up_bytes"] / 1e3, exchange["down_bytes"] / 1e6
    alone = gradient["eight"]
    bounds = [_both(alone, exchange[kind]) for kind in runs]
    rates = [run["updates_per_second"] for run in runs.values()]
    return [
        _row("a second", *runs),
        _row("gradient alone, one process", f"{gradient['one_core']:.0f}"),
        _row("gradient alone, 8 processes on all cores", f"{alone:.0f}"),
        _row(
            f"ZeroMQ alone, 8 peers: {up:.1f} kB up, {down:.2f} MB down",
            *[f"{exchange[kind]:.0f}" for kind in runs],
        ),
        _row("bound: a gradient and an exchange", *[f"{bound:.0f}" for bound in bounds]),
        _row("emulate run, 8 devices: updates", *[f"{rate:.0f}" for rate in rates]),
        _row(
            "  share of the bound",
            *[f"{rate / bound:.0%}" for rate, bound in zip(rates, bounds, strict=True)],
        ),
        _row("  share of the gradient alone", *[f"{rate / alone:.0%}" for rate in rates]),
    ]


def _costs(found: dict[str, Any]) -> list[str]:
    costs = [run["milliseconds_per_update"] for run in found["run"].values()]
    rows = [_row(f"  {who}", *[f"{cost[who]:.2f}" for cost in costs]) for who in costs[0]]
    return [
        _row("ms of a core an update", *found["run"]),
        *rows,
        _row("  sum without others", *[f"{_own(cost):.2f}" for cost in costs]),
    ]


def _memory(found: dict[str, Any]) -> list[str]:
    heavy = [run["private_bytes"] for run in found["run"].values()]
    rows = [_row(f"  {who}", *[f"{each[who] / 1e6:.1f}" for each in heavy]) for who in heavy[0]]
    return [_row("MB of private memory, the largest of each", *found["run"]), *rows]


def _coding(found: dict[int, Any]) -> list[str]:
    lines = []
    for size, parts in found.items():
        copy = parts["top"]["copy"]
        lines += [_narrow(f"{size:,} parameters", "ms", "GB/s", "copies"), "  the largest 1 %"]
        for step, took in parts["top"].items():
            lines.append(_timed(f"    {step}", size, took, copy))
        if not any(step.startswith("TensorFlow") for step in parts["top"]):
            lines.append("    TensorFlow's top_k: its Python package is not installed here")
        for part in ("codecs", "indices", "values"):
            lines += [_narrow(f"  {part}", "ms", "GB/s", "copies", "decode, ms", "bytes")]
            for name, took in parts[part].items():
                line = _timed(f"    {name}", size, took["encode"], copy)
                lines.append(line + f"{took['decode']:>12.2f}{took['bytes']:>12,}")
        lines.append("")
    return lines[:-1]


def _segments(found: dict[str, dict[str, float]]) -> list[str]:
    heads = ["whole, ms", "by layer", "recut", "bytes more"]
    lines = [_narrow("an update in a segment for each layer", *heads)]
    for name, took in found.items():
        times = [f"{took[step] / took['whole']:.2f}" for step in ("cut", "recut")]
        more = f"{took['cut bytes'] - took['whole bytes']:+,}"
        lines.append(_narrow(f"  {name}", f"{took['whole']:.2f}", *times, more))
    return lines


def _trained(found: dict[str, Any]) -> list[str]:
    heads = ["bits", "write, us", "read, us"]
    return [
        f"a gradient of {trained.MODEL} after {trained.LOOKED_AT[0]} updates and more, 1 %",
        _narrow(f"  {found['entries']:,} indices", *heads),
        *[
            _narrow(
                f"    {name}",
                f"{row['bits']:.1f}",
                f"{1e3 * row['encode']:.0f}",
                f"{1e3 * row['decode']:.0f}",
            )
            for name, row in found["indices"].items()
        ],
        _narrow("    a random set, at least", f"{found['least']:.1f}"),
        _narrow("  an update, dense over sent", ""),
        *[_narrow(f"    {pair}", f"{times:.0f}") for pair, times in found["updates"].items()],
    ]


def _patches(found: dict[int, Any]) -> list[str]:
    lines = [
        f"to apply an update and send a patch to who is {patches.BEHIND} versions behind, ms",
        _narrow("", "f32", "f16"),
    ]
    for size, took in found.items():
        lines.append(_narrow(f"    {size:,} parameters", *[f"{ms:.1f}" for ms in took.values()]))
    return lines


def _schedules(found: planning.Figures) -> list[str]:
    baseline = {layers: row[planning.BASELINE] or 0.0 for layers, row in found.items()}
    names = [planning.BASELINE, *planning.SCHEDULES]
    lines = [_narrow("planning, ms: layers", *[f"{layers:,}" for layers in found])]
    for name in names:
        lines.append(_narrow(f"  {name}", *[_given(row[name], ".3f") for row in found.values()]))
    lines.append("times the spans of a plan")
    for name in names[1:]:
        ratios = [(row[name], baseline[layers]) for layers, row in found.items()]
        times = [took and took / spans for took, spans in ratios]
        lines.append(_narrow(f"  {name}", *[_given(ratio, ",.1f") for ratio in times]))
    return lines


def _overlap(found: list[dict[str, Any]]) -> list[str]:
    lines = [
        _row("two devices at 200 mbit in containers", "iteration, ms", "speed-up", "as planned")
    ]
    base = 0.0
    for row in found:
        if row["schedule"] == "sequential":
            base = row["seconds"]
            lines.append(f"  {row['model']}, batch {row['batch']}, set-up {row['setup']}")
        values = f"{1e3 * row['seconds']:.1f}", f"{base / row['seconds']:.2f}"
        planned = "-" if row["deviation"] is None else f"{row['deviation']:+.1%}"
        cuts = f"  {row['cuts']}" if row["cuts"] else ""
        lines.append(_row(f"    {row['schedule']}", *values, planned) + cuts)
    return lines


def _given(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _timed(what: str, size: int, took: float, copy: float) -> str:
    return _narrow(what, f"{took:.2f}", f"{4 * size / took / 1e6:.1f}", f"{took / copy:.1f}")


def _virtual(found: dict[str, Any]) -> list[str]:
    training, large = found["training"], found["large"]
    gradients = training["updates"] * training["gradient_seconds"]
    alone = training["bound_seconds"] / 1.5
    own = found["scaling"]["own"]
    heads = [f"{point['devices']:,}" for point in own]

    def held(point: dict[str, float]) -> float:
        return point["peak_bytes"] / point["devices"] / 1e3

    return [
        _row(f"virtual time, {training['devices']} devices train", ""),
        _row("  updates", f"{training['updates']:,}"),
        _row("  their gradients alone, s of one core", f"{gradients:.1f}"),
        _row("  their gradients alone, s on all cores", f"{alone:.1f}"),
        _row("  the run, s", f"{training['seconds']:.1f}"),
        _row("  times gradients alone", f"{training['seconds'] / alone:.2f}"),
        _row("  encoding and steps with them, nothing else", f"{training['bare']:.2f}"),
        _row(
            "  heap, links and server: share of all cores",
            f"{training['share_of_heap_links_and_server']:.0%}",
        ),
        "",
        _row(f"virtual time, {large['devices']:,} devices, traffic only", ""),
        _row("  updates", f"{large['updates']:,}"),
        _row("  the run, s", f"{large['seconds']:.0f}"),
        _row("  peak memory, MB", f"{large['peak_bytes'] / 1e6:.0f}"),
        "",
        _row("virtual time, us an event: devices", *heads),
        *[
            _row(f"  server's link: {kind}", *[f"{each(point):.1f}" for point in points])
            for kind, points in found["scaling"].items()
        ],
        _row("  peak memory, kB a device", *[f"{held(point):.1f}" for point in own]),
        _row("  s of a core before the first update", *[f"{p['seconds_before']:.1f}" for p in own]),
        _row("  s of a core in all, 120,000 updates", *[f"{p['busy_seconds']:.1f}" for p in own]),
        f"drawn: {found['figure']}",
    ]


def _doubts(found: dict[str, Any]) -> list[str]:
    runs = found["run"].values()
    share = max(run["others_share"] for run in runs)
    if share < QUIET:
        return []
    cores = found["host"]["cores"]
    alone = [f"{1e3 * cores / _own(run['milliseconds_per_update']):.0f}" for run in runs]
    return [
        "",
        f"WARNING: other work took up to {share:.0%} of this machine: measure again.",
        f"By what an update cost, the runs alone would have done up to {' and '.join(alone)}.",
    ]


def _own(cost: dict[str, float]) -> float:
    return sum(spent for who, spent in cost.items() if who != "others")


def _both(one: float, other: float) -> float:
    """Pairs a second, if each second is shared between the two."""
    return 1 / (1 / one + 1 / other)


def _row(what: str, *values: str) -> str:
    return f"{what:<{WIDTH}}" + "".join(f"{value:>16}" for value in values)


def _narrow(what: str, *values: str) -> str:
    return f"{what:<28}" + "".join(f"{value:>12}" for value in values)
