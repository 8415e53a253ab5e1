"""The written schema: every group of a run, its variables with axes, unit and meaning, the measures that make them.

docs/schema.md is this table in words; `store` checks files against it. A new measure is a function named in `measures`
and the rows of what it returns, in the file of its subject.
"""

from armillary.results.schema import (
    captured,
    claims,
    context,
    depth,
    gaussian,
    heads,
    naming,
    position,
    simulation,
    sphere,
    stores,
    training,
    weights,
)
from armillary.results.schema.kinds import FORMAT, Group, Variable

GROUPS: dict[str, Group] = {
    **captured.GROUPS,
    **position.GROUPS,
    **context.GROUPS,
    **depth.GROUPS,
    **heads.GROUPS,
    **naming.GROUPS,
    **weights.GROUPS,
    **sphere.GROUPS,
    **stores.GROUPS,
    **simulation.GROUPS,
    **claims.GROUPS,
    **gaussian.GROUPS,
    **training.GROUPS,
}
"""Every group that a run may hold, in the order of the data flow."""

__all__ = ["FORMAT", "GROUPS", "Group", "Variable"]
