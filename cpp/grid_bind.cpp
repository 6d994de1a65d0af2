// The face of grid.cpp.
#include "module.hpp"

HF_TABLE(GridKernels, grid)

namespace {

Stencil stencil_of(const In2& table, Index width, const In1& center, const In1& steps, Index n) {
    const Index lanes = length(table, 1);
    check((n == 1 || n == 2 || n == 3) && length(center) == n && length(steps) == n, "center and steps must have a number per axis");
    check(lanes == 4 || lanes == 8 || lanes == 12 || lanes == 16, "the kernel must have 4, 8, 12 or 16 lanes");
    check(0 < width && width <= lanes, "the width must fit into the lanes");
    return {table.data(), length(table, 0), lanes, width, n, center.data(), steps.data()};
}

// Points (n, p) of which each axis is contiguous: all columns of an array, or some.
using Columns = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
Index stride_of(const Columns& points) {
    check(length(points, 1) < 2 || points.stride(1) == 1, "the points must lie side by side along each axis");
    return Index(points.stride(0));
}

using Boxes = Array<Index, 2>;
using InBoxes = Array<const Index, 2>;

// Boxes as rows of numbers: first, last, the corner, the size.
const Box* boxes_of(const InBoxes& rows, Index grids, Index margin) {
    check(length(rows, 1) == 8, "boxes must have eight columns");
    static_assert(sizeof(Box) == 8 * sizeof(Index));
    const Box* boxes = (const Box*)rows.data();
    for (Index b = 0; b < length(rows, 0); b++) {
        for (Index size : boxes[b].size) check(0 < size && size <= grids, "the boxes must fit into their grids");
        const double volume = double(boxes[b].size[0]) * double(boxes[b].size[1]) * double(boxes[b].size[2] + margin);
        check(volume <= double(grids), "the boxes must fit into their grids");
        grids -= Index(volume);
    }
    return boxes;
}

}  // namespace

