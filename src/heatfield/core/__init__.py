"""From points to sums over pairs, and from sums to geometry.

An arrow points to what a module imports, all others to the left of it may be imported too::

    moments <- clouds <- fourier <- planner <- sums <- per_point_times, query_points <- evaluate
    formulas <--------------------------------------------------------------------------'
    bounds

* `moments`: the table of sums, with unit and Fourier factor of each; `formulas`: the paper's equations.
* `clouds`: points arranged in blocks and in a tree of boxes, targets, ragged batches, buffers.
* `fourier`: the sums of one scale through one grid.
* `planner`: what is asked (`Request`), dense, near or transform by constant costs, the record of it (`Plan`).
* `sums`: dense sums of a batch, near sums and transforms of one scale to a tolerance.
* `per_point_times`, `query_points`: the same where every target has its own time, or is not a source.
* `evaluate`: signatures from the sums.
* `bounds`: the errors that the fast path guarantees.

For one cloud, `evaluate` asks `planner.use_dense`. Dense: `sums.dense_sums`, then `signatures_of_points`.
Fast, scale by scale: `planner.split_scale`, `sums.scale_sums`, then `signatures_of_scale`. Inner loops are in
cpp/, and docs/theory/fast.md explains the fast path.
"""
