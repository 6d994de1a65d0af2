// Python's side: arrays in and out, and the checks before a pointer is used.
//
// Every function fills arrays that the caller made, and lets other threads run meanwhile. No array is converted: a
// result would go into a copy that nobody sees.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "core.hpp"

namespace nb = nanobind;
using namespace nb::literals;

// HF_TABLE(Kind, name): the kernels of a subject, of the chosen instruction set, as name().
#ifdef HF_X86
#define HF_TABLE(Kind, name)                 \
    namespace baseline {                     \
    extern const Kind name;                  \
    }                                        \
    namespace avx2 {                         \
    extern const Kind name;                  \
    }                                        \
    namespace avx512 {                       \
    extern const Kind name;                  \
    }                                        \
    static inline const Kind& name() {       \
        return isa() == 2 ? avx512::name : isa() == 1 ? avx2::name : baseline::name; \
    }
#else
#define HF_TABLE(Kind, name)                 \
    namespace baseline {                     \
    extern const Kind name;                  \
    }                                        \
    static inline const Kind& name() { return baseline::name; }
#endif

int isa();  // the chosen instruction set: 0 baseline, 1 avx2, 2 avx512

template <class T, std::size_t D> using Array = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
using Row = Array<double, 1>;
using Rows = Array<double, 2>;
using Cube = Array<double, 3>;
using Places = Array<Index, 1>;
using In1 = Array<const double, 1>;
using In2 = Array<const double, 2>;
using In3 = Array<const double, 3>;
using InPlaces = Array<const Index, 1>;

inline void check(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}
template <class A> Index length(const A& a, std::size_t axis = 0) { return Index(a.shape(axis)); }

inline Index blocks_of(Index m) { return (m + BLOCK - 1) / BLOCK; }

inline Points points_of(const In2& p) { return {p.data(), length(p, 0), length(p, 1)}; }
inline Sources sources_of(const In2& s) { return {s.data(), length(s, 1), length(s, 0)}; }
inline Tree tree_of(const In3& nodes, const InPlaces& begin, const InPlaces& size, Sources s) {
    const Index count = length(nodes, 0), blocks = blocks_of(s.m);
    check(length(nodes, 1) == 2 && length(nodes, 2) == s.n && length(begin) == count && length(size) == count &&
              count == (blocks ? 2 * blocks - 1 : 0),
          "the tree does not belong to these sources");
    return {nodes.data(), begin.data(), size.data(), count};
}
inline void check_boxes(const In3& boxes, Sources s) {
    check(length(boxes, 0) == 2 && length(boxes, 1) == s.n && length(boxes, 2) == blocks_of(s.m),
          "the boxes do not belong to these sources");
}
inline void check_run(Index first, Index last, Index count) {
    check(0 <= first && first <= last && last <= count, "the run is not within the array");
}
inline Batch batch_of(const In1& sources, const In1& boxes, const InPlaces& ends, const In2& times, Index n, double log_accuracy,
               bool single) {
    const Index count = length(ends), total = count ? ends.data()[count - 1] : 0;
    check(n > 0 && length(sources) == n * total, "sources must have n numbers per point");
    Index start = 0, blocks = 0;
    for (Index c = 0; c < count; c++) {
        check(ends.data()[c] >= start, "ends must not decrease");
        blocks += blocks_of(ends.data()[c] - start);
        start = ends.data()[c];
    }
    check(length(boxes) == 2 * n * blocks, "the boxes do not belong to these sources");
    const bool own = count == 1 && total > 1 && length(times, 1) == total;
    check(own || length(times, 1) == count, "times must have a column per cloud, or per point of a single one");
    return {sources.data(), boxes.data(), ends.data(), count, n, times.data(), own, length(times, 0), total,
            log_accuracy, single};
}