void bind_grid(nb::module_& m) {
    m.def("interpolate", [](In3 values, In2 table, Index width, In1 center, In1 steps, Columns places, Index first, Index last, In2 map, Index column, Rows sums) {
        const Index n = length(places, 0), columns = length(map, 1), derivatives = length(map, 0), stride = stride_of(places);
        const Stencil s = stencil_of(table, width, center, steps, n);
        const Index shape[3] = {length(values, 0), length(values, 1), length(values, 2)};
        check((n == 3 ? shape[0] >= width : shape[0] == 1) && (n >= 2 ? shape[1] >= width : shape[1] == 1) && shape[2] > s.lanes,
              "the grid must have room for a kernel, and its last axis must be continued by the lanes");
        check(derivatives == 1 || derivatives == 1 + n + n * (n + 1) / 2, "map must have a row for W, or for each derivative");
        check(0 < columns && columns <= 16 && 0 <= column && column + columns <= length(sums, 1) && length(sums, 0) == length(places, 1),
              "sums must have a row per place and the columns of the map");
        check_run(first, last, length(places, 1));
        nb::gil_scoped_release free;
        return grid().interpolate(s, values.data(), shape, places.data(), stride, first, last, map.data(), derivatives,
                                  columns, sums.data() + column, length(sums, 1));
    }, "values"_a.noconvert(), "table"_a.noconvert(), "width"_a, "center"_a.noconvert(), "steps"_a.noconvert(), "places"_a.noconvert(),
       "first"_a, "last"_a, "map"_a.noconvert(), "column"_a, "sums"_a.noconvert());
    m.def("boxes_of_runs", [](Columns points, Index width, In1 center, In1 steps, Index first, Index last, Boxes boxes) {
        const Index n = length(points, 0), stride = stride_of(points);
        check(0 < n && n <= 3 && length(center) == n && length(steps) == n && 0 < width && width <= 16, "center and steps must have a number per axis");
        check_run(first, last, length(points, 1));
        check(length(boxes, 0) >= last - first && length(boxes, 1) == 8, "there must be room for a box per point");
        const Stencil s{nullptr, 0, 0, width, n, center.data(), steps.data()};
        nb::gil_scoped_release free;
        return grid().boxes(s, points.data(), stride, first, last, (Box*)boxes.data());
    }, "points"_a.noconvert(), "width"_a, "center"_a.noconvert(), "steps"_a.noconvert(), "first"_a, "last"_a, "boxes"_a.noconvert());
    m.def("spread", [](Columns points, In1 weights, In2 table, Index width, In1 center, In1 steps, InBoxes boxes, Row grids) {
        const Index n = length(points, 0), p = length(points, 1), stride = stride_of(points);
        const Stencil s = stencil_of(table, width, center, steps, n);
        check(length(weights) == 0 || length(weights) == p, "weights must have a number per point, or none");
        const Box* found = boxes_of(boxes, length(grids), s.lanes - width);
        for (Index b = 0; b < length(boxes, 0); b++) {
            check_run(found[b].first, found[b].last, p);
            for (Index k = 0; k < 3; k++) check(k < 3 - n ? found[b].size[k] == 1 : found[b].size[k] >= width, "a box must have room for a kernel");
        }
        nb::gil_scoped_release free;
        grid().spread(s, points.data(), stride, length(weights) ? weights.data() : nullptr, found, length(boxes, 0), grids.data());
    }, "points"_a.noconvert(), "weights"_a.noconvert(), "table"_a.noconvert(), "width"_a, "center"_a.noconvert(), "steps"_a.noconvert(), "boxes"_a.noconvert(), "grids"_a.noconvert());
    m.def("add_boxes", [](InBoxes boxes, Index margin, In1 grids, Index columns, Cube whole) {
        check(0 <= margin && margin < 16 && 0 < columns && columns <= length(whole, 2) && length(whole, 0) && length(whole, 1), "the grid must have its columns");
        const Box* found = boxes_of(boxes, length(grids), margin);
        const Index shape[3] = {length(whole, 0), length(whole, 1), length(whole, 2)};
        nb::gil_scoped_release free;
        grid().add(found, length(boxes, 0), margin, grids.data(), shape, columns, whole.data());
    }, "boxes"_a.noconvert(), "margin"_a, "grids"_a.noconvert(), "columns"_a, "whole"_a.noconvert());
    m.def("apply_heat", [](Cube modes, In3 other, In2 planes, In2 rows, In2 columns, In1 powers, Cube fourth, Rows totals) {
        const Modes all{modes.data(), length(modes, 0), length(modes, 1), length(modes, 2)};
        const auto fits = [&](const auto& a) {
            return length(a, 0) == all.planes && length(a, 1) == all.rows && length(a, 2) == all.columns;
        };
        check(fits(other) && (fits(fourth) || fourth.size() == 0), "the modes must be as many");
        check(length(planes, 0) == 3 && length(rows, 0) == 3 && length(columns, 0) == 3 && length(planes, 1) == all.planes &&
                  length(rows, 1) == all.rows && length(columns, 1) == all.columns && length(powers) == 3,
              "there must be three factors for each mode along each axis");
        check(totals.size() == 0 || (length(totals, 0) == all.rows && length(totals, 1) == 2), "totals must be (rows, 2)");
        Factors f{};
        const double* at[3] = {planes.data(), rows.data(), columns.data()};
        const Index count[3] = {all.planes, all.rows, all.columns};
        for (int k = 0; k < 3; k++) {
            f.heat[k] = at[k], f.root[k] = at[k] + count[k], f.square[k] = at[k] + 2 * count[k];
            f.powers[k] = powers.data()[k];
        }
        nb::gil_scoped_release free;
        grid().apply(all, f, other.data(), fourth.size() ? fourth.data() : nullptr, totals.size() ? totals.data() : nullptr);
    }, "modes"_a.noconvert(), "other"_a.noconvert(), "planes"_a.noconvert(), "rows"_a.noconvert(), "columns"_a.noconvert(),
       "powers"_a.noconvert(), "fourth"_a.noconvert(), "totals"_a.noconvert());
}
