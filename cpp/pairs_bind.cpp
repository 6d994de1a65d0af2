// The face of pairs.cpp.
#include "module.hpp"

HF_TABLE(PairKernels, pairs)

void bind_pairs(nb::module_& m) {
    m.def("dense", [](In1 sources, In1 boxes, InPlaces ends, In1 nearest, In2 times, Index n, double log_accuracy, bool single,
                      bool fourth, bool directions, Index first, Index last, Cube sums) {
        const Batch b = batch_of(sources, boxes, ends, times, n, log_accuracy, single);
        check(length(nearest) == b.total, "nearest must have a number per point");
        check(length(sums, 0) == 5 + (directions ? n + n * (n + 1) / 2 : 0) && length(sums, 1) == b.steps && length(sums, 2) == b.total,
              "sums must be (columns, times, points)");
        check_run(first, last, b.total);
        nb::gil_scoped_release free;
        pairs().dense(b, nearest.data(), (fourth ? 1 : 0) + (directions ? 2 : 0), first, last, sums.data());
    }, "sources"_a.noconvert(), "boxes"_a.noconvert(), "ends"_a.noconvert(), "nearest"_a.noconvert(), "times"_a.noconvert(),
       "n"_a, "log_accuracy"_a, "single"_a, "fourth"_a, "directions"_a, "first"_a, "last"_a, "sums"_a.noconvert());
    m.def("differences", [](In1 sources, In1 boxes, InPlaces ends, In2 times, Index n, double log_accuracy, bool single,
                            In3 values, InPlaces from, InPlaces to, Index first, Index last, Array<double, 4> out) {
        const Batch b = batch_of(sources, boxes, ends, times, n, log_accuracy, single);
        const Index fields = length(values, 0), tasks = length(from);
        check(!b.own_times, "times must have a column per cloud");
        check(length(values, 1) == b.steps && length(values, 2) == b.total, "values must be (fields, times, points)");
        check(length(to) == tasks, "from and to must have a number per task");
        for (Index p = 0; p < tasks; p++) {
            check(0 <= from.data()[p] && from.data()[p] < b.steps && 0 <= to.data()[p] && to.data()[p] < b.steps,
                  "from and to must be scales");
        }
        check(length(out, 0) == 2 && length(out, 1) == fields && length(out, 2) == tasks && length(out, 3) == b.total,
              "out must be (2, fields, tasks, points)");
        check_run(first, last, b.total);
        nb::gil_scoped_release free;
        pairs().differences(b, values.data(), fields, from.data(), to.data(), tasks, first, last, out.data());
    }, "sources"_a.noconvert(), "boxes"_a.noconvert(), "ends"_a.noconvert(), "times"_a.noconvert(), "n"_a, "log_accuracy"_a,
       "single"_a, "values"_a.noconvert(), "from_scale"_a.noconvert(), "to_scale"_a.noconvert(), "first"_a, "last"_a, "out"_a.noconvert());
}
