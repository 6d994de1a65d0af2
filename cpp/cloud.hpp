// Blocks of an arranged cloud, the tree over them, and squared distances to runs of points.
//
// The kd order halves the blocks again and again and so defines the tree: a node is a run of blocks, its left child
// the first half (rounded up), its right child the rest. Nodes are stored in pre-order: the left child of node i is
// i + 1, the right one i + 2 * (blocks of the left child). Nothing but the boxes has to be kept.
//
// Only names of this namespace are used, none of the standard library: an inline function that several builds share
// would exist once in the program, perhaps with instructions that an older processor does not have.
#pragma once
#include "core.hpp"
#include "select.hpp"

namespace HF_ISA {

constexpr int DEPTH = 128;  // deeper than any walk: the number of blocks halves at every level
constexpr Index CHUNK = 64;

inline Index blocks_of(Index m) { return (m + BLOCK - 1) / BLOCK; }
inline Index end_of(Index block, Index m) { return smaller(m, (block + 1) * BLOCK); }
inline Index points_in(Index begin, Index size, Index m) { return smaller(m, (begin + size) * BLOCK) - begin * BLOCK; }
inline Index right_child(Index i, Index size) { return i + 2 * ((size + 1) / 2); }
inline void swap(Index& a, Index& b) {
    const Index c = a;
    a = b, b = c;
}

inline double largest_of(const double* values, Index first, Index last) {
    double found = values[first];
    for (Index j = first + 1; j < last; j++) found = larger(found, values[j]);
    return found;
}

// Room for the time of a call.
template <class T> struct Room {
    T* at;
    explicit Room(Index count) : at(new T[count > 0 ? count : 1]) {}
    ~Room() { delete[] at; }
    Room(const Room&) = delete;
    void operator=(const Room&) = delete;
};
using Scratch = Room<double>;
using Places = Room<Index>;

inline double* column(Sources s, Index i, double* at) {
    for (Index k = 0; k < s.n; k++) at[k] = s.at[k * s.m + i];
    return at;
}

inline double square_to(Sources s, Index j, const double* at) {
    double square = 0.0;
    for (Index k = 0; k < s.n; k++) {
        const double step = s.at[k * s.m + j] - at[k];
        square += step * step;
    }
    return square;
}

// The number of axes as a constant where it is small (0: any number).
template <int N> struct Axes {
    static constexpr int n = N;
};
template <class F> inline void by_axes(Index n, F work) {
    if (n == 3) work(Axes<3>{});
    else if (n == 2) work(Axes<2>{});
    else work(Axes<0>{});
}

// Squared distances of a place to `count` points, axis by axis: at most CHUNK of them.
template <int N> inline void squares(Sources s, const double* at, Index from, Index count, double* square) {
    const double* x = s.at + from;
    if constexpr (N == 3) {
        const double *y = x + s.m, *z = y + s.m, a = at[0], b = at[1], c = at[2];
        for (Index j = 0; j < count; j++) {
            const double dx = x[j] - a, dy = y[j] - b, dz = z[j] - c;
            square[j] = dx * dx + dy * dy + dz * dz;
        }
    } else if constexpr (N == 2) {
        const double *y = x + s.m, a = at[0], b = at[1];
        for (Index j = 0; j < count; j++) {
            const double dx = x[j] - a, dy = y[j] - b;
            square[j] = dx * dx + dy * dy;
        }
    } else {
        for (Index j = 0; j < count; j++) square[j] = 0.0;
        for (Index k = 0; k < s.n; k++, x += s.m)
            for (Index j = 0; j < count; j++) square[j] += (x[j] - at[k]) * (x[j] - at[k]);
    }
}

// Blocks of one cloud beside each other: `boxes` is (2, n, blocks).
struct Boxes {
    const double* at;
    Index n, blocks;
    double low(Index k, Index b) const { return at[k * blocks + b]; }
    double high(Index k, Index b) const { return at[(n + k) * blocks + b]; }
    double gap(const double* lo, const double* hi, Index b) const {
        double total = 0.0;
        for (Index k = 0; k < n; k++) {
            const double step = larger(0.0, larger(low(k, b) - hi[k], lo[k] - high(k, b)));
            total += step * step;
        }
        return total;
    }
    double reach(const double* lo, const double* hi, Index b) const {
        double total = 0.0;
        for (Index k = 0; k < n; k++) {
            const double step = larger(hi[k] - low(k, b), high(k, b) - lo[k]);
            total += step * step;
        }
        return total;
    }
    void corners(Index b, double* lo, double* hi) const {
        for (Index k = 0; k < n; k++) lo[k] = low(k, b), hi[k] = high(k, b);
    }
};

template <int N> struct Nodes {
    Tree tree;
    Index any;  // the number of axes
    const Index n = N ? N : any;
    const double* low(Index i) const { return tree.nodes + i * 2 * n; }
    const double* high(Index i) const { return low(i) + n; }
    // Smallest and largest squared distance between a box and that of node i.
    double gap(const double* lo, const double* hi, Index i) const {
        double total = 0.0;
        for (Index k = 0; k < n; k++) {
            const double step = larger(0.0, larger(low(i)[k] - hi[k], lo[k] - high(i)[k]));
            total += step * step;
        }
        return total;
    }
    double reach(const double* lo, const double* hi, Index i) const {
        double total = 0.0;
        for (Index k = 0; k < n; k++) {
            const double step = larger(hi[k] - low(i)[k], high(i)[k] - lo[k]);
            total += step * step;
        }
        return total;
    }
    bool is_one_place(Index i) const {
        for (Index k = 0; k < n; k++)
            if (low(i)[k] != high(i)[k]) return false;
        return true;
    }
};

}  // namespace HF_ISA
