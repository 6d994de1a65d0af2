// Python's side: arrays in and out, their shapes compared before a pointer is used, and the choice of the
// instruction set. Every function fills arrays that the caller made, and lets other threads run meanwhile. No array is
// converted: a result would go into a copy that nobody sees.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "core.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace baseline {
extern const Core core;
}
#ifdef HF_X86
namespace avx2 {
extern const Core core;
}
namespace avx512 {
extern const Core core;
}
#endif

namespace {

template <class T, std::size_t D> using Array = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
using Row = Array<double, 1>;
using Rows = Array<double, 2>;
using Cube = Array<double, 3>;
using Places = Array<Index, 1>;
using In1 = Array<const double, 1>;
using In2 = Array<const double, 2>;
using In3 = Array<const double, 3>;
using InPlaces = Array<const Index, 1>;

std::vector<const Core*> usable() {
    std::vector<const Core*> found{&baseline::core};
#ifdef HF_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        found.push_back(&avx2::core);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd"))
        found.push_back(&avx512::core);
#endif
    return found;
}

const Core* chosen() {
    const auto found = usable();
    const char* wanted = std::getenv("HEATFIELD_ISA");
    if (!wanted || !*wanted) return found.back();
    std::string names;
    for (const Core* core : found) {
        if (std::string(wanted) == core->name) return core;
        names += std::string(names.empty() ? "" : ", ") + core->name;
    }
    throw std::runtime_error("HEATFIELD_ISA must be one of " + names + " on this machine, got '" + wanted + "'");
}

const Core* core = nullptr;

void check(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}
template <class A> Index length(const A& a, std::size_t axis = 0) { return Index(a.shape(axis)); }

Index blocks_of(Index m) { return (m + BLOCK - 1) / BLOCK; }

Points points_of(const In2& p) { return {p.data(), length(p, 0), length(p, 1)}; }
Sources sources_of(const In2& s) { return {s.data(), length(s, 1), length(s, 0)}; }
Tree tree_of(const In3& nodes, const InPlaces& begin, const InPlaces& size, Sources s) {
    const Index count = length(nodes, 0), blocks = blocks_of(s.m);
    check(length(nodes, 1) == 2 && length(nodes, 2) == s.n && length(begin) == count && length(size) == count &&
              count == (blocks ? 2 * blocks - 1 : 0),
          "the tree does not belong to these sources");
    return {nodes.data(), begin.data(), size.data(), count};
}
void check_boxes(const In3& boxes, Sources s) {
    check(length(boxes, 0) == 2 && length(boxes, 1) == s.n && length(boxes, 2) == blocks_of(s.m),
          "the boxes do not belong to these sources");
}
void check_run(Index first, Index last, Index count) {
    check(0 <= first && first <= last && last <= count, "the run is not within the array");
}

}  // namespace

