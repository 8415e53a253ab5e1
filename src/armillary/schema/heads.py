"""What is measured of attention heads."""

from armillary.schema.kinds import Group

GROUPS: dict[str, Group] = {}
