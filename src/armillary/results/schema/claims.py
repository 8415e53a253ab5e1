"""What `armillary claims --run` adds: the verdicts on the statements of four documents."""

from armillary.results.schema.kinds import Group, Variable, axes

OF_CLAIM = axes("claim")

GROUPS: dict[str, Group] = {
    "claims": Group(
        "claims.nc",
        "verdicts on the quantitative statements of four documents, each by a check that ran",
        {
            "document": Variable(OF_CLAIM, "text", "letters of the document: BAO, SZ, TW, WE", label="document"),
            "place": Variable(OF_CLAIM, "text", "equation or section", label="place"),
            "statement": Variable(OF_CLAIM, "text", "the statement as published", label="statement"),
            "verdict": Variable(OF_CLAIM, "text", "the verdict; docs/claims.md explains the words", label="verdict"),
            "published": Variable(
                OF_CLAIM, "1", "what the published statement gives; NaN: no number", label="published"
            ),
            "corrected": Variable(OF_CLAIM, "1", "what the corrected statement gives", label="corrected"),
            "measured": Variable(OF_CLAIM, "1", "what was simulated or computed another way", label="measured"),
            "se": Variable(OF_CLAIM, "1", "standard error of what was simulated; NaN: no chance in it", label="SE"),
            "why": Variable(OF_CLAIM, "text", "the corrected statement and its reason", label="why"),
            "quantity": Variable(OF_CLAIM, "text", "what the numbers are", label="quantity"),
        },
        command="armillary claims",
        simulates="checks of published claims",
    ),
}
