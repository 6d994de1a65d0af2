"""Fitted scikit-learn read-outs as arrays and plain values, and back; nothing is pickled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer

# What prediction reads, step by step: arrays, lists of arrays, and plain values.
_ARRAYS = {
    "gapimputer": ("fill_",),
    "roundoffscaler": ("mean_", "scale_", "constant_"),
    "annealedmlp": (),
    "lineardiscriminantanalysis": ("coef_", "intercept_", "priors_", "means_"),
    "svc": (
        "support_", "support_vectors_", "_n_support", "dual_coef_", "_dual_coef_", "intercept_",
        "_intercept_", "_probA", "_probB", "class_weight_", "_num_iter", "n_iter_",
    ),
}  # fmt: skip
_LISTS = {"annealedmlp": ("coefs_", "intercepts_")}
_VALUES = {
    "lineardiscriminantanalysis": ("temperature_",),
    "annealedmlp": ("n_outputs_", "n_layers_", "out_activation_", "n_iter_", "t_", "loss_", "best_loss_"),
    "svc": ("_sparse", "_gamma", "_effective_probability", "fit_status_", "nu", "epsilon", "shape_fit_"),
}


def pack(readout: Pipeline) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Plain values and arrays of a fitted read-out."""
    values: dict[str, Any] = {}
    tensors: dict[str, NDArray] = {}
    for step, model in readout.named_steps.items():
        mine = values.setdefault(step, {"n_features_in_": int(model.n_features_in_)})
        for name in _VALUES.get(step, ()):
            if hasattr(model, name):  # private ones come and go with scikit-learn's versions
                value = getattr(model, name)
                mine[name] = value.item() if isinstance(value, np.generic) else value
        for name in _ARRAYS[step]:
            tensors[f"{step}.{name}"] = np.asarray(getattr(model, name))
        for name in _LISTS.get(step, ()):
            tensors |= {f"{step}.{name}.{i}": array for i, array in enumerate(getattr(model, name))}
    return values, tensors


def unpack(
    readout: Pipeline, values: Mapping[str, Any], tensors: Mapping[str, NDArray], classes: NDArray, width: int
) -> Pipeline:
    """Fill an unfitted read-out of the same kind; a ValueError where a part is missing or misshapen."""
    try:
        for step, model in readout.named_steps.items():
            mine = dict(values[step])
            for name in ("n_features_in_", *_VALUES.get(step, ())):
                if name in mine:
                    value = mine[name]
                    setattr(model, name, tuple(value) if isinstance(value, list) else value)
            for name in _ARRAYS[step]:
                setattr(model, name, np.array(tensors[f"{step}.{name}"]))
            for name in _LISTS.get(step, ()):
                count = int(mine["n_layers_"]) - 1
                setattr(model, name, [np.array(tensors[f"{step}.{name}.{i}"]) for i in range(count)])
            if step in ("annealedmlp", "lineardiscriminantanalysis", "svc"):
                model.classes_ = classes
            if step == "annealedmlp":
                model._label_binarizer = LabelBinarizer().fit(classes)
            _check_shapes(step, model, len(classes), width)
            odd = [name for name in _ARRAYS[step] if not _is_finite(getattr(model, name))]
            if odd:
                raise ValueError(f"{odd[0]} of the saved {step} holds values that are no finite numbers")
            if step == "roundoffscaler" and (model.scale_ <= 0).any():
                raise ValueError("scale_ of the saved roundoffscaler holds values that are not above 0")
            if model.n_features_in_ != width:
                raise ValueError(f"the saved {step} has {model.n_features_in_!r} features, expected {width}")
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"the saved read-out is incomplete: {error}") from None
    return readout


def _is_finite(array: NDArray) -> bool:
    return array.dtype.kind in "biuf" and bool(np.isfinite(array).all())


def _check_shapes(step: str, model: Any, classes: int, width: int) -> None:
    """Shapes that fit together: what is handed to libsvm must not reach beyond its arrays."""
    outputs = 1 if classes == 2 else classes
    wanted: dict[str, tuple[int, ...]] = {}
    if step in ("gapimputer", "roundoffscaler"):
        wanted = dict.fromkeys(_ARRAYS[step], (width,))
    elif step == "lineardiscriminantanalysis":
        wanted = {"coef_": (outputs, width), "intercept_": (outputs,), "means_": (classes, width)}
        temperature = getattr(model, "temperature_", 1.0)  # older models have none
        if type(temperature) is not float or not 0.0 < temperature < np.inf:
            raise ValueError(f"the saved temperature is {str(temperature)[:40]}, expected a number above 0")
    elif step == "svc":
        count = int(model.support_vectors_.shape[0])
        pairs = classes * (classes - 1) // 2
        wanted = {"support_": (count,), "support_vectors_": (count, width), "_n_support": (classes,)}
        wanted |= {"_dual_coef_": (classes - 1, count), "_intercept_": (pairs,)}
        wanted |= {"_probA": (0,), "_probB": (0,)}
        # libsvm indexes its arrays by these numbers without checking their lengths.
        if model._n_support.sum() != count or (model._n_support < 0).any() or model._sparse is not False:
            raise ValueError("the saved support vectors do not fit together")
        types = {
            name: getattr(model, name).dtype for name in ("support_vectors_", "_dual_coef_", "_intercept_")
        }
        if (
            {*types.values()} != {np.dtype(np.float64)}
            or {model._n_support.dtype, model.support_.dtype} != {np.dtype(np.int32)}
            or not isinstance(model._gamma, float)
            or not 0.0 < model._gamma < np.inf
        ):
            raise ValueError("the saved support vectors have a wrong type")
    else:
        before = width
        for i, (weights, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
            after = weights.shape[-1]
            if weights.shape != (before, after) or bias.shape != (after,):
                raise ValueError(
                    f"layer {i} of the saved network has shape {weights.shape}, expected {before} inputs"
                )
            before = after
            if not _is_finite(weights) or not _is_finite(bias):
                raise ValueError(f"layer {i} of the saved network holds values that are no finite numbers")
        if before != outputs or model.n_outputs_ != outputs:
            raise ValueError(f"the saved network has {before} outputs for {classes} classes")
        if model.out_activation_ != ("logistic" if outputs == 1 else "softmax"):
            raise ValueError(f"the saved network ends in {model.out_activation_!r}")
    for name, shape in wanted.items():
        if getattr(model, name).shape != shape:
            raise ValueError(
                f"{name} of the saved {step} must have shape {shape}, got {getattr(model, name).shape}"
            )