NB_MODULE(_core, m) {
    core = chosen();
    m.attr("BLOCK") = BLOCK;
    m.def("isa", [] { return std::string(core->name); });
    m.def("isas", [] {
        std::vector<std::string> names;
        for (const Core* one : usable()) names.push_back(one->name);
        return names;
    });
    m.def("origin", [](In2 points, Row origin) {
        check(length(origin) == length(points, 1), "origin must have a number per axis");
        nb::gil_scoped_release free;
        return core->origin(points_of(points), origin.data());
    }, "points"_a.noconvert(), "origin"_a.noconvert());
    m.def("halve", [](In2 points, Places order, Row keys, Index first, Index last) {
        check(length(order) == length(points, 0) && length(keys) == length(order), "order and keys must have a row each");
        check_run(first, last, length(order));
        check(last - first > BLOCK, "a run of one block is not halved");
        nb::gil_scoped_release free;
        return core->halve(points_of(points), order.data(), keys.data(), first, last);
    }, "points"_a.noconvert(), "order"_a.noconvert(), "keys"_a.noconvert(), "first"_a, "last"_a);
    m.def("sort", [](In2 points, Places order, Row keys, Index first, Index last) {
        check(length(order) == length(points, 0) && length(keys) == length(order), "order and keys must have a row each");
        check_run(first, last, length(order));
        nb::gil_scoped_release free;
        core->sort(points_of(points), order.data(), keys.data(), first, last);
    }, "points"_a.noconvert(), "order"_a.noconvert(), "keys"_a.noconvert(), "first"_a, "last"_a);
    m.def("gather", [](In2 points, InPlaces order, In1 origin, double factor, Index first, Index last, Rows sources) {
        const Points p = points_of(points);
        check(length(order) == p.m && length(origin) == p.n && length(sources, 0) == p.n && length(sources, 1) == p.m,
              "order, origin and sources must fit the points");
        check_run(first, last, p.m);
        nb::gil_scoped_release free;
        core->gather(p, order.data(), origin.data(), factor, first, last, sources.data());
    }, "points"_a.noconvert(), "order"_a.noconvert(), "origin"_a.noconvert(), "factor"_a, "first"_a, "last"_a, "sources"_a.noconvert());
    m.def("boxes", [](In2 sources, Cube boxes) {
        const Sources s = sources_of(sources);
        check(length(boxes, 0) == 2 && length(boxes, 1) == s.n && length(boxes, 2) == blocks_of(s.m), "boxes must be (2, n, blocks)");
        nb::gil_scoped_release free;
        core->boxes(s, boxes.data());
    }, "sources"_a.noconvert(), "boxes"_a.noconvert());
    m.def("clouds", [](In2 points, InPlaces ends, Row sources, Row boxes, Row nearest, Rows extents, Places exponents) {
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
        nb::gil_scoped_release free;
        core->clouds(p, ends.data(), count, sources.data(), boxes.data(), nearest.data(), extents.data(), exponents.data());
    }, "points"_a.noconvert(), "ends"_a.noconvert(), "sources"_a.noconvert(), "boxes"_a.noconvert(), "nearest"_a.noconvert(), "extents"_a.noconvert(), "exponents"_a.noconvert());
    m.def("grow", [](In3 boxes, Cube nodes, Places begin, Places size) {
        const Index n = length(boxes, 1), blocks = length(boxes, 2), count = blocks ? 2 * blocks - 1 : 0;
        check(length(boxes, 0) == 2 && length(nodes, 0) == count && length(nodes, 1) == 2 && length(nodes, 2) == n &&
                  length(begin) == count && length(size) == count, "the tree must have 2 blocks - 1 nodes");
        nb::gil_scoped_release free;
        core->grow(boxes.data(), n, blocks, nodes.data(), begin.data(), size.data());
    }, "boxes"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert());
    m.def("nearest", [](In2 sources, In3 boxes, Row nearest, Places same) {
        const Sources s = sources_of(sources);
        check_boxes(boxes, s);
        check(length(nearest) == s.m && length(same) == s.m, "nearest and same must have a number per point");
        nb::gil_scoped_release free;
        core->nearest(s, boxes.data(), nearest.data(), same.data());
    }, "sources"_a.noconvert(), "boxes"_a.noconvert(), "nearest"_a.noconvert(), "same"_a.noconvert());
    m.def("spacing", [](In1 nearest, InPlaces same) {
        check(length(nearest) == length(same), "nearest and same must have a number per point");
        return core->spacing(nearest.data(), same.data(), length(nearest));
    }, "nearest"_a.noconvert(), "same"_a.noconvert());
    m.def("nearest_by_tree", [](In2 sources, In3 nodes, InPlaces begin, InPlaces size, Index first, Index last, Row nearest, Places same) {
        const Sources s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check_run(first, last, blocks_of(s.m));
        check(length(nearest) == s.m && length(same) == s.m, "nearest and same must have a number per point");
        nb::gil_scoped_release free;
        core->nearest_by_tree(s, tree, first, last, nearest.data(), same.data());
    }, "sources"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "first"_a, "last"_a, "nearest"_a.noconvert(), "same"_a.noconvert());
    m.def("nearest_source", [](In2 targets, In2 sources, In3 nodes, InPlaces begin, InPlaces size, Row squares, Places which) {
        const Sources t = sources_of(targets), s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check(t.n == s.n && length(squares) == t.m && length(which) == t.m, "squares and which must have a number per target");
        nb::gil_scoped_release free;
        core->nearest_source(t, s, tree, squares.data(), which.data());
    }, "targets"_a.noconvert(), "sources"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "squares"_a.noconvert(), "which"_a.noconvert());
    m.def("diameter", [](In2 sources, In3 boxes) {
        const Sources s = sources_of(sources);
        check_boxes(boxes, s);
        nb::gil_scoped_release free;
        return core->diameter(s, boxes.data());
    }, "sources"_a.noconvert(), "boxes"_a.noconvert());
    m.def("distant_pair", [](In2 sources) {
        nb::gil_scoped_release free;
        return core->distant_pair(sources_of(sources));
    }, "sources"_a.noconvert());
    m.def("directions", [](In2 sources, In3 nodes, InPlaces begin, InPlaces size, Cube boxes, Row radius) {
        const Sources s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check(length(boxes, 0) == tree.count && length(boxes, 1) == 2 && length(boxes, 2) == s.n && length(radius) == tree.count,
              "boxes and radius must have an entry per node");
        nb::gil_scoped_release free;
        core->directions(s, tree, boxes.data(), radius.data());
    }, "sources"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "boxes"_a.noconvert(), "radius"_a.noconvert());
    m.def("farthest_by_tree", [](In2 sources, In3 nodes, InPlaces begin, InPlaces size, In3 boxes, In1 radius, Index first, Index last, double best) {
        const Sources s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check(length(boxes, 0) == tree.count && length(boxes, 1) == 2 && length(boxes, 2) == s.n && length(radius) == tree.count,
              "boxes and radius must have an entry per node");
        check_run(first, last, tree.count);
        nb::gil_scoped_release free;
        return core->farthest_by_tree(s, tree, boxes.data(), radius.data(), first, last, best);
    }, "sources"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "boxes"_a.noconvert(), "radius"_a.noconvert(), "first"_a, "last"_a, "best"_a);
}
