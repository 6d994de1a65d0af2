// The native module: the choice of the instruction set, and Python's side of the kernels.
//
// Every function fills arrays that the caller made, and lets other threads run meanwhile. The shape of each array is
// compared before its pointer is used; its type and order are those of the declared array, and nothing is converted: a
// result would go into a copy that nobody sees.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core.hpp"

namespace nb = nanobind;
using namespace nb::literals;

#define HF_SUBJECTS(ITEM)                                                                                          \
    ITEM(CloudKernels, cloud) ITEM(PairKernels, pairs) ITEM(SegmentKernels, segments) ITEM(MiscKernels, misc)      \
    ITEM(GridKernels, grid) ITEM(GradientKernels, gradients) ITEM(NeighbourKernels, neighbours)                    \
    ITEM(TreeKernels, tree) ITEM(NearKernels, near_sums) ITEM(FieldKernels, field)
#define HF_DECLARE(Kind, name) extern const Kind name;
namespace baseline {
HF_SUBJECTS(HF_DECLARE)
}
#ifdef HF_X86
namespace avx2 {
HF_SUBJECTS(HF_DECLARE)
}
namespace avx512 {
HF_SUBJECTS(HF_DECLARE)
}
#define HF_CHOICE(Kind, name) \
    const Kind& name() { return chosen == 2 ? avx512::name : chosen == 1 ? avx2::name : baseline::name; }
#else
#define HF_CHOICE(Kind, name) \
    const Kind& name() { return baseline::name; }
#endif

