// The face of segments.cpp.
#include "module.hpp"

HF_TABLE(SegmentKernels, segments)

namespace {

struct Segments {
    const double* values;
    Index rows;
    const Index* ends;
    Index count;
};

Segments segments_of(const In2& values, const InPlaces& ends) {
    Index start = 0;
    for (Index s = 0; s < length(ends); s++) {
        check(ends.data()[s] >= start, "ends must not decrease");
        start = ends.data()[s];
    }
    check(length(values, 1) == start, "values must have a column per point");
    return {values.data(), length(values, 0), ends.data(), length(ends)};
}

Index total_of(const In2& packed, Index n) {
    check(n > 0 && length(packed, 0) == n * (n + 1) / 2, "packed must have a row per entry of the upper triangle");
    return length(packed, 1);
}

}  // namespace

void bind_segments(nb::module_& m) {
    m.def("segment_sums", [](In2 values, InPlaces ends, Rows out) {
        const Segments s = segments_of(values, ends);
        check(length(out, 0) == s.count && length(out, 1) == s.rows, "out must be (segments, rows)");
        nb::gil_scoped_release free;
        segments().sums(s.values, s.rows, s.ends, s.count, out.data());
    }, "values"_a.noconvert(), "ends"_a.noconvert(), "out"_a.noconvert());
    m.def("pool", [](In2 values, InPlaces ends, Cube out) {
        const Segments s = segments_of(values, ends);
        check(length(out, 0) == s.count && length(out, 1) == s.rows && length(out, 2) == 5, "out must be (segments, rows, 5)");
        nb::gil_scoped_release free;
        segments().pool(s.values, s.rows, s.ends, s.count, out.data());
    }, "values"_a.noconvert(), "ends"_a.noconvert(), "out"_a.noconvert());
    m.def("correlate", [](In2 values, InPlaces ends, Array<const Index, 2> pairs, double least, Rows out) {
        const Segments s = segments_of(values, ends);
        const Index asked = length(pairs, 0);
        check(length(pairs, 1) == 2 && length(out, 0) == s.count && length(out, 1) == asked, "out must be (segments, pairs)");
        for (Index p = 0; p < 2 * asked; p++) check(0 <= pairs.data()[p] && pairs.data()[p] < s.rows, "pairs must be rows");
        nb::gil_scoped_release free;
        segments().correlate(s.values, s.rows, s.ends, s.count, pairs.data(), asked, least, out.data());
    }, "values"_a.noconvert(), "ends"_a.noconvert(), "pairs"_a.noconvert(), "least"_a, "out"_a.noconvert());
    m.def("shares", [](Rows logs) {
        nb::gil_scoped_release free;
        segments().shares(logs.data(), length(logs, 0), length(logs, 1));
    }, "logs"_a.noconvert());
    m.def("eigenvalues", [](In2 packed, Rows out) {
        const Index n = length(out, 0), total = total_of(packed, n);
        check(n <= 3 && length(out, 1) == total, "out must be (n, total), with n up to 3");
        nb::gil_scoped_release free;
        segments().eigenvalues(packed.data(), n, total, out.data());
    }, "packed"_a.noconvert(), "out"_a.noconvert());
    m.def("eigenvalues_back", [](In2 packed, In2 given, Rows out) {
        const Index n = length(given, 0), total = total_of(packed, n);
        check(n <= 3 && length(given, 1) == total && length(out, 0) == length(packed, 0) && length(out, 1) == total,
              "given must be (n, total), with n up to 3, and out like packed");
        nb::gil_scoped_release free;
        segments().eigenvalues_back(packed.data(), given.data(), n, total, out.data());
    }, "packed"_a.noconvert(), "given"_a.noconvert(), "out"_a.noconvert());
    m.def("eigenvectors", [](In2 packed, Cube out) {
        const Index n = length(out, 0), total = total_of(packed, n);
        check(length(out, 1) == n && length(out, 2) == total, "out must be (n, n, total)");
        nb::gil_scoped_release free;
        segments().eigenvectors(packed.data(), n, total, out.data());
    }, "packed"_a.noconvert(), "out"_a.noconvert());
    m.def("by_point", [](In3 values, InPlaces rows, Index first, Index last, Cube out) {
        const Index width = length(values, 0), steps = length(values, 1), total = length(values, 2);
        check(length(rows) == total && length(out, 0) == total && length(out, 1) == steps && length(out, 2) == width,
              "out must be (points, times, width)");
        check_run(first, last, total);
        for (Index i = first; i < last; i++) check(0 <= rows.data()[i] && rows.data()[i] < total, "rows must be rows of out");
        nb::gil_scoped_release free;
        segments().by_point(values.data(), width, steps, total, rows.data(), first, last, out.data());
    }, "values"_a.noconvert(), "rows"_a.noconvert(), "first"_a, "last"_a, "out"_a.noconvert());
}
