// Points and a uniform grid, linked by a kernel of a few grid points: spreading, interpolation with derivatives, and
// factors on the modes of the grid.
//
// A kernel is a polynomial for each of the grid points under it, in lanes side by side. All has three axes; those that
// a cloud does not have are in front and have one grid point.
#include "cloud.hpp"
#include "lanes.hpp"

namespace HF_ISA {
namespace {

template <int K> struct Short;  // K doubles
template <> struct Short<2> {
    typedef double V __attribute__((vector_size(16)));
    typedef double Loose __attribute__((vector_size(16), aligned(8), may_alias));
};
template <> struct Short<4> {
    typedef double V __attribute__((vector_size(32)));
    typedef double Loose __attribute__((vector_size(32), aligned(8), may_alias));
};
template <> struct Short<8> {
    typedef double V __attribute__((vector_size(64)));
    typedef double Loose __attribute__((vector_size(64), aligned(8), may_alias));
};

// L numbers, in vectors as wide as the processor has them.
template <int L> struct Pack {
    static constexpr int K = L < WIDTH<double> ? L : int(WIDTH<double>);
    using V = typename Short<K>::V;
    using Loose = typename Short<K>::Loose;
    V part;
    Pack<L - K> more;
    HF_INLINE static Pack zero() { return {V{}, Pack<L - K>::zero()}; }
    HF_INLINE static Pack load(const double* x) { return {*(const Loose*)x, Pack<L - K>::load(x + K)}; }
    HF_INLINE void store(double* x) const {
        *(Loose*)x = part;
        more.store(x + K);
    }
    HF_INLINE Pack operator*(double b) const { return {part * b, more * b}; }
    HF_INLINE Pack times_plus(double b, const Pack& c) const { return {part * b + c.part, more.times_plus(b, c.more)}; }
    HF_INLINE V dot(const Pack& b, V c) const {
        if constexpr (L == K) return part * b.part + c;
        else return more.dot(b.more, part * b.part + c);
    }
    HF_INLINE double total(const Pack& b) const {
        V products = part * b.part;
        double sum = 0.0;
        if constexpr (L - K >= K) products = more.dot(b.more, products);
        if constexpr ((L - K) % K) sum = more.total(b.more);
        double a[K];
        *(Loose*)a = products;
        for (int half = K / 2; half; half /= 2)
            for (int i = 0; i < half; i++) a[i] += a[i + half];
        return a[0] + sum;
    }
};
template <> struct Pack<0> {
    HF_INLINE static Pack zero() { return {}; }
    HF_INLINE static Pack load(const double*) { return {}; }
    HF_INLINE void store(double*) const {}
    HF_INLINE Pack operator*(double) const { return {}; }
    HF_INLINE Pack times_plus(double, const Pack&) const { return {}; }
};

// The kernel around a place that lies z in [0, 1) right of the kernel's first grid point, with its derivatives: the
// value, the slope and the curvature, as far as ORDERS goes. The polynomials are in 2z - 1, and the argument of the
// kernel falls as z grows.
template <int L, int ORDERS> HF_INLINE void kernels_at(const Stencil& s, double z, Pack<L>* out) {
    const double x = 2.0 * z - 1.0;
    Pack<L> p[ORDERS];
    for (int order = 0; order < ORDERS; order++) p[order] = Pack<L>::zero();
    for (Index power = 0; power < s.powers; power++) {
        for (int order = ORDERS - 1; order > 0; order--) p[order] = p[order].times_plus(x, p[order - 1]);
        p[0] = p[0].times_plus(x, Pack<L>::load(s.table + power * L));
    }
    out[0] = p[0];
    if constexpr (ORDERS > 1) out[1] = p[1] * -2.0;
    if constexpr (ORDERS > 2) out[2] = p[2] * 8.0;
}

HF_INLINE double edge_of(const Stencil& s, int axis, double place) {
    return (place - s.center[axis]) * s.steps[axis] - 0.5 * double(s.width);
}

HF_INLINE Index modulo(Index a, Index b) { return (a %= b) < 0 ? a + b : a; }

// A grid point within the period; anything, where the place is not a number.
HF_INLINE Index within(double start, Index size) {
    if (!(__builtin_fabs(start) < 9e18)) return 0;
    Index at = Index(start);
    at += at < 0 ? size : 0;
    if (std::uint64_t(at) < std::uint64_t(size)) return at;
    return modulo(at, size);
}

constexpr int most_derivatives(int n, int orders) { return orders == 1 ? 1 : 1 + n + n * (n + 1) / 2; }

// One run of places, with everything known to the compiler but the width.
template <int L, int N, int ORDERS>
double interpolate_run(const Stencil& s, const double* grid, const Index* shape, const double* places, Index stride,
                       Index first, Index last, const double* map, Index columns, double* out, Index out_stride) {
    constexpr int D = most_derivatives(N, ORDERS);
    alignas(64) double across[2][ORDERS][L];  // kernels of planes and rows
    Pack<L> along[ORDERS];
    Index begin[3] = {}, row_at[L];
    const Index size[3] = {shape[0], shape[1], shape[2] - L};
    double largest = -__builtin_inf();
    for (Index i = first; i < last; i++) {
#pragma GCC unroll 3
        for (int k = 0; k < N; k++) {
            const double edge = edge_of(s, k, places[k * stride + i]), start = __builtin_ceil(edge);
            begin[3 - N + k] = within(start, size[3 - N + k]);
            kernels_at<L, ORDERS>(s, start - edge, along);
            if (k < N - 1)
                for (int order = 0; order < ORDERS; order++) along[order].store(across[k + 3 - N][order]);
        }
        double found[D];
        if constexpr (N == 1) {
            const Pack<L> value = Pack<L>::load(grid + begin[2]);
            for (int order = 0; order < ORDERS; order++) found[order] = value.total(along[order]);
        } else {
            for (Index j = 0; j < s.width; j++) {
                const Index at = begin[1] + j;
                row_at[j] = (at < size[1] ? at : at - size[1]) * shape[2] + begin[2];
            }
            const auto contract_rows = [&](const double* base, Pack<L>* row) {
                for (int order = 0; order < ORDERS; order++) row[order] = Pack<L>::zero();
                for (Index y = 0; y < s.width; y++) {
                    const Pack<L> value = Pack<L>::load(base + row_at[y]);
                    for (int order = 0; order < ORDERS; order++)
                        row[order] = value.times_plus(across[1][order][y], row[order]);
                }
            };
            Pack<L> row[ORDERS];
            if constexpr (N == 2) {
                contract_rows(grid, row);
                found[0] = row[0].total(along[0]);
                if constexpr (ORDERS == 3) {
                    found[1] = row[1].total(along[0]), found[2] = row[0].total(along[1]);
                    found[3] = row[2].total(along[0]), found[4] = row[1].total(along[1]);
                    found[5] = row[0].total(along[2]);
                }
            } else {
                constexpr int PLANES = ORDERS == 3 ? 6 : 1;
                Pack<L> plane[PLANES];  // (y, z) orders: 00, 10, 20, 01, 11, 02
                for (int p = 0; p < PLANES; p++) plane[p] = Pack<L>::zero();
                for (Index z = 0; z < s.width; z++) {
                    const Index at = begin[0] + z;
                    contract_rows(grid + (at < size[0] ? at : at - size[0]) * shape[1] * shape[2], row);
                    plane[0] = row[0].times_plus(across[0][0][z], plane[0]);
                    if constexpr (ORDERS == 3) {
                        plane[1] = row[1].times_plus(across[0][0][z], plane[1]);
                        plane[2] = row[2].times_plus(across[0][0][z], plane[2]);
                        plane[3] = row[0].times_plus(across[0][1][z], plane[3]);
                        plane[4] = row[1].times_plus(across[0][1][z], plane[4]);
                        plane[5] = row[0].times_plus(across[0][2][z], plane[5]);
                    }
                }
                found[0] = plane[0].total(along[0]);
                if constexpr (ORDERS == 3) {
                    found[1] = plane[3].total(along[0]), found[2] = plane[1].total(along[0]);
                    found[3] = plane[0].total(along[1]), found[4] = plane[5].total(along[0]);
                    found[5] = plane[4].total(along[0]), found[6] = plane[3].total(along[1]);
                    found[7] = plane[2].total(along[0]), found[8] = plane[1].total(along[1]);
                    found[9] = plane[0].total(along[2]);
                }
            }
        }
        largest = larger(largest, found[0]);
        Pack<16> sums = Pack<16>::zero();
        for (int d = 0; d < D; d++) sums = Pack<16>::load(map + 16 * d).times_plus(found[d], sums);
        double all[16];
        sums.store(all);
        double* to = out + i * out_stride;
        for (Index c = 0; c < columns; c++) to[c] = all[c];
    }
    return largest;
}

template <int L> struct LaneCount {
    static constexpr int l = L;
};
template <class F> inline void by_lanes(Index lanes, F work) {
    if (lanes == 4) work(LaneCount<4>{});
    else if (lanes == 8) work(LaneCount<8>{});
    else if (lanes == 12) work(LaneCount<12>{});
    else work(LaneCount<16>{});
}

double interpolate(const Stencil& s, const double* grid, const Index* shape, const double* places, Index stride,
                   Index first, Index last, const double* map, Index derivatives, Index columns, double* out,
                   Index out_stride) {
    double largest = 0.0;
    Scratch wide(10 * 16);  // rows of sixteen
    for (Index d = 0; d < derivatives; d++)
        for (Index c = 0; c < 16; c++) wide.at[16 * d + c] = c < columns ? map[d * columns + c] : 0.0;
    by_lanes(s.lanes, [&](auto lanes) {
        constexpr int L = decltype(lanes)::l;
        const auto run = derivatives == 1
            ? (s.n == 1 ? interpolate_run<L, 1, 1> : s.n == 2 ? interpolate_run<L, 2, 1> : interpolate_run<L, 3, 1>)
            : (s.n == 1 ? interpolate_run<L, 1, 3> : s.n == 2 ? interpolate_run<L, 2, 3> : interpolate_run<L, 3, 3>);
        largest = run(s, grid, shape, places, stride, first, last, wide.at, columns, out, out_stride);
    });
    return largest;
}

// Boxes of grid points for a run of points. Points come in kd order: half a run lies in about half of the box. A run is
// halved where its halves, or theirs, have fewer grid points to clear and to add than the whole.
struct Cutter {
    const Stencil& s;
    const double* points;
    Index stride, dense, kernel;  // grid points per point that are not worth cutting; those of one kernel
    Box* found;
    Index count = 0;

