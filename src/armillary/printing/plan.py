"""What a survey will cost, in words."""

import json
from dataclasses import asdict, fields
from typing import Any

from armillary.system.texts import numbered


def lines(cost: Any) -> list[str]:
    """A line for each kind of cost, the verdict first."""
    rates, many = cost.rates, cost.workers > 1
    where = f"{cost.workers} workers like this machine" if many else "this machine"
    found = [
        f"{numbered(cost.contexts, 'window')} of {cost.length} tokens on {where}: {duration(cost.seconds)}",
        f"time     pass {duration(cost.seconds_pass)}, tables, measures and files {duration(rates.after)}",
        f"memory   {size(cost.memory)} beyond the model, which takes {size(cost.memory_model)}",
        f"disk     {size(cost.disk)}",
    ]
    if many:
        found.append(f"network  {size(cost.network)} in {numbered(cost.shards, 'state')} of {size(rates.state_bytes)}")
        found.append(f"worker   {size(cost.memory_worker)} of memory each, model and sums of one shard")
    found.append(f"error    about {100 * cost.se:.2g} %, the largest SE of the position share over layers")
    if cost.windows_for_se is not None:
        found.append(f"wanted   about {numbered(cost.windows_for_se, 'window')} for the SE that is asked for")
    found.append(
        f"measured on {numbered(rates.windows, 'window')}: forward {1e6 * rates.forward:.0f} µs and sums "
        f"{1e6 * rates.sums:.0f} µs per token, merging {1e3 * rates.merging:.0f} ms per shard"
    )
    return found


def as_json(cost: Any) -> str:
    """Every number, in seconds and bytes."""
    return json.dumps(asdict(cost), indent=1)


def as_csv(cost: Any) -> str:
    """Every number but the measured rates, in one row."""
    names = [each.name for each in fields(cost) if each.name != "rates"]
    return f"{','.join(names)}\n{','.join(str(getattr(cost, name)) for name in names)}"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, two digits."""
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.{0 if seconds >= 10 * length else 1}f} {unit}"
    return f"{seconds:.{0 if seconds >= 10 else 1}f} s"


def size(count: int) -> str:
    """Bytes in the unit that gives few digits."""
    for unit, length in (("TB", 1e12), ("GB", 1e9)):
        if count >= length:
            return f"{count / length:.1f} {unit}"
    return f"{count / 1e6:.0f} MB"
