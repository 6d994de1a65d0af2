// The face of cloud.cpp.
#include "module.hpp"

#include <nanobind/stl/optional.h>

HF_TABLE(CloudKernels, cloud)

void bind_cloud(nb::module_& m) {
    m.attr("BLOCK") = BLOCK;
    m.def("origin", [](In2 points, Row origin) {
        check(length(origin) == length(points, 1), "origin must have a number per axis");
        nb::gil_scoped_release free;
        return cloud().origin(points_of(points), origin.data());
    }, "points"_a.noconvert(), "origin"_a.noconvert());
    m.def("halve", [](In2 points, Places order, Row keys, Index first, Index last) {
        check(length(order) == length(points, 0) && length(keys) == length(order), "order and keys must have a row each");
        check_run(first, last, length(order));
        check(last - first > BLOCK, "a run of one block is not halved");
        nb::gil_scoped_release free;
        return cloud().halve(points_of(points), order.data(), keys.data(), first, last);
    }, "points"_a.noconvert(), "order"_a.noconvert(), "keys"_a.noconvert(), "first"_a, "last"_a);
    m.def("sort", [](In2 points, Places order, Row keys, Index first, Index last) {
        check(length(order) == length(points, 0) && length(keys) == length(order), "order and keys must have a row each");
        check_run(first, last, length(order));
        nb::gil_scoped_release free;
        cloud().sort(points_of(points), order.data(), keys.data(), first, last);
    }, "points"_a.noconvert(), "order"_a.noconvert(), "keys"_a.noconvert(), "first"_a, "last"_a);
    m.def("gather", [](In2 points, InPlaces order, In1 origin, double factor, Index first, Index last, Rows sources) {
        const Points p = points_of(points);
        check(length(order) == p.m && length(origin) == p.n && length(sources, 0) == p.n && length(sources, 1) == p.m,
              "order, origin and sources must fit the points");
        check_run(first, last, p.m);
        nb::gil_scoped_release free;
        cloud().gather(p, order.data(), origin.data(), factor, first, last, sources.data());
    }, "points"_a.noconvert(), "order"_a.noconvert(), "origin"_a.noconvert(), "factor"_a, "first"_a, "last"_a, "sources"_a.noconvert());
    m.def("boxes", [](In2 sources, Cube boxes) {
        const Sources s = sources_of(sources);
        check(length(boxes, 0) == 2 && length(boxes, 1) == s.n && length(boxes, 2) == blocks_of(s.m), "boxes must be (2, n, blocks)");
        nb::gil_scoped_release free;
        cloud().boxes(s, boxes.data());
    }, "sources"_a.noconvert(), "boxes"_a.noconvert());
    m.def("clouds", [](In2 points, InPlaces ends, Row sources, Row boxes, Row nearest, Rows extents, Places exponents, std::optional<Places> orders) {
        const Points p = points_of(points);
        const Index count = length(ends);
        Index blocks = 0, before = 0;
        for (Index c = 0; c < count; c++) {
            check_run(before, ends.data()[c], p.m);
            blocks += blocks_of(ends.data()[c] - before);
            before = ends.data()[c];
        }
        check(before == p.m, "the last cloud must end with the points");
        check(length(sources) == p.m * p.n && length(boxes) == 2 * p.n * blocks && length(nearest) == p.m &&
                  length(extents, 0) == count && length(extents, 1) == 2 && length(exponents) == count,
              "sources, boxes, nearest, extents and exponents must fit the clouds");
        check(!orders || length(*orders) == p.m, "orders must have a number per point");
        nb::gil_scoped_release free;
        cloud().clouds(p, ends.data(), count, sources.data(), boxes.data(), nearest.data(), extents.data(), exponents.data(),
                       orders ? orders->data() : nullptr);
    }, "points"_a.noconvert(), "ends"_a.noconvert(), "sources"_a.noconvert(), "boxes"_a.noconvert(), "nearest"_a.noconvert(), "extents"_a.noconvert(), "exponents"_a.noconvert(),
       "orders"_a.noconvert() = nb::none());
    m.def("grow", [](In3 boxes, Cube nodes, Places begin, Places size) {
        const Index n = length(boxes, 1), blocks = length(boxes, 2), count = blocks ? 2 * blocks - 1 : 0;
        check(length(boxes, 0) == 2 && length(nodes, 0) == count && length(nodes, 1) == 2 && length(nodes, 2) == n &&
                  length(begin) == count && length(size) == count, "the tree must have 2 blocks - 1 nodes");
        nb::gil_scoped_release free;
        cloud().grow(boxes.data(), n, blocks, nodes.data(), begin.data(), size.data());
    }, "boxes"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert());
    m.def("nearest", [](In2 sources, In3 boxes, Row nearest, Places same) {
        const Sources s = sources_of(sources);
        check_boxes(boxes, s);
        check(length(nearest) == s.m && length(same) == s.m, "nearest and same must have a number per point");
        nb::gil_scoped_release free;
        cloud().nearest(s, boxes.data(), nearest.data(), same.data());
    }, "sources"_a.noconvert(), "boxes"_a.noconvert(), "nearest"_a.noconvert(), "same"_a.noconvert());
    m.def("spacing", [](In1 nearest, InPlaces same) {
        check(length(nearest) == length(same), "nearest and same must have a number per point");
        return cloud().spacing(nearest.data(), same.data(), length(nearest));
    }, "nearest"_a.noconvert(), "same"_a.noconvert());
    m.def("nearest_by_tree", [](In2 sources, In3 nodes, InPlaces begin, InPlaces size, Index first, Index last, Row nearest, Places same) {
        const Sources s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check_run(first, last, blocks_of(s.m));
        check(length(nearest) == s.m && length(same) == s.m, "nearest and same must have a number per point");
        nb::gil_scoped_release free;
        cloud().nearest_by_tree(s, tree, first, last, nearest.data(), same.data());
    }, "sources"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "first"_a, "last"_a, "nearest"_a.noconvert(), "same"_a.noconvert());
    m.def("nearest_source", [](In2 targets, In2 sources, In3 nodes, InPlaces begin, InPlaces size, Row squares, Places which) {
        const Sources t = sources_of(targets), s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check(t.n == s.n && length(squares) == t.m && length(which) == t.m, "squares and which must have a number per target");
        nb::gil_scoped_release free;
        cloud().nearest_source(t, s, tree, squares.data(), which.data());
    }, "targets"_a.noconvert(), "sources"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "squares"_a.noconvert(), "which"_a.noconvert());
    m.def("diameter", [](In2 sources, In3 boxes) {
        const Sources s = sources_of(sources);
        check_boxes(boxes, s);
        nb::gil_scoped_release free;
        return cloud().diameter(s, boxes.data());
    }, "sources"_a.noconvert(), "boxes"_a.noconvert());
    m.def("distant_pair", [](In2 sources) {
        nb::gil_scoped_release free;
        return cloud().distant_pair(sources_of(sources));
    }, "sources"_a.noconvert());
    m.def("directions", [](In2 sources, In3 nodes, InPlaces begin, InPlaces size, Cube boxes, Row radius) {
        const Sources s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check(length(boxes, 0) == tree.count && length(boxes, 1) == 2 && length(boxes, 2) == s.n && length(radius) == tree.count,
              "boxes and radius must have an entry per node");
        nb::gil_scoped_release free;
        cloud().directions(s, tree, boxes.data(), radius.data());
    }, "sources"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "boxes"_a.noconvert(), "radius"_a.noconvert());
    m.def("farthest_by_tree", [](In2 sources, In3 nodes, InPlaces begin, InPlaces size, In3 boxes, In1 radius, Index first, Index last, double best) {
        const Sources s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check(length(boxes, 0) == tree.count && length(boxes, 1) == 2 && length(boxes, 2) == s.n && length(radius) == tree.count,
              "boxes and radius must have an entry per node");
        check_run(first, last, tree.count);
        nb::gil_scoped_release free;
        return cloud().farthest_by_tree(s, tree, boxes.data(), radius.data(), first, last, best);
    }, "sources"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "boxes"_a.noconvert(), "radius"_a.noconvert(), "first"_a, "last"_a, "best"_a);
}