    Box box_of(Index first, Index last) const {
        Box box{first, last, {0, 0, 0}, {1, 1, 1}};
        for (Index k = 0; k < s.n; k++) {
            const double* x = points + k * stride;
            Vector<double> lows = all<double>(x[first]), highs = lows;
            Index i = first;
            for (; i + WIDTH<double> <= last; i += WIDTH<double>) {
                const Vector<double> more = load(x + i);
                lows = more < lows ? more : lows, highs = more > highs ? more : highs;
            }
            double low = lows[0], high = highs[0];
            for (Index j = 1; j < WIDTH<double>; j++) low = smaller(low, lows[j]), high = larger(high, highs[j]);
            for (; i < last; i++) low = smaller(low, x[i]), high = larger(high, x[i]);
            const double from = __builtin_ceil(edge_of(s, int(k), low)), to = __builtin_ceil(edge_of(s, int(k), high));
            const bool fits = __builtin_fabs(from) < 1e9 && to - from < 1e9;  // or the place is not one
            box.low[3 - s.n + k] = fits ? Index(from) : 0;
            box.size[3 - s.n + k] = (fits ? Index(to - from) : 0) + s.width;
        }
        return box;
    }
    // What clearing and adding takes, in grid points.
    static double cost(const Box& box) { return double(box.size[0]) * double(box.size[1]) * double(box.size[2] + 16); }

