"""The words for feature columns: what a block, a channel and a statistic is. Stated here only.

The dictionary beside a table of ``describe`` and the reference of the documentation read them.
"""

from __future__ import annotations

# A block of the descriptor in one line.
BLOCKS = {
    "global": "of the cloud as a whole: energy E2, response C2, roughness, relative roughness",
    "hds": "heat dimension spectrum: share of the points near a dimension; contrast: that share "
    "weighted by heat, minus the plain share",
    "density": "heat field u at the points, pooled over them (joint: its logarithm)",
    "dimension": "heat dimension: 1 on a filament, 2 on a surface, 3 in a volume",
    "transition": "tau, how fast the dimension changes with log t",
    "spectrum": "2t times an eigenvalue of the log-Hessian: 0 along the data, -1 across",
    "gradient": "sqrt(2t) |grad log u|: how far to one side the neighbours lie",
    "correlation": "correlation of two channels over the points",
    "coupling": "correlation of a channel with itself at a coarser scale",
    "neighbourhood": "how much a channel of the first scale varies around a point, weighted at the second",
}
# Columns of a table of `describe` that are no features.
BESIDE = {
    "file": "where the cloud came from",
    "points_in_file": "points in the file; nodes of a skeleton, vertices of a mesh",
    "points": "points that were described",
    "label": "class, from the folder or from --labels",
    "r_nn": "mean distance to the nearest other point, in the unit of the data",
    "diameter": "largest distance between two points, in the unit of the data",
}
BESIDE_LENGTH = "sqrt(t) of this scale, in the unit of the data"  # length_s0, length_s1, ...
# Of the values at the points; `pooling.STATISTICS` gives the order.
STATISTICS = {
    "mean": "mean over the points",
    "std": "standard deviation over the points",
    "p10": "10th percentile over the points: nine of ten points lie above it",
    "p50": "median over the points",
    "p90": "90th percentile over the points: one point of ten lies above it",
}
# Signature of a point: what it is, unit, what a high value means.
LOCAL = {
    "density": ("heat field u", "length⁻ⁿ", "many points within about √t: a crowded place"),
    "log density": ("log of the heat field, log u", "log of length⁻ⁿ", "a crowded place"),
    "dimension": (
        "heat dimension d",
        "pure number",
        "space is filled at this scale: about 1 on a filament, 2 on a surface, 3 in a volume; near 0 a point "
        "has no neighbours in reach",
    ),
    "transition": (
        "transition τ, change of d per unit of log t",
        "pure number",
        "d rises with the scale: points begin to have neighbours, or a thin part meets a thicker one. Below "
        "0: the coarser view is simpler, as where thickness or the end of the cloud is reached. Junctions "
        "and boundaries have large values of either sign",
    ),
    "gradient": (
        "length of the gradient of log u, √(2t)·|∇ log u|",
        "pure number",
        "neighbours lie to one side: ends, edges, and points beside something denser",
    ),
}
# Columns of points that follow from spectrum and directions: e_k = 1 + 2tλ_k is the extent along a direction.
SHAPE = {
    "linearity": ("(e₁ - e₂) / e₁", "1 on a filament, 0 on a surface and in a volume"),
    "planarity": ("(e₂ - e₃) / e₁", "1 on a surface, 0 on a filament and in a volume"),
    "sphericity": ("eₙ / e₁", "1 in a volume, 0 on a filament or surface"),
    "verticality": ("1 - |n_z| of the normal", "1 on a wall, 0 on level ground"),
    "normal": ("a coordinate of the unit normal, which points up", "the surface faces this axis"),
    "local_type": (
        "code of the local type: 0 point, 1 filament, 2 surface, 3 volume, 4 junction, 5 undefined",
        "a code, not a quantity",
    ),
}
# Quantity of the whole cloud: what it is, unit, what a high value means.
GLOBAL = {
    "energy": ("E₂ = ∫u² dy", "length⁻ⁿ", "heat is concentrated: points overlap strongly"),
    "response": (
        "C₂ = -t ∂ log E₂/∂t",
        "pure number",
        "E₂ falls fast with the scale: about (n - d)/2 in a regime of dimension d, so high means thin parts",
    ),
    "roughness": ("Dirichlet energy ∫|∇u|² dy", "length⁻ⁿ⁻²", "the heat landscape is steep"),
    "relative_roughness": ("Dirichlet energy over E₂", "length⁻²", "steep for its height: fine structure"),
}
EIGENVALUE = (
    "0: neighbours extend evenly along this direction; -1: not at all; above 0: more far than near ones, "
    "as between two parts"
)
# Which eigenvalue; beyond the third, a number.
ORDINAL = {1: "largest", 2: "second", 3: "third"}
