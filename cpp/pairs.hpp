// Sums over the neighbours of one point: the innermost loops of the heat field, for all paths.
//
// With r = x_j - x_i, D = |r|, w = exp(-D**2 / 4t) and its root g = exp(-D**2 / 8t), the columns are the sums of
// w, w D**2, g, g D**2, then w D**4, then w r and the upper triangle of w r r', where they are wanted
// (heatfield.core.moments has the same table).
#pragma once
#include "cloud.hpp"
#include "lanes.hpp"

#define HF_ONCE __attribute__((noinline))  // large and called from many places: compiled once for all of them

namespace HF_ISA {

constexpr Index TILE = 512;
constexpr double LOG2_E = 1.4426950408889634;
enum Column { WEIGHT, SQUARE, ROOT_WEIGHT, ROOT_SQUARE, FOURTH, FIRST };
enum Wanted { RADIAL = 0, WITH_FOURTH = 1, WITH_DIRECTIONS = 2 };

inline Index column_count(Index n, int wanted) { return wanted & WITH_DIRECTIONS ? FIRST + n + n * (n + 1) / 2 : FIRST; }

// Room that begins on a boundary of 64 bytes, filled with zeros.
template <class T> struct AlignedRoom {
    Room<T> room;
    T* const at;
    explicit AlignedRoom(Index count)
        : room(count + 64 / Index(sizeof(T))), at((T*)(((std::uintptr_t)room.at + 63) / 64 * 64)) {
        for (Index j = 0; j < count; j++) at[j] = T(0);
    }
};

// Up to TILE neighbours as seen from one point: rows of r, of D**2 and of g. N axes; 0: any number.
template <class T, int N> struct Tile {
    static constexpr Index STRIDE = TILE + 2 * MOST;
    Index axes, count = 0;
    AlignedRoom<T> room;
    explicit Tile(Index n) : axes(n), room((n + 2) * STRIDE) {}
    HF_INLINE Index n() const { return N ? N : axes; }
    HF_INLINE T* row(Index k) const { return room.at + k * STRIDE; }
    HF_INLINE T* square() const { return row(n()); }
    HF_INLINE T* root() const { return row(n() + 1); }

    // Append sources. Differences are taken in double precision and then stored in T, so that single precision costs
    // digits of r, never of the position.
    HF_ONCE void add(Sources s, Index at, Index more, const double* target) {
        T* d = square() + count;
        for (Index k = 0; k < n(); k++) {
            const double *x = s.at + k * s.m + at, here = target[k];
            T* to = row(k) + count;
#pragma GCC ivdep
            for (Index j = 0; j < more; j++) to[j] = T(x[j] - here);
        }
        const T* x = row(0) + count;
        if constexpr (N == 3) {
            const T *y = row(1) + count, *z = row(2) + count;
#pragma GCC ivdep
            for (Index j = 0; j < more; j++) d[j] = x[j] * x[j] + y[j] * y[j] + z[j] * z[j];
        } else if constexpr (N == 2) {
            const T* y = row(1) + count;
#pragma GCC ivdep
            for (Index j = 0; j < more; j++) d[j] = x[j] * x[j] + y[j] * y[j];
        } else {
#pragma GCC ivdep
            for (Index j = 0; j < more; j++) d[j] = x[j] * x[j];
            for (Index k = 1; k < n(); k++) {
                const T* y = row(k) + count;
#pragma GCC ivdep
                for (Index j = 0; j < more; j++) d[j] += y[j] * y[j];
            }
        }
        count += more;
    }

    // The same of columns that are gathered already, `stride` apart and readable up to the end of the last vector.
    template <bool DIRECTIONS> HF_INLINE void fill(const T* columns, Index stride, Index more, const T* target) {
        using V = Vector<T>;
        T *first = row(0), *d = square();
        const Index axes = n();
        V at[N ? N : 1];
        for (Index k = 0; k < N; k++) at[k] = all<T>(target[k]);
        for (Index j = 0; j < more; j += WIDTH<T>) {
            V total{};
#pragma GCC unroll 3
            for (Index k = 0; k < axes; k++) {
                const V r = load<T>(columns + k * stride + j) - (N ? at[N ? k : 0] : all<T>(target[k]));
                if constexpr (DIRECTIONS) store<T>(first + k * STRIDE + j, r);
                total += r * r;
            }
            store<T>(d + j, total);
        }
        count = more;
    }

    // Weights on the sources: g times their roots.
    HF_INLINE void weigh(const T* roots) const {
        T* g = root();
        for (Index j = 0; j < count; j += WIDTH<T>) store<T>(g + j, load<T>(g + j) * load<T>(roots + j));
    }

    // g = 2**(rate D**2), with rate = -log2(e) / 8t; 0 up to the end of the last pair of vectors.
    HF_INLINE void heat(T rate) const { heat(rate, 0, count); }
    HF_INLINE void heat(T rate, Index begin, Index count) const {
        const T* d = square() + begin;
        T* g = root() + begin;
        const Vector<T> speed = all<T>(rate);
#pragma GCC unroll 4
        for (Index j = 0; j < count; j += WIDTH<T>) store<T>(g + j, exp2<T>(load<T>(d + j) * speed, Lanes<T>::least_root));
        for (Index j = count; j < (count + 2 * WIDTH<T> - 1) / (2 * WIDTH<T>) * 2 * WIDTH<T>; j++) g[j] = T(0);
    }

    // Add the sums to sums[column * stride]; the exponential is a loop of its own, because together they need more
    // registers than the processor has.
    template <int WANTED> HF_INLINE void sum(double* sums, Index stride) const {
        using V = Vector<T>;
        const T *square = this->square(), *root = this->root();
        V w1[2]{}, wd[2]{}, g1[2]{}, gd[2]{}, w4[2]{};  // two of each: an addition waits for the one before
        for (Index j = 0; j < count; j += 2 * WIDTH<T>)
#pragma GCC unroll 2
            for (int u = 0; u < 2; u++) {
                const V d = load<T>(square + j + u * WIDTH<T>), g = load<T>(root + j + u * WIDTH<T>), h = g * d;
                w1[u] += g * g;
                wd[u] += g * h;
                g1[u] += g;
                gd[u] += h;
                if constexpr (WANTED & WITH_FOURTH) w4[u] += h * h;
            }
        sums[WEIGHT * stride] += total<T>(w1[0] + w1[1]);
        sums[SQUARE * stride] += total<T>(wd[0] + wd[1]);
        sums[ROOT_WEIGHT * stride] += total<T>(g1[0] + g1[1]);
        sums[ROOT_SQUARE * stride] += total<T>(gd[0] + gd[1]);
        if constexpr (WANTED & WITH_FOURTH) sums[FOURTH * stride] += total<T>(w4[0] + w4[1]);
        if constexpr (WANTED & WITH_DIRECTIONS) directions(sums + FIRST * stride, stride);
    }

    // Both for one scale, with the roots of the sources' weights where they have some.
    template <int WANTED> HF_ONCE void heat_and_sum(T rate, const T* roots, double* sums, Index stride) const {
        heat(rate);
        if (roots) weigh(roots);
        sum<WANTED>(sums, stride);
    }
    using Summing = void (Tile::*)(T rate, const T* roots, double* sums, Index stride) const;
    static Summing summing(int wanted) {
        return wanted == RADIAL            ? &Tile::template heat_and_sum<RADIAL>
               : wanted == WITH_FOURTH     ? &Tile::template heat_and_sum<WITH_FOURTH>
               : wanted == WITH_DIRECTIONS ? &Tile::template heat_and_sum<WITH_DIRECTIONS>
                                           : &Tile::template heat_and_sum<WITH_FOURTH | WITH_DIRECTIONS>;
    }

    HF_INLINE void directions(double* sums, Index stride) const {
        using V = Vector<T>;
        const T* root = this->root();
        if constexpr (N) {
            V first[N]{}, second[N * (N + 1) / 2]{};
            for (Index j = 0; j < count; j += WIDTH<T>) {
                const V g = load<T>(root + j), w = g * g;
                V r[N];
#pragma GCC unroll 3
                for (int k = 0; k < N; k++) r[k] = load<T>(row(k) + j);
                int c = 0;
#pragma GCC unroll 3
                for (int k = 0; k < N; k++) {
                    const V wr = w * r[k];
                    first[k] += wr;
#pragma GCC unroll 3
                    for (int l = k; l < N; l++) second[c++] += wr * r[l];
                }
            }
            for (int k = 0; k < N; k++) sums[k * stride] += total<T>(first[k]);
            for (int c = 0; c < N * (N + 1) / 2; c++) sums[(N + c) * stride] += total<T>(second[c]);
        } else {
            double* second = sums + axes * stride;
            for (Index k = 0; k < axes; k++)
                for (Index l = k; l < axes; l += 4) {
                    const Index some = smaller<Index>(4, axes - l);
                    const auto add = some == 4   ? &Tile::template products<4>
                                     : some == 3 ? &Tile::template products<3>
                                     : some == 2 ? &Tile::template products<2>
                                                 : &Tile::template products<1>;
                    (this->*add)(k, l, sums + k * stride, second, stride);
                    second += some * stride;
                }
        }
    }

    // The sums of w r_k r_l of some axes from l on, for which w r_k is computed once, and with the first of them its own.
    template <int SOME> void products(Index k, Index l, double* first, double* second, Index stride) const {
        using V = Vector<T>;
        const T *x = row(k), *y = row(l), *root = this->root();
        V alone{}, both[SOME]{};
        for (Index j = 0; j < count; j += WIDTH<T>) {
            const V g = load<T>(root + j), wr = g * g * load<T>(x + j);
            alone += wr;
#pragma GCC unroll 4
            for (int b = 0; b < SOME; b++) both[b] += wr * load<T>(y + b * STRIDE + j);
        }
        if (l == k) *first += total<T>(alone);
#pragma GCC unroll 4
        for (int b = 0; b < SOME; b++) second[b * stride] += total<T>(both[b]);
    }
};

template <class F> inline void by_axes_up_to_3(Index n, F work) {
    if (n == 1) work(Axes<1>{});
    else by_axes(n, work);
}

// The blocks from first to last within a squared distance as runs of columns, neighbouring blocks joined; how many.
inline Index find_runs(const double* gaps, Index first, Index last, double cut, Index m, Index* begins, Index* ends) {
    Index runs = 0;
    for (Index b = first; b < last; b++) {
        if (gaps[b] > cut) continue;
        if (runs && ends[runs - 1] == b * BLOCK) runs--;
        else begins[runs] = b * BLOCK;
        ends[runs++] = end_of(b, m);
    }
    return runs;
}

// Squared distance of a place to each block's box (2, n, blocks).
template <int N> inline void gaps_to_blocks(const double* boxes, Index n, Index blocks, const double* at, double* gaps) {
    for (Index b = 0; b < blocks; b++) gaps[b] = 0.0;
    for (Index k = 0; k < (N ? N : n); k++) {
        const double *low = boxes + k * blocks, *high = boxes + ((N ? N : n) + k) * blocks, here = at[k];
#pragma GCC ivdep
        for (Index b = 0; b < blocks; b++) {
            const double step = larger(0.0, larger(low[b] - here, here - high[b]));
            gaps[b] += step * step;
        }
    }
}

// One cloud of a batch.
struct Member {
    Sources s;
    const double* boxes;
    Index start, number;
};

template <class F> inline void each_cloud(const Batch& b, Index first, Index last, F work) {
    Index start = 0;
    const double* boxes = b.boxes;
    for (Index c = 0; c < b.count; c++) {
        const Index m = b.ends[c] - start, from = larger(first, start), to = smaller(last, b.ends[c]);
        if (from < to) work(Member{{b.sources + b.n * start, m, b.n}, boxes, start, c}, from - start, to - start);
        boxes += 2 * b.n * blocks_of(m);
        start = b.ends[c];
    }
}

// Squared distance beyond which a pair changes no digit of any sum. Everything left out must be small beside the
// point's own weight of 1 in the sum of g, and beside the term of the nearest neighbour in the sum of w D**2, which
// alone determines the heat dimension of an isolated point.
inline double cutoff(double t, double nearest, double log_reach) {
    const double dimension = nearest + 4.0 * t * (log_reach + __builtin_log1p(4.0 * t * log_reach / nearest));
    return larger(dimension, 8.0 * t * log_reach);
}

}  // namespace HF_ISA