    double cut(Index first, Index last) {
        const Box box = box_of(first, last);
        const double own = cost(box);
        const Index before = count, middle = (first + last) / 2;
        if (last - first > 1 && own > double(dense * (last - first)) && own > 2.0 * double(kernel)) {
            const double halves = cut(first, middle) + cut(middle, last);
            if (halves < own) return halves;
        }
        count = before;
        found[count++] = box;
        return own;
    }
};

Index boxes(const Stencil& s, const double* points, Index stride, Index first, Index last, Box* found) {
    Index kernel = 1;
    for (Index k = 0; k < s.n; k++) kernel *= s.width;
    Cutter cutter{s, points, stride, larger(Index(s.n == 3 ? 64 : 16), kernel / 8), kernel, found};
    if (first < last) cutter.cut(first, last);
    return cutter.count;
}

// Kernels around the points of some boxes, times their weights, into the grids of the boxes, one after the other.
template <int L, int N>
void spread_boxes(const Stencil& s, const double* points, Index stride, const double* weights, const Box* boxes, Index count,
                  double* grids) {
    alignas(64) double across[2][L] = {};
    for (Index b = 0; b < count; b++) {
        const Box& box = boxes[b];
        const Index columns = box.size[2] + L - s.width, layer = box.size[1] * columns;
        for (Index j = 0; j < box.size[0] * layer; j++) grids[j] = 0.0;
        for (Index i = box.first; i < box.last; i++) {
            Pack<L> along;
            double* row = grids;
            const Index by[3] = {layer, columns, 1};
#pragma GCC unroll 3
            for (int k = 0; k < N; k++) {
                const int axis = 3 - N + k;
                const double edge = edge_of(s, k, points[k * stride + i]), low = double(box.low[axis]);
                // Rounded in another order the last digit of the edge could lead out of the box.
                const double start = smaller(larger(__builtin_ceil(edge) - low, 0.0), double(box.size[axis] - s.width));
                row += Index(start) * by[axis];
                kernels_at<L, 1>(s, (start + low) - edge, &along);
                if (k < N - 1) along.store(across[axis]);
            }
            const double weight = weights ? weights[i] : 1.0;
            for (Index z = 0; z < (N == 3 ? s.width : 1); z++) {
                const double here = N == 3 ? weight * across[0][z] : weight;
                for (Index y = 0; y < (N >= 2 ? s.width : 1); y++) {
                    double* to = row + z * layer + y * columns;
                    along.times_plus(N >= 2 ? here * across[1][y] : here, Pack<L>::load(to)).store(to);
                }
            }
        }
        grids += box.size[0] * layer;
    }
}

void spread(const Stencil& s, const double* points, Index stride, const double* weights, const Box* boxes, Index count,
            double* grids) {
    by_lanes(s.lanes, [&](auto lanes) {
        constexpr int L = decltype(lanes)::l;
        (s.n == 1 ? spread_boxes<L, 1> : s.n == 2 ? spread_boxes<L, 2> : spread_boxes<L, 3>)(s, points, stride, weights,
                                                                                             boxes, count, grids);
    });
}

void add(const Box* boxes, Index count, Index margin, const double* grids, const Index* shape, Index columns, double* whole) {
    for (Index b = 0; b < count; b++) {
        const Box& box = boxes[b];
        const Index used = box.size[2];
        for (Index z = 0; z < box.size[0]; z++)
            for (Index y = 0; y < box.size[1]; y++, grids += used + margin) {
                double* row = whole + (modulo(box.low[0] + z, shape[0]) * shape[1] + modulo(box.low[1] + y, shape[1])) * shape[2];
                Index x = modulo(box.low[2], columns);
                for (Index done = 0; done < used; x = 0) {
                    const Index run = smaller(used - done, columns - x);
                    for (Index j = 0; j < run; j++) row[x + j] += grids[done + j];
                    done += run;
                }
            }
    }
}

// Elementwise on the real and imaginary parts, for which the factors along x are given twice.
void apply(const Modes& m, const Factors& f, const double* other, double* fourth, double* totals) {
    using V = Vector<double>;
    for (Index z = 0; z < m.planes; z++)
        for (Index y = 0; y < m.rows; y++) {
            double* row = m.at + (z * m.rows + y) * m.columns;
            const double factor = f.heat[0][z] * f.heat[1][y], square = f.square[0][z] + f.square[1][y];
            if (totals) {
                const double* two = other + (row - m.at);
                const double root = f.root[0][z] * f.root[1][y];
                V power{}, power_square{};
                double rest = 0.0, rest_square = 0.0;
                Index x = 0;
                for (; x + WIDTH<double> <= m.columns; x += WIDTH<double>) {
                    const V here = load(row + x) * load(two + x) * (load(f.root[2] + x) * root);
                    power += here;
                    power_square += here * (load(f.square[2] + x) + square);
                }
                for (; x < m.columns; x++) {
                    const double here = row[x] * two[x] * (f.root[2][x] * root);
                    rest += here;
                    rest_square += here * (f.square[2][x] + square);
                }
                totals[2 * y] += total<double>(power) + rest;
                totals[2 * y + 1] += total<double>(power_square) + rest_square;
            }
            for (Index x = 0; x < m.columns; x++) row[x] *= factor * f.heat[2][x];
            if (fourth) {
                double* more = fourth + (row - m.at);
                for (Index x = 0; x < m.columns; x++) {
                    const double whole = square + f.square[2][x];
                    more[x] = row[x] * (f.powers[0] + whole * (f.powers[1] + whole * f.powers[2]));
                }
            }
        }
}

}  // namespace

extern const GridKernels grid;
const GridKernels grid{interpolate, boxes, spread, add, apply};

}  // namespace HF_ISA
