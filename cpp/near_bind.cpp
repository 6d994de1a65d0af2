// The face of near.cpp.
#include "module.hpp"

HF_TABLE(NearKernels, near_sums)

void bind_near(nb::module_& m) {
    m.attr("SINGLE_ERROR") = SINGLE_ERROR;
    m.attr("TOTAL_ERROR") = TOTAL_ERROR;
    m.attr("TINY_TIME") = TINY_TIME;
    m.def("near", [](In2 targets, InPlaces rows, In1 times, In1 offsets, In2 sources, In1 roots, In3 boxes, In3 nodes, InPlaces begin,
                     InPlaces size, double near_cutoff, double weight_cutoff, double energy_cutoff, double tol, bool directions,
                     bool fourth, bool energy, bool single, Index first, Index last, Rows sums) {
        const Sources t = sources_of(targets), s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        const auto none_or = [](const auto& a, Index count) {
            check(length(a) == 0 || length(a) == count, "rows, offsets and roots must have a number per point, or none");
            return length(a) ? a.data() : nullptr;
        };
        check(t.n == s.n && s.n > 0, "targets and sources must have the same axes");
        check(length(times) == 1 || length(times) == t.m, "times must be one, or one per target");
        check_boxes(boxes, s);
        check(length(sums, 0) == t.m && length(sums, 1) == 5 + (directions ? s.n + s.n * (s.n + 1) / 2 : 0),
              "sums must be (targets, columns)");
        check_run(first, last, t.m);
        const NearTask task{t, none_or(rows, t.m), times.data(), length(times) > 1, none_or(offsets, t.m), s,
                            none_or(roots, s.m), boxes.data(), tree, near_cutoff, weight_cutoff, energy_cutoff, tol,
                            directions, fourth, energy, single};
        nb::gil_scoped_release free;
        near_sums().near(task, first, last, sums.data());
    }, "targets"_a.noconvert(), "rows"_a.noconvert(), "times"_a.noconvert(), "offsets"_a.noconvert(), "sources"_a.noconvert(),
       "roots"_a.noconvert(), "boxes"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(),
       "near_cutoff"_a, "weight_cutoff"_a, "energy_cutoff"_a, "tol"_a, "directions"_a, "fourth"_a, "energy"_a, "single"_a,
       "first"_a, "last"_a, "sums"_a.noconvert());
}
