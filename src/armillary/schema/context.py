"""What is measured of contexts: likeness within and between documents, and towards positions."""

from armillary.schema.kinds import Group

GROUPS: dict[str, Group] = {}
