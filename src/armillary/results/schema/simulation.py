"""What `armillary simulate localization` makes, without a model: random walks, and curves of the theory beside them."""

from armillary.results.schema.kinds import Group, Variable, axes, with_error

FILE = "simulation.nc"
COMMAND = "armillary simulate localization"
LOCALIZATION = "localization"
PER_SETTING, PER_POSITION, ON_PLANE = axes("setting"), axes("setting position"), axes("eta xi position")
NARROWING = axes("product xi_growing position")

RHO = "probability that 0 ≤ g ≤ 1, g the softmax's tangent at 0"
GIVEN = {
    "mean": Variable(PER_SETTING, "1", "mean of the eigenvalues of W_QK", label="mean"),
    "scale": Variable(PER_SETTING, "1", "standard deviation of the eigenvalues of W_QK", label="scale"),
    "isotropic": Variable(PER_SETTING, "true or false", "whether Σ = I; otherwise RᵀR/d, R uniform on (−2.5, 2.5)"),
}
"""What makes a setting."""

OF_DRAWS = {
    "xi": Variable(PER_SETTING, "1", "ξ = tr W / √tr W², W = W_QK Σ / √d; mean over draws of W_QK", label="ξ"),
    "xi_sd": Variable(PER_SETTING, "1", "its standard deviation over draws of W_QK"),
    "eta": Variable(PER_SETTING, "1", "η = √tr W², mean over draws of W_QK", label="η"),
    "eta_sd": Variable(PER_SETTING, "1", "its standard deviation over draws of W_QK"),
    "trace": Variable(PER_SETTING, "1", "tr W = ξη, mean over draws of W_QK", label="tr W"),
}
MEASURED = {
    "rho": Variable(PER_POSITION, "1", f"share of walks in which 0 ≤ g ≤ 1: {RHO}", label="simulated ρ"),
    "probability": Variable(
        PER_POSITION, "1", "mean attention of the last query, by the softmax itself", label="attention"
    ),
    "slope": Variable(PER_POSITION, "1", "mean of p(1 − p), p that attention", label="slope of the softmax"),
    "entropy": Variable(PER_SETTING, "nats", "entropy of that attention, mean over walks", label="entropy"),
    "distance": Variable(
        PER_SETTING,
        "1",
        "total variation between softmax and its piecewise approximation, mean over walks; may exceed 1",
        label="distance of the piecewise softmax",
    ),
}
"""Monte Carlo, each with its standard error over walks at the drawn W_QK."""

THEORIES = {
    "rho_exact": Variable(PER_POSITION, "1", f"{RHO}, by its exact law; mean over draws of W_QK", label="exact ρ"),
    "rho_gaussian": Variable(
        PER_POSITION, "1", "the same for a Gaussian g with the exact mean and variance", label="Gaussian ρ"
    ),
    "rho_published": Variable(PER_POSITION, "1", "equation (6) as published", label="published ρ"),
}
JUDGED = {
    "published_error": Variable(
        PER_SETTING, "1", "largest |published − simulated ρ| over positions", label="error of the published ρ"
    ),
    "gaussian_error": Variable(
        PER_SETTING, "1", "largest |Gaussian − simulated ρ| over positions", label="error of the Gaussian ρ"
    ),
    "exact_error": Variable(
        PER_SETTING, "1", "largest |exact − simulated ρ| over positions", label="error of the exact ρ"
    ),
    "exact_deviation": Variable(
        PER_SETTING,
        "SE",
        "largest |exact − simulated ρ| over positions in standard errors, the measured or the exact law's",
        label="deviation of the exact ρ",
    ),
    "regime": Variable(PER_SETTING, "text", "late, middle, early, uniform or vanishing: where the exact ρ is in focus"),
    "clipped": Variable(
        PER_SETTING, "true or false", "whether clipping at 1 makes a middle focus that the softmax does not have"
    ),
}

CURVES = {
    "softmax": Variable(axes("score"), "1", "softmax of two keys, by the difference of their scores", label="softmax"),
    "piecewise": Variable(axes("score"), "1", "its tangent at 0, clipped to [0, 1]", label="piecewise linear"),
    **with_error(
        "piecewise_distance",
        Variable(
            axes("keys deviation"), "1", "total variation between the two, normal scores", label="total variation"
        ),
        "simulated",
    ),
    "piecewise_distance_small": Variable(
        axes("deviation"),
        "1",
        "its law for small scores of many keys, deviation² e^(−1/2)/√(2π)",
        label="law of small scores",
    ),
    "rho": Variable(ON_PLANE, "1", "Gaussian ρ with exact moments, at the length of the walks", label="corrected ρ"),
    "rho_many": Variable(ON_PLANE, "1", "the same at the same places i/T of 100 000 tokens", label="corrected ρ"),
    "rho_published": Variable(ON_PLANE, "1", "equation (6) as published", label="published ρ"),
    "rho_narrowing": Variable(NARROWING, "1", "Gaussian ρ with exact moments, 100 000 tokens, ξη held fixed"),
    "rho_narrowing_published": Variable(NARROWING, "1", "equation (6) as published, ξη held fixed"),
    "bound_published": Variable(axes("nu"), "nats", "lower bound (9) on the entropy as published", label="published"),
    "bound_corrected": Variable(axes("nu"), "nats", "the least entropy of scores of that norm", label="corrected"),
    "entropy_largest": Variable((), "nats", "log T, the largest entropy over the walks' tokens", label="log T"),
}
"""What the theory says by itself: figures 1 to 4 of the document, published and corrected."""


def with_errors(rows: dict[str, Variable]) -> dict[str, Variable]:
    """Each variable, followed by its standard error over simulated walks."""
    return {name: row for one, base in rows.items() for name, row in with_error(one, base, "simulated").items()}


GROUPS: dict[str, Group] = {
    "localization_simulation": Group(
        FILE,
        "attention localization of random walks, simulated beside the exact, the Gaussian and the published law",
        {**GIVEN, **OF_DRAWS, **with_errors(MEASURED), **THEORIES, **JUDGED},
        command=COMMAND,
        simulates=LOCALIZATION,
    ),
    "localization_theory": Group(
        FILE,
        "curves of the theory of attention localization, published and corrected",
        CURVES,
        command=COMMAND,
        simulates=LOCALIZATION,
    ),
}
