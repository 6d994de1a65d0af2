// The face of gradients.cpp.
#include "module.hpp"

HF_TABLE(GradientKernels, gradients)

void bind_gradients(nb::module_& m) {
    m.def("dense_back", [](In1 sources, In1 boxes, InPlaces ends, In1 nearest, In2 times, Index n, double log_accuracy, bool single,
                           In3 given, bool fourth, bool directions, bool energy, InPlaces rows, Index first, Index last,
                           Cube by_points, Cube by_times) {
        const Batch b = batch_of(sources, boxes, ends, times, n, log_accuracy, single);
        check(n <= 3, "gradients must be in at most three dimensions");
        check(!b.own_times || b.total == 1, "times must have a column per cloud");
        check(length(nearest) == b.total, "nearest must have a number per point");
        check(length(given, 0) == 5 + (directions ? n + n * (n + 1) / 2 : 0) && length(given, 1) == b.steps && length(given, 2) == b.total,
              "given must be (columns, times, points)");
        const Index tables = length(by_points, 0);
        check(length(rows) == b.count, "rows must have a number per cloud");
        for (Index c = 0, start = 0; c < b.count; start = ends.data()[c++])
            check(rows.data()[c] > 0 && ends.data()[c] - start <= tables * rows.data()[c], "there must be a table for all rows");
        check(length(by_points, 1) == n && length(by_points, 2) == b.total && length(by_times, 0) == tables &&
                  length(by_times, 1) == b.steps && length(by_times, 2) == b.count,
              "by_points must be (tables, n, points), and by_times (tables, times, clouds)");
        check_run(first, last, b.total);
        const int wanted = (fourth ? 1 : 0) + (directions ? 2 : 0);
        nb::gil_scoped_release free;
        gradients().sums_back(b, nearest.data(), {given.data(), wanted, energy, rows.data(), by_points.data(), by_times.data()},
                              first, last);
    }, "sources"_a.noconvert(), "boxes"_a.noconvert(), "ends"_a.noconvert(), "nearest"_a.noconvert(), "times"_a.noconvert(),
       "n"_a, "log_accuracy"_a, "single"_a, "given"_a.noconvert(), "fourth"_a, "directions"_a, "energy"_a, "rows"_a.noconvert(),
       "first"_a, "last"_a, "by_points"_a.noconvert(), "by_times"_a.noconvert());
}
