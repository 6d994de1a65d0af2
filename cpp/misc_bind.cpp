// The face of misc.cpp.
#include "module.hpp"

HF_TABLE(MiscKernels, misc)

void bind_misc(nb::module_& m) {
    m.def("unpack_lzf", [](Array<const std::uint8_t, 1> packed, Array<std::uint8_t, 1> out) {
        nb::gil_scoped_release free;
        return misc().unpack_lzf(packed.data(), length(packed), out.data(), length(out));
    }, "packed"_a.noconvert(), "out"_a.noconvert());
    m.def("farthest", [](In2 sources, Row nearest, Places rows, Index first, Index last) {
        const Sources s = sources_of(sources);
        check(length(nearest) == s.m, "nearest must have a number per point");
        check_run(first, last, length(rows) - 1);
        check(first == last || (0 <= rows.data()[first] && rows.data()[first] < s.m), "the first row must be a point");
        nb::gil_scoped_release free;
        return misc().farthest(s, nearest.data(), rows.data(), first, last);
    }, "sources"_a.noconvert(), "nearest"_a.noconvert(), "rows"_a.noconvert(), "first"_a, "last"_a);
    m.def("walk", [](Array<const float, 2> features, InPlaces starts, Array<const std::int32_t, 1> feature, In1 threshold,
                     Array<const std::int32_t, 1> left, Array<const std::int32_t, 1> right, Array<const bool, 1> missing_left,
                     In1 value, Rows margins) {
        const Index trees = length(starts) - 1, nodes = length(feature), width = length(features, 1), outputs = length(margins, 1);
        const Index *begin = starts.data();
        check(length(threshold) == nodes && length(left) == nodes && length(right) == nodes && length(missing_left) == nodes &&
                  length(value) == nodes && trees >= 0 && begin[0] == 0 && begin[trees] == nodes,
              "the trees do not fit together");
        check(length(margins, 0) == length(features, 0) && outputs > 0, "margins must have a row per row of features");
        for (Index t = 0; t < trees; t++) {
            check_run(begin[t], begin[t + 1], nodes);
            check(begin[t] < begin[t + 1], "a tree must have a node");
            for (Index i = begin[t]; i < begin[t + 1]; i++) {
                const Index own = i - begin[t], size = begin[t + 1] - begin[t], l = left.data()[i], r = right.data()[i];
                check(l < 0 || (own < l && l < size && own < r && r < size && 0 <= feature.data()[i] && feature.data()[i] < width),
                      "the trees must name nodes behind their parents, and features that there are");
            }
        }
        nb::gil_scoped_release free;
        misc().walk(features.data(), length(features, 0), width, {starts.data(), feature.data(), left.data(), right.data(),
                    threshold.data(), value.data(), missing_left.data(), trees, outputs}, margins.data());
    }, "features"_a.noconvert(), "starts"_a.noconvert(), "feature"_a.noconvert(), "threshold"_a.noconvert(), "left"_a.noconvert(),
       "right"_a.noconvert(), "missing_left"_a.noconvert(), "value"_a.noconvert(), "margins"_a.noconvert());
    m.def("strauss", [](Array<std::uint64_t, 1> state, double beta, double gamma, double radius, Index steps, Index count, Rows points) {
        check(length(state) == 1 && length(points, 0) == 2, "state must be one number, and points (2, room)");
        check(steps >= 0 && count >= 0 && steps <= length(points, 1) && count <= length(points, 1) - steps,
              "points must have room for one more in every step");
        nb::gil_scoped_release free;
        return misc().strauss(state.data(), beta, gamma, radius, steps, count, points.data(), points.data() + length(points, 1));
    }, "state"_a.noconvert(), "beta"_a, "gamma"_a, "radius"_a, "steps"_a, "count"_a, "points"_a.noconvert());
}