namespace {

const char* const NAMES[] = {"baseline", "avx2", "avx512"};
int chosen = 0;  // of these
HF_SUBJECTS(HF_CHOICE)

std::vector<std::string> usable() {
    std::vector<std::string> found{NAMES[0]};
#ifdef HF_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        found.push_back(NAMES[1]);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd"))
        found.push_back(NAMES[2]);
#endif
    return found;
}

int choose() {
    const auto found = usable();
    const char* wanted = std::getenv("HEATFIELD_ISA");
    if (!wanted || !*wanted) return int(found.size()) - 1;
    std::string names;
    for (std::size_t i = 0; i < found.size(); i++) {
        if (found[i] == wanted) return int(i);
        names += (i ? ", " : "") + found[i];
    }
    throw std::runtime_error("HEATFIELD_ISA must be one of " + names + " on this machine, got '" + wanted + "'");
}

// --- arrays, and what they must fit

template <class T, std::size_t D> using Array = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
using Row = const Array<double, 1>&;
using Rows = const Array<double, 2>&;
using Cube = const Array<double, 3>&;
using Places = const Array<Index, 1>&;
using In1 = const Array<const double, 1>&;
using In2 = const Array<const double, 2>&;
using In3 = const Array<const double, 3>&;
using InPlaces = const Array<const Index, 1>&;
// Points (n, p) of which each axis is contiguous: all columns of an array, or some.
using Columns = const nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>&;
using Boxes = const Array<Index, 2>&;  // rows of numbers: first, last, the corner, the size
using InBoxes = const Array<const Index, 2>&;

auto operator""_x(const char* name, std::size_t) { return nb::arg(name).noconvert(); }
const auto FREE = nb::call_guard<nb::gil_scoped_release>();

void check(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}
template <class A> Index length(const A& a, std::size_t axis = 0) { return Index(a.shape(axis)); }
template <class A> bool fits(const A& a, std::initializer_list<Index> shape) {
    std::size_t axis = 0;
    for (Index size : shape)
        if (length(a, axis++) != size) return false;
    return axis == a.ndim();
}
template <class A> auto data_or_null(const A& a) { return a.size() ? a.data() : nullptr; }
void check_run(Index first, Index last, Index count) {
    check(0 <= first && first <= last && last <= count, "the run is not within the array");
}

Index blocks_of(Index m) { return (m + BLOCK - 1) / BLOCK; }
Index triangle(Index n) { return n * (n + 1) / 2; }
Index column_count(Index n, bool directions) { return 5 + (directions ? n + triangle(n) : 0); }
int wanted(bool fourth, bool directions) { return (fourth ? 1 : 0) + (directions ? 2 : 0); }

Points points_of(In2 p) { return {p.data(), length(p, 0), length(p, 1)}; }
Sources sources_of(In2 s) { return {s.data(), length(s, 1), length(s, 0)}; }

Tree tree_of(In3 nodes, InPlaces begin, InPlaces size, Sources s) {
    const Index blocks = blocks_of(s.m), count = blocks ? 2 * blocks - 1 : 0;
    check(fits(nodes, {count, 2, s.n}) && fits(begin, {count}) && fits(size, {count}),
          "the tree does not belong to these sources");
    return {nodes.data(), begin.data(), size.data(), count};
}

void check_boxes(In3 boxes, Sources s) {
    check(fits(boxes, {2, s.n, blocks_of(s.m)}), "the boxes do not belong to these sources");
}

// The number of blocks of all clouds, or segments, that end at `ends`, the last of them with `total`.
Index blocks_until(InPlaces ends, Index total) {
    Index start = 0, blocks = 0;
    for (Index c = 0; c < length(ends); c++) {
        check(ends.data()[c] >= start, "ends must not decrease");
        blocks += blocks_of(ends.data()[c] - start);
        start = ends.data()[c];
    }
    check(start == total, "the last of ends must be the number of points");
    return blocks;
}

Batch batch_of(In1 sources, In1 boxes, InPlaces ends, In2 times, Index n, double log_accuracy, bool single) {
    const Index count = length(ends), total = count ? ends.data()[count - 1] : 0;
    check(n > 0 && length(sources) == n * total, "sources must have n numbers per point");
    check(length(boxes) == 2 * n * blocks_until(ends, total), "the boxes do not belong to these sources");
    const bool own = count == 1 && total > 1 && length(times, 1) == total;
    check(own || length(times, 1) == count, "times must have a column per cloud, or per point of a single one");
    return {sources.data(), boxes.data(), ends.data(), count, n, times.data(), own, length(times, 0), total,
            log_accuracy, single};
}

// --- clouds

void bind_cloud(nb::module_& m) {
    m.attr("BLOCK") = BLOCK;
    m.def("origin", [](In2 points, Row origin) {
        check(fits(origin, {length(points, 1)}), "origin must have a number per axis");
        return cloud().origin(points_of(points), origin.data());
    }, "points"_x, "origin"_x, FREE);
    m.def("halve", [](In2 points, Places order, Row keys, Index first, Index last) {
        const Points p = points_of(points);
        check(fits(order, {p.m}) && fits(keys, {p.m}), "order and keys must have a row each");
        check_run(first, last, p.m);
        check(last - first > BLOCK, "a run of one block is not halved");
        return cloud().halve(p, order.data(), keys.data(), first, last);
    }, "points"_x, "order"_x, "keys"_x, "first"_a, "last"_a, FREE);
    m.def("sort", [](In2 points, Places order, Row keys, Index first, Index last) {
        const Points p = points_of(points);
        check(fits(order, {p.m}) && fits(keys, {p.m}), "order and keys must have a row each");
        check_run(first, last, p.m);
        cloud().sort(p, order.data(), keys.data(), first, last);
    }, "points"_x, "order"_x, "keys"_x, "first"_a, "last"_a, FREE);
    m.def("gather", [](In2 points, InPlaces order, In1 origin, double factor, Index first, Index last, Rows sources) {
        const Points p = points_of(points);
        check(fits(order, {p.m}) && fits(origin, {p.n}) && fits(sources, {p.n, p.m}),
              "order, origin and sources must fit the points");
        check_run(first, last, p.m);
        cloud().gather(p, order.data(), origin.data(), factor, first, last, sources.data());
    }, "points"_x, "order"_x, "origin"_x, "factor"_a, "first"_a, "last"_a, "sources"_x, FREE);
    m.def("boxes", [](In2 sources, Cube boxes) {
        const Sources s = sources_of(sources);
        check(fits(boxes, {2, s.n, blocks_of(s.m)}), "boxes must be (2, n, blocks)");
        cloud().boxes(s, boxes.data());
    }, "sources"_x, "boxes"_x, FREE);
    m.def("clouds", [](In2 points, InPlaces ends, Row sources, Row boxes, Row nearest, Rows extents, Places exponents,
                       const std::optional<Array<Index, 1>>& orders) {
        const Points p = points_of(points);
        const Index count = length(ends), blocks = blocks_until(ends, p.m);
        check(fits(sources, {p.m * p.n}) && fits(boxes, {2 * p.n * blocks}) && fits(nearest, {p.m}) &&
                  fits(extents, {count, 2}) && fits(exponents, {count}),
              "sources, boxes, nearest, extents and exponents must fit the clouds");
        check(!orders || fits(*orders, {p.m}), "orders must have a number per point");
        cloud().clouds(p, ends.data(), count, sources.data(), boxes.data(), nearest.data(), extents.data(),
                       exponents.data(), orders ? orders->data() : nullptr);
    }, "points"_x, "ends"_x, "sources"_x, "boxes"_x, "nearest"_x, "extents"_x, "exponents"_x, "orders"_x = nb::none(), FREE);
    m.def("grow", [](In3 boxes, Cube nodes, Places begin, Places size) {
        const Index n = length(boxes, 1), blocks = length(boxes, 2), count = blocks ? 2 * blocks - 1 : 0;
        check(length(boxes, 0) == 2 && fits(nodes, {count, 2, n}) && fits(begin, {count}) && fits(size, {count}),
              "the tree must have 2 blocks - 1 nodes");
        cloud().grow(boxes.data(), n, blocks, nodes.data(), begin.data(), size.data());
    }, "boxes"_x, "nodes"_x, "begin"_x, "size"_x, FREE);
    m.def("nearest", [](In2 sources, In3 boxes, Row nearest, Places same) {
        const Sources s = sources_of(sources);
        check_boxes(boxes, s);
        check(fits(nearest, {s.m}) && fits(same, {s.m}), "nearest and same must have a number per point");
        cloud().nearest(s, boxes.data(), nearest.data(), same.data());
    }, "sources"_x, "boxes"_x, "nearest"_x, "same"_x, FREE);
    m.def("spacing", [](In1 nearest, InPlaces same) {
        check(length(nearest) == length(same), "nearest and same must have a number per point");
        return cloud().spacing(nearest.data(), same.data(), length(nearest));
    }, "nearest"_x, "same"_x);
    m.def("nearest_by_tree", [](In2 sources, In3 nodes, InPlaces begin, InPlaces size, Index first, Index last,
                                Row nearest, Places same) {
        const Sources s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check_run(first, last, blocks_of(s.m));
        check(fits(nearest, {s.m}) && fits(same, {s.m}), "nearest and same must have a number per point");
        cloud().nearest_by_tree(s, tree, first, last, nearest.data(), same.data());
    }, "sources"_x, "nodes"_x, "begin"_x, "size"_x, "first"_a, "last"_a, "nearest"_x, "same"_x, FREE);
    m.def("nearest_source", [](In2 targets, In2 sources, In3 nodes, InPlaces begin, InPlaces size, Row squares,
                               Places which) {
        const Sources t = sources_of(targets), s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check(t.n == s.n && fits(squares, {t.m}) && fits(which, {t.m}), "squares and which must have a number per target");
        cloud().nearest_source(t, s, tree, squares.data(), which.data());
    }, "targets"_x, "sources"_x, "nodes"_x, "begin"_x, "size"_x, "squares"_x, "which"_x, FREE);
    m.def("diameter", [](In2 sources, In3 boxes) {
        const Sources s = sources_of(sources);
        check_boxes(boxes, s);
        return cloud().diameter(s, boxes.data());
    }, "sources"_x, "boxes"_x, FREE);
    m.def("distant_pair", [](In2 sources) { return cloud().distant_pair(sources_of(sources)); }, "sources"_x, FREE);
    m.def("directions", [](In2 sources, In3 nodes, InPlaces begin, InPlaces size, Cube boxes, Row radius) {
        const Sources s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check(fits(boxes, {tree.count, 2, s.n}) && fits(radius, {tree.count}), "boxes and radius must have an entry per node");
        cloud().directions(s, tree, boxes.data(), radius.data());
    }, "sources"_x, "nodes"_x, "begin"_x, "size"_x, "boxes"_x, "radius"_x, FREE);
    m.def("farthest_by_tree", [](In2 sources, In3 nodes, InPlaces begin, InPlaces size, In3 boxes, In1 radius,
                                 Index first, Index last, double best) {
        const Sources s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        check(fits(boxes, {tree.count, 2, s.n}) && fits(radius, {tree.count}), "boxes and radius must have an entry per node");
        check_run(first, last, tree.count);
        return cloud().farthest_by_tree(s, tree, boxes.data(), radius.data(), first, last, best);
    }, "sources"_x, "nodes"_x, "begin"_x, "size"_x, "boxes"_x, "radius"_x, "first"_a, "last"_a, "best"_a, FREE);
}

// --- sums over pairs of a batch

void bind_pairs(nb::module_& m) {
    m.def("dense", [](In1 sources, In1 boxes, InPlaces ends, In1 nearest, In2 times, Index n, double log_accuracy,
                      bool single, bool fourth, bool directions, Index first, Index last, Cube sums) {
        const Batch b = batch_of(sources, boxes, ends, times, n, log_accuracy, single);
        check(fits(nearest, {b.total}), "nearest must have a number per point");
        check(fits(sums, {column_count(n, directions), b.steps, b.total}), "sums must be (columns, times, points)");
        check_run(first, last, b.total);
        pairs().dense(b, nearest.data(), wanted(fourth, directions), first, last, sums.data());
    }, "sources"_x, "boxes"_x, "ends"_x, "nearest"_x, "times"_x, "n"_a, "log_accuracy"_a, "single"_a, "fourth"_a,
       "directions"_a, "first"_a, "last"_a, "sums"_x, FREE);
    m.def("differences", [](In1 sources, In1 boxes, InPlaces ends, In2 times, Index n, double log_accuracy, bool single,
                            In3 values, InPlaces from, InPlaces to, Index first, Index last,
                            const Array<double, 4>& out) {
        const Batch b = batch_of(sources, boxes, ends, times, n, log_accuracy, single);
        const Index fields = length(values, 0), tasks = length(from);
        check(!b.own_times, "times must have a column per cloud");
        check(fits(values, {fields, b.steps, b.total}), "values must be (fields, times, points)");
        check(fits(to, {tasks}), "from and to must have a number per task");
        for (Index p = 0; p < tasks; p++) {
            check(0 <= from.data()[p] && from.data()[p] < b.steps && 0 <= to.data()[p] && to.data()[p] < b.steps,
                  "from and to must be scales");
        }
        const bool squares = length(out, 0) == 2;
        check(fits(out, {squares ? 2 : 1, fields, tasks, b.total}), "out must be (1 or 2, fields, tasks, points)");
        check_run(first, last, b.total);
        pairs().differences(b, values.data(), fields, from.data(), to.data(), tasks, squares, first, last, out.data());
    }, "sources"_x, "boxes"_x, "ends"_x, "times"_x, "n"_a, "log_accuracy"_a, "single"_a, "values"_x, "from_scale"_x,
       "to_scale"_x, "first"_a, "last"_a, "out"_x, FREE);
    m.def("dense_back", [](In1 sources, In1 boxes, InPlaces ends, In1 nearest, In2 times, Index n, double log_accuracy,
                           bool single, In3 given, bool fourth, bool directions, bool energy, InPlaces rows, Index first,
                           Index last, Cube by_points, Cube by_times) {
        const Batch b = batch_of(sources, boxes, ends, times, n, log_accuracy, single);
        const Index tables = length(by_points, 0);
        check(n <= 3, "gradients must be in at most three dimensions");
        check(!b.own_times || b.total == 1, "times must have a column per cloud");
        check(fits(nearest, {b.total}), "nearest must have a number per point");
        check(fits(given, {column_count(n, directions), b.steps, b.total}), "given must be (columns, times, points)");
        check(fits(rows, {b.count}), "rows must have a number per cloud");
        for (Index c = 0, start = 0; c < b.count; start = ends.data()[c++])
            check(rows.data()[c] > 0 && ends.data()[c] - start <= tables * rows.data()[c], "there must be a table for all rows");
        check(fits(by_points, {tables, n, b.total}) && fits(by_times, {tables, b.steps, b.count}),
              "by_points must be (tables, n, points), and by_times (tables, times, clouds)");
        check_run(first, last, b.total);
        gradients().sums_back(b, nearest.data(), {given.data(), wanted(fourth, directions), energy, rows.data(),
                              by_points.data(), by_times.data()}, first, last);
    }, "sources"_x, "boxes"_x, "ends"_x, "nearest"_x, "times"_x, "n"_a, "log_accuracy"_a, "single"_a, "given"_x, "fourth"_a,
       "directions"_a, "energy"_a, "rows"_x, "first"_a, "last"_a, "by_points"_x, "by_times"_x, FREE);
}

// --- segments and small matrices

Index total_of(In2 packed, Index n) {
    check(n > 0 && length(packed, 0) == triangle(n), "packed must have a row per entry of the upper triangle");
    return length(packed, 1);
}

void bind_segments(nb::module_& m) {
    m.def("segment_sums", [](In2 values, InPlaces ends, Rows out) {
        const Index rows = length(values, 0), count = length(ends);
        blocks_until(ends, length(values, 1));
        check(fits(out, {count, rows}), "out must be (segments, rows)");
        segments().sums(values.data(), rows, ends.data(), count, out.data());
    }, "values"_x, "ends"_x, "out"_x, FREE);
    m.def("pool", [](In2 values, InPlaces ends, Cube out) {
        const Index rows = length(values, 0), count = length(ends);
        blocks_until(ends, length(values, 1));
        check(fits(out, {count, rows, 5}), "out must be (segments, rows, 5)");
        segments().pool(values.data(), rows, ends.data(), count, out.data());
    }, "values"_x, "ends"_x, "out"_x, FREE);
    m.def("correlate", [](In2 values, InPlaces ends, InBoxes pairs, double least, Rows out) {
        const Index rows = length(values, 0), count = length(ends), asked = length(pairs);
        blocks_until(ends, length(values, 1));
        check(length(pairs, 1) == 2 && fits(out, {count, asked}), "out must be (segments, pairs)");
        for (Index p = 0; p < 2 * asked; p++) check(0 <= pairs.data()[p] && pairs.data()[p] < rows, "pairs must be rows");
        segments().correlate(values.data(), rows, ends.data(), count, pairs.data(), asked, least, out.data());
    }, "values"_x, "ends"_x, "pairs"_x, "least"_a, "out"_x, FREE);
    m.def("shares", [](Rows logs) { segments().shares(logs.data(), length(logs, 0), length(logs, 1)); }, "logs"_x, FREE);
    m.def("eigenvalues", [](In2 packed, Rows out) {
        const Index n = length(out, 0), total = total_of(packed, n);
        check(n <= 3 && length(out, 1) == total, "out must be (n, total), with n up to 3");
        segments().eigenvalues(packed.data(), n, total, out.data());
    }, "packed"_x, "out"_x, FREE);
    m.def("eigenvalues_back", [](In2 packed, In2 given, Rows out) {
        const Index n = length(given, 0), total = total_of(packed, n);
        check(n <= 3 && length(given, 1) == total && fits(out, {triangle(n), total}),
              "given must be (n, total), with n up to 3, and out like packed");
        segments().eigenvalues_back(packed.data(), given.data(), n, total, out.data());
    }, "packed"_x, "given"_x, "out"_x, FREE);
    m.def("eigenvectors", [](In2 packed, Cube out) {
        const Index n = length(out, 0), total = total_of(packed, n);
        check(fits(out, {n, n, total}), "out must be (n, n, total)");
        segments().eigenvectors(packed.data(), n, total, out.data());
    }, "packed"_x, "out"_x, FREE);
    m.def("by_point", [](In3 values, InPlaces rows, Index first, Index last, Cube out) {
        const Index width = length(values, 0), steps = length(values, 1), total = length(values, 2);
        check(fits(rows, {total}) && fits(out, {total, steps, width}), "out must be (points, times, width)");
        check_run(first, last, total);
        for (Index i = first; i < last; i++) check(0 <= rows.data()[i] && rows.data()[i] < total, "rows must be rows of out");
        segments().by_point(values.data(), width, steps, total, rows.data(), first, last, out.data());
    }, "values"_x, "rows"_x, "first"_a, "last"_a, "out"_x, FREE);
}

// --- neighbours, trees of a classifier, LZF, the Strauss process

template <class T, class Kernel> void bind_smallest(nb::module_& m, Kernel kernel) {
    m.def("smallest", [kernel](const Array<const T, 3>& distances, InPlaces starts, Index begin, Boxes out) {
        const Index clouds = length(distances, 0), width = length(distances, 2), *start = starts.data();
        check(fits(starts, {clouds + 1}) && begin >= 0 && start[0] >= 0, "starts must have a number per cloud and the end");
        for (Index b = 0; b < clouds; b++) {
            const Index size = start[b + 1] - start[b];
            check(0 <= size && size <= width && start[b + 1] <= length(out), "starts must be rows of out, as many as distances");
        }
        check(length(out, 1) > 0, "out must have a column");
        kernel()(distances.data(), length(distances, 1), width, start, clouds, begin, length(out, 1), out.data());
    }, "distances"_x, "starts"_x, "begin"_a, "out"_x, FREE);
}

void bind_misc(nb::module_& m) {
    bind_smallest<float>(m, [] { return neighbours().smallest_single; });
    bind_smallest<double>(m, [] { return neighbours().smallest; });
    m.def("extremes", [](In2 points, InPlaces ends, Index first, Index last, Places nearest, Row longest, Places farthest) {
        const Points p = points_of(points);
        for (Index c = 0, before = 0; c < length(ends); before = ends.data()[c++]) check_run(before, ends.data()[c], p.m);
        check_run(first, last, p.m);
        check(p.n > 0 && fits(nearest, {p.m}) && fits(longest, {p.m}) && fits(farthest, {p.m}),
              "nearest, longest and farthest must have a number per point");
        neighbours().extremes(p, ends.data(), length(ends), first, last, nearest.data(), longest.data(), farthest.data());
    }, "points"_x, "ends"_x, "first"_a, "last"_a, "nearest"_x, "longest"_x, "farthest"_x, FREE);
    m.def("unpack_lzf", [](const Array<const std::uint8_t, 1>& packed, const Array<std::uint8_t, 1>& out) {
        return misc().unpack_lzf(packed.data(), length(packed), out.data(), length(out));
    }, "packed"_x, "out"_x, FREE);
    m.def("farthest", [](In2 sources, Row nearest, Places rows, Index first, Index last) {
        const Sources s = sources_of(sources);
        check(fits(nearest, {s.m}), "nearest must have a number per point");
        check_run(first, last, length(rows) - 1);
        check(first == last || (0 <= rows.data()[first] && rows.data()[first] < s.m), "the first row must be a point");
        return misc().farthest(s, nearest.data(), rows.data(), first, last);
    }, "sources"_x, "nearest"_x, "rows"_x, "first"_a, "last"_a, FREE);
    using Nodes = const Array<const std::int32_t, 1>&;
    m.def("walk", [](const Array<const float, 2>& features, InPlaces starts, Nodes feature, In1 threshold, Nodes left,
                     Nodes right, const Array<const bool, 1>& missing_left, In1 value, Rows margins) {
        const Index trees = length(starts) - 1, nodes = length(feature), width = length(features, 1), outputs = length(margins, 1);
        const Index* begin = starts.data();
        check(fits(threshold, {nodes}) && fits(left, {nodes}) && fits(right, {nodes}) && fits(missing_left, {nodes}) &&
                  fits(value, {nodes}) && trees >= 0 && begin[0] == 0 && begin[trees] == nodes,
              "the trees do not fit together");
        check(length(margins) == length(features) && outputs > 0, "margins must have a row per row of features");
        for (Index t = 0; t < trees; t++) {
            check_run(begin[t], begin[t + 1], nodes);
            check(begin[t] < begin[t + 1], "a tree must have a node");
            for (Index i = begin[t]; i < begin[t + 1]; i++) {
                const Index own = i - begin[t], size = begin[t + 1] - begin[t], l = left.data()[i], r = right.data()[i];
                check(l < 0 || (own < l && l < size && own < r && r < size && 0 <= feature.data()[i] && feature.data()[i] < width),
                      "the trees must name nodes behind their parents, and features that there are");
            }
        }
        misc().walk(features.data(), length(features), width, {begin, feature.data(), left.data(), right.data(),
                    threshold.data(), value.data(), missing_left.data(), trees, outputs}, margins.data());
    }, "features"_x, "starts"_x, "feature"_x, "threshold"_x, "left"_x, "right"_x, "missing_left"_x, "value"_x, "margins"_x, FREE);
    m.def("strauss", [](const Array<std::uint64_t, 1>& state, double beta, double gamma, double radius, Index steps,
                        Index count, Rows points) {
        const Index room = length(points, 1);
        check(fits(state, {1}) && length(points) == 2, "state must be one number, and points (2, room)");
        check(steps >= 0 && count >= 0 && steps <= room && count <= room - steps, "points must have room for one more in every step");
        return misc().strauss(state.data(), beta, gamma, radius, steps, count, points.data(), points.data() + room);
    }, "state"_x, "beta"_a, "gamma"_a, "radius"_a, "steps"_a, "count"_a, "points"_x, FREE);
}

// --- the grid of a transform

Stencil stencil_of(In2 table, Index width, In1 center, In1 steps, Index n) {
    const Index lanes = length(table, 1);
    check((n == 1 || n == 2 || n == 3) && fits(center, {n}) && fits(steps, {n}), "center and steps must have a number per axis");
    check(lanes == 4 || lanes == 8 || lanes == 12 || lanes == 16, "the kernel must have 4, 8, 12 or 16 lanes");
    check(0 < width && width <= lanes, "the width must fit into the lanes");
    return {table.data(), length(table, 0), lanes, width, n, center.data(), steps.data()};
}

Index stride_of(Columns points) {
    check(length(points, 1) < 2 || points.stride(1) == 1, "the points must lie side by side along each axis");
    return Index(points.stride(0));
}

const Box* boxes_of(InBoxes rows, Index grids, Index margin) {
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

void bind_grid(nb::module_& m) {
    m.def("interpolate", [](In3 values, In2 table, Index width, In1 center, In1 steps, Columns places, Index first,
                            Index last, In2 map, Index column, Rows sums) {
        const Index n = length(places, 0), columns = length(map, 1), derivatives = length(map, 0), stride = stride_of(places);
        const Stencil s = stencil_of(table, width, center, steps, n);
        const Index shape[3] = {length(values, 0), length(values, 1), length(values, 2)};
        check((n == 3 ? shape[0] >= width : shape[0] == 1) && (n >= 2 ? shape[1] >= width : shape[1] == 1) && shape[2] > s.lanes,
              "the grid must have room for a kernel, and its last axis must be continued by the lanes");
        check(derivatives == 1 || derivatives == 1 + n + triangle(n), "map must have a row for W, or for each derivative");
        check(0 < columns && columns <= 16 && 0 <= column && column + columns <= length(sums, 1) && length(sums, 0) == length(places, 1),
              "sums must have a row per place and the columns of the map");
        check_run(first, last, length(places, 1));
        return grid().interpolate(s, values.data(), shape, places.data(), stride, first, last, map.data(), derivatives,
                                  columns, sums.data() + column, length(sums, 1));
    }, "values"_x, "table"_x, "width"_a, "center"_x, "steps"_x, "places"_x, "first"_a, "last"_a, "map"_x, "column"_a, "sums"_x, FREE);
    m.def("boxes_of_runs", [](Columns points, Index width, In1 center, In1 steps, Index first, Index last, Boxes boxes) {
        const Index n = length(points, 0), stride = stride_of(points);
        check(0 < n && n <= 3 && fits(center, {n}) && fits(steps, {n}) && 0 < width && width <= 16, "center and steps must have a number per axis");
        check_run(first, last, length(points, 1));
        check(length(boxes, 0) >= last - first && length(boxes, 1) == 8, "there must be room for a box per point");
        const Stencil s{nullptr, 0, 0, width, n, center.data(), steps.data()};
        return grid().boxes(s, points.data(), stride, first, last, (Box*)boxes.data());
    }, "points"_x, "width"_a, "center"_x, "steps"_x, "first"_a, "last"_a, "boxes"_x, FREE);
    m.def("spread", [](Columns points, In1 weights, In2 table, Index width, In1 center, In1 steps, InBoxes boxes, Row grids) {
        const Index n = length(points, 0), p = length(points, 1), stride = stride_of(points);
        const Stencil s = stencil_of(table, width, center, steps, n);
        check(length(weights) == 0 || length(weights) == p, "weights must have a number per point, or none");
        const Box* found = boxes_of(boxes, length(grids), s.lanes - width);
        for (Index b = 0; b < length(boxes, 0); b++) {
            check_run(found[b].first, found[b].last, p);
            for (Index k = 0; k < 3; k++)
                check(k < 3 - n ? found[b].size[k] == 1 : found[b].size[k] >= width, "a box must have room for a kernel");
        }
        grid().spread(s, points.data(), stride, data_or_null(weights), found, length(boxes, 0), grids.data());
    }, "points"_x, "weights"_x, "table"_x, "width"_a, "center"_x, "steps"_x, "boxes"_x, "grids"_x, FREE);
    m.def("add_boxes", [](InBoxes boxes, Index margin, In1 grids, Index columns, Cube whole) {
        check(0 <= margin && margin < 16 && 0 < columns && columns <= length(whole, 2) && length(whole, 0) && length(whole, 1),
              "the grid must have its columns");
        const Box* found = boxes_of(boxes, length(grids), margin);
        const Index shape[3] = {length(whole, 0), length(whole, 1), length(whole, 2)};
        grid().add(found, length(boxes, 0), margin, grids.data(), shape, columns, whole.data());
    }, "boxes"_x, "margin"_a, "grids"_x, "columns"_a, "whole"_x, FREE);
    m.def("apply_heat", [](Cube modes, In3 other, In2 planes, In2 rows, In2 columns, In1 powers, Cube fourth, Rows totals) {
        const Modes all{modes.data(), length(modes, 0), length(modes, 1), length(modes, 2)};
        check(fits(other, {all.planes, all.rows, all.columns}) &&
                  (fits(fourth, {all.planes, all.rows, all.columns}) || fourth.size() == 0), "the modes must be as many");
        check(fits(planes, {3, all.planes}) && fits(rows, {3, all.rows}) && fits(columns, {3, all.columns}) && fits(powers, {3}),
              "there must be three factors for each mode along each axis");
        check(totals.size() == 0 || fits(totals, {all.rows, 2}), "totals must be (rows, 2)");
        Factors f{};
        const double* at[3] = {planes.data(), rows.data(), columns.data()};
        const Index count[3] = {all.planes, all.rows, all.columns};
        for (int k = 0; k < 3; k++) {
            f.heat[k] = at[k], f.root[k] = at[k] + count[k], f.square[k] = at[k] + 2 * count[k];
            f.powers[k] = powers.data()[k];
        }
        grid().apply(all, f, other.data(), data_or_null(fourth), data_or_null(totals));
    }, "modes"_x, "other"_x, "planes"_x, "rows"_x, "columns"_x, "powers"_x, "fourth"_x, "totals"_x, FREE);
}

// --- the tree, plans, and sums near the targets

void check_box(In1 low, In1 high, Index n) {
    check(fits(low, {n}) && fits(high, {n}), "low and high must have a number per axis");
}

TransformCosts costs_of(const double* whole, Index n, double t, double energy_cutoff, bool fourth, In1 prices) {
    TransformCosts costs{whole, n, t, energy_cutoff, fourth, {}};
    check(length(prices) * sizeof(double) == sizeof(Prices), "prices must be those of core.hpp");
    std::memcpy(&costs.prices, prices.data(), sizeof(Prices));
    return costs;
}

void bind_tree(nb::module_& m) {
    m.def("blocks_within", [](In3 nodes, InPlaces begin, InPlaces size, In1 low, In1 high, double cut, Places found) {
        const Index n = length(nodes, 2);
        const Tree t = tree_of(nodes, begin, size, {nullptr, length(found) * BLOCK, n});
        check_box(low, high, n);
        return tree().blocks_within(t, n, low.data(), high.data(), cut, found.data());
    }, "nodes"_x, "begin"_x, "size"_x, "low"_x, "high"_x, "cut"_a, "found"_x, FREE);
    m.def("estimate_within", [](In3 nodes, InPlaces begin, InPlaces size, In1 low, In1 high, double cut, Index points) {
        const Index n = length(nodes, 2);
        const Tree t = tree_of(nodes, begin, size, {nullptr, points, n});
        check_box(low, high, n);
        return tree().estimate_within(t, n, low.data(), high.data(), cut, points);
    }, "nodes"_x, "begin"_x, "size"_x, "low"_x, "high"_x, "cut"_a, "points"_a);
    m.def("width_for", [](double eps) { return tree().width_for(eps); }, "eps"_a);
    m.def("log_accuracy_for", [](double eps, bool fourth) { return tree().log_accuracy_for(eps, fourth); }, "eps"_a, "fourth"_a);
    m.def("transform_cost", [](In1 low, In1 high, In2 whole, double t, double energy_cutoff, bool fourth, In1 prices,
                               double eps, double p, double q) {
        check(length(whole, 0) == 2, "the box of all sources must be (2, n)");
        const TransformCosts costs = costs_of(whole.data(), length(whole, 1), t, energy_cutoff, fourth, prices);
        check_box(low, high, costs.n);
        return tree().transform_cost(costs, low.data(), high.data(), eps, p, q);
    }, "low"_x, "high"_x, "whole"_x, "t"_a, "energy_cutoff"_a, "fourth"_a, "prices"_x, "eps"_a, "p"_a, "q"_a);
    m.def("plan", [](In2 targets, In3 nodes, InPlaces begin, InPlaces size, In1 offsets, Index points, In3 around,
                     InPlaces around_begin, InPlaces around_size, double near_cutoff, double weight_cutoff, double eps,
                     double least, bool allowed, double t, double energy_cutoff, bool fourth, In1 prices, Places chosen,
                     Cube boxes, Row epss) {
        const Sources s = sources_of(targets);
        const Tree of_targets = tree_of(nodes, begin, size, s);
        const Tree of_sources = tree_of(around, around_begin, around_size, {nullptr, points, s.n});
        check(points > 0, "there must be sources");
        check(length(offsets) == 0 || length(offsets) == s.m, "offsets must have a number per target, or none");
        const PlanTask task{s, of_targets, data_or_null(offsets), points, of_sources, near_cutoff, weight_cutoff,
                            eps, least, allowed, costs_of(around.data(), s.n, t, energy_cutoff, fourth, prices)};
        const Index blocks = blocks_of(s.m);
        check(fits(chosen, {blocks}) && fits(boxes, {blocks, 2, s.n}) && fits(epss, {blocks}),
              "chosen, boxes and eps must have an entry per block of targets");
        std::pair<double, Index> price_and_count;
        price_and_count.first = tree().plan(task, chosen.data(), boxes.data(), epss.data(), &price_and_count.second);
        return price_and_count;
    }, "targets"_x, "nodes"_x, "begin"_x, "size"_x, "offsets"_x, "points"_a, "around"_x, "around_begin"_x, "around_size"_x,
       "near_cutoff"_a, "weight_cutoff"_a, "eps"_a, "least"_a, "allowed"_a, "t"_a, "energy_cutoff"_a, "fourth"_a, "prices"_x,
       "chosen"_x, "boxes"_x, "epss"_x, FREE);
    m.attr("SINGLE_ERROR") = SINGLE_ERROR;
    m.attr("TOTAL_ERROR") = TOTAL_ERROR;
    m.attr("TINY_TIME") = TINY_TIME;
    m.def("near", [](In2 targets, InPlaces rows, In1 times, In1 offsets, In2 sources, In1 roots, In3 boxes, In3 nodes,
                     InPlaces begin, InPlaces size, double near_cutoff, double weight_cutoff, double energy_cutoff,
                     double tol, bool directions, bool fourth, bool energy, bool single, Index first, Index last, Rows sums) {
        const Sources t = sources_of(targets), s = sources_of(sources);
        const Tree tree = tree_of(nodes, begin, size, s);
        const auto none_or = [](const auto& a, Index count) {
            check(length(a) == 0 || length(a) == count, "rows, offsets and roots must have a number per point, or none");
            return data_or_null(a);
        };
        check(t.n == s.n && s.n > 0, "targets and sources must have the same axes");
        check(length(times) == 1 || length(times) == t.m, "times must be one, or one per target");
        check_boxes(boxes, s);
        check(fits(sums, {t.m, column_count(s.n, directions)}), "sums must be (targets, columns)");
        check_run(first, last, t.m);
        const NearTask task{t, none_or(rows, t.m), times.data(), length(times) > 1, none_or(offsets, t.m), s,
                            none_or(roots, s.m), boxes.data(), tree, near_cutoff, weight_cutoff, energy_cutoff, tol,
                            directions, fourth, energy, single};
        near_sums().near(task, first, last, sums.data());
    }, "targets"_x, "rows"_x, "times"_x, "offsets"_x, "sources"_x, "roots"_x, "boxes"_x, "nodes"_x, "begin"_x, "size"_x,
       "near_cutoff"_a, "weight_cutoff"_a, "energy_cutoff"_a, "tol"_a, "directions"_a, "fourth"_a, "energy"_a, "single"_a,
       "first"_a, "last"_a, "sums"_x, FREE);
}

// --- the field at query points

FieldTask task_of(In2 sources, In1 logs, In2 places, double log_accuracy, bool moments) {
    const FieldTask task{sources_of(sources), logs.data(), points_of(places), log_accuracy, moments};
    check(task.sources.m > 0 && task.sources.n == task.places.n, "sources and places must have the same axes");
    check(fits(logs, {task.sources.m}), "logs must have a number per source");
    return task;
}
Index columns_of(const FieldTask& task) { return task.moments ? 1 + task.places.n + triangle(task.places.n) : 1; }

void bind_field(nb::module_& m) {
    m.def("heaviest", [](In3 nodes, InPlaces begin, InPlaces size, In1 of_blocks, Row of_nodes) {
        const Tree tree = tree_of(nodes, begin, size, {nullptr, length(of_blocks) * BLOCK, length(nodes, 2)});
        check(fits(of_nodes, {tree.count}), "the result must have a number per node");
        field().heaviest(tree, of_blocks.data(), of_nodes.data());
    }, "nodes"_x, "begin"_x, "size"_x, "of_blocks"_x, "of_nodes"_x);
    m.def("field", [](In2 sources, In3 boxes, In1 logs, In1 heaviest, In1 times, In2 places, Index first, Index last,
                      double log_accuracy, bool moments, Cube out) {
        const FieldTask task = task_of(sources, logs, places, log_accuracy, moments);
        check_boxes(boxes, task.sources);
        check(fits(heaviest, {blocks_of(task.sources.m)}), "heaviest must have a number per block");
        check(fits(out, {task.places.m, length(times), columns_of(task)}), "out must be (places, times, columns)");
        check_run(first, last, task.places.m);
        field().sums(task, boxes.data(), heaviest.data(), times.data(), length(times), first, last, out.data());
    }, "sources"_x, "boxes"_x, "logs"_x, "heaviest"_x, "times"_x, "places"_x, "first"_a, "last"_a, "log_accuracy"_a,
       "moments"_a, "out"_x, FREE);
    m.def("field_by_tree", [](In2 sources, In1 logs, In3 nodes, InPlaces begin, InPlaces size, In1 heaviest, double t,
                              In2 places, InPlaces nearest, Index first, Index last, double log_accuracy, bool moments,
                              Rows out) {
        const FieldTask task = task_of(sources, logs, places, log_accuracy, moments);
        const Tree tree = tree_of(nodes, begin, size, task.sources);
        check(fits(heaviest, {tree.count}), "heaviest must have a number per node");
        check(fits(nearest, {task.places.m}), "nearest must have a number per place");
        check(fits(out, {task.places.m, columns_of(task)}), "out must be (places, columns)");
        check_run(first, last, task.places.m);
        for (Index i = first; i < last; i++)
            check(-1 <= nearest.data()[i] && nearest.data()[i] < task.sources.m, "nearest must be sources, or -1");
        field().by_tree(task, tree, heaviest.data(), t, nearest.data(), first, last, out.data());
    }, "sources"_x, "logs"_x, "nodes"_x, "begin"_x, "size"_x, "heaviest"_x, "t"_a, "places"_x, "nearest"_x, "first"_a,
       "last"_a, "log_accuracy"_a, "moments"_a, "out"_x, FREE);
}

}  // namespace

NB_MODULE(_core, m) {
    chosen = choose();
    m.def("isa", [] { return std::string(NAMES[chosen]); });
    m.def("isas", usable);
    bind_cloud(m);
    bind_pairs(m);
    bind_segments(m);
    bind_misc(m);
    bind_grid(m);
    bind_tree(m);
    bind_field(m);
}
