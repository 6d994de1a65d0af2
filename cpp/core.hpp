// What every build of the kernels offers: plain pointers and counts, nothing of Python or of the standard library.
//
// Arrays are C-contiguous. Sources are (n, m): one row per axis, points in kd order. A tree is `nodes` (count, 2, n),
// the corners of each node, with `begin` and `size`, its first block and how many it has (see cloud.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

using Index = std::int64_t;

constexpr Index BLOCK = 16;  // points of an arranged cloud that share a box

struct Points {  // as the caller has them: (m, n)
    const double* at;
    Index m, n;
};
struct Sources {  // arranged: (n, m)
    const double* at;
    Index m, n;
};
struct Tree {
    const double* nodes;
    const Index *begin, *size;
    Index count;
};

struct Core {
    const char* name;
    // A corner that can be subtracted without rounding, and log2 of the extent.
    Index (*origin)(Points, double* origin);
    // Sort a run of the order into two halves, across its widest axis; where the second begins.
    Index (*halve)(Points, Index* order, double* keys, Index first, Index last);
    // Halve a run down to its blocks.
    void (*sort)(Points, Index* order, double* keys, Index first, Index last);
    // (points - origin) * factor, in the order, for the columns first to last.
    void (*gather)(Points, const Index* order, const double* origin, double factor, Index first, Index last,
                   double* sources);
    void (*boxes)(Sources, double* boxes);
    // Many clouds, one after the other: `ends` are the rows at which they end. Sources (n, m) and boxes (2, n, blocks)
    // of each are written one after the other too; extents (count, 2) are mean spacing and diameter, NaN where there
    // are fewer than two places.
    void (*clouds)(Points, const Index* ends, Index count, double* sources, double* boxes, double* nearest,
                   double* extents, Index* exponents);
    void (*grow)(const double* boxes, Index n, Index blocks, double* nodes, Index* begin, Index* size);
    // Squared distance of each point to the nearest one elsewhere, and how many share its place.
    void (*nearest)(Sources, const double* boxes, double* nearest, Index* same);
    // Mean nearest-neighbour distance over distinct points, each place once; NaN if there is only one.
    double (*spacing)(const double* nearest, const Index* same, Index m);
    void (*nearest_by_tree)(Sources, Tree, Index first, Index last, double* nearest, Index* same);
    // Squared distance of each target (n, q) to the nearest source, and which one that is (-1: none).
    void (*nearest_source)(Sources targets, Sources, Tree, double* squares, Index* which);
    double (*diameter)(Sources, const double* boxes);
    double (*distant_pair)(Sources);
    void (*directions)(Sources, Tree, double* direction_boxes, double* radius);
    double (*farthest_by_tree)(Sources, Tree, const double* direction_boxes, const double* radius, Index first,
                               Index last, double best);
};
