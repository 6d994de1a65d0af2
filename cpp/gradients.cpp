// The way back over the pairs: from gradients with respect to the sums to gradients with respect to points and times.
//
// Every sum is linear in terms w f(r) or g f(r), so a loss depends on the pair (i, j) at one time by
//
//     w (h + h1.r + r' h2 r + h4 |r|**4) + g (e + e2 |r|**2) = w q + g p,
//
// where each coefficient is that of point i plus that of point j, the odd one minus it, as r changes its sign with the
// side. The gradient of w q at x_j is the sum of w (h1 + 2 h2 r + 4 h4 |r|**2 r - q r / 2t), that at x_i minus it: a pair
// is visited once and serves both.
#include "pairs.hpp"

namespace HF_ISA {
namespace {

constexpr Index GROUP = 4 * BLOCK;  // columns that are in or out of reach together

// The coefficients of one cloud, in the precision of the sums: (steps, vectors, count, WIDTH), those of points that only
// fill up 0. With directions, h, h1 and the upper triangle of h2; otherwise h and the multiple of the identity in h2.
template <class T, int N, bool DIRECTIONS> struct Coefficients {
    static constexpr int ALWAYS = DIRECTIONS ? 1 + N + N * (N + 1) / 2 : 2;
    const bool fourth, energy;
    const Index steps, vectors;
    const int count = ALWAYS + fourth + 2 * energy;
    Room<T> room;
    Coefficients(const SumsBack& g, const Batch& b, Member c)
        : fourth(g.wanted & WITH_FOURTH), energy(g.energy), steps(b.steps), vectors(whole<T>(c.s.m) / WIDTH<T>),
          room(steps * vectors * count * WIDTH<T>) {
        const Index stride = b.steps * b.total;
        for (Index a = 0; a < steps; a++)
            for (Index j = 0; j < vectors * WIDTH<T>; j++) {
                T* to = room.at + (a * vectors + j / WIDTH<T>) * count * WIDTH<T> + j % WIDTH<T>;
                const double* from = g.given + a * b.total + c.start + j;
                auto put = [&](int k, Index column, double more = 0.0, double factor = 1.0) {
                    to[k * WIDTH<T>] = j < c.s.m ? T(factor * from[column * stride] + more) : T(0);
                };
                const double square = j < c.s.m ? from[SQUARE * stride] : 0.0;
                put(0, WEIGHT);
                if constexpr (DIRECTIONS) {
                    for (int k = 0; k < N; k++) put(1 + k, FIRST + k);
                    int e = N;
                    for (int k = 0; k < N; k++)
                        for (int l = k; l < N; l++, e++) put(1 + e, FIRST + e, k == l ? square : 0.0, k == l ? 1.0 : 0.5);
                } else put(1, SQUARE);
                if (fourth) put(ALWAYS, FOURTH);
                if (energy) put(ALWAYS + fourth, ROOT_WEIGHT), put(ALWAYS + fourth + 1, ROOT_SQUARE);
            }
    }
    HF_INLINE const T* at(Index a, Index j) const { return room.at + (a * vectors + j / WIDTH<T>) * count * WIDTH<T>; }
    HF_INLINE T of(Index a, Index i, int k) const { return at(a, i)[k * WIDTH<T> + i % WIDTH<T>]; }
};

// The gradient at the neighbours in a tile, at one scale after the other.
template <class T, int N, bool DIRECTIONS> struct Back {
    using V = Vector<T>;
    static constexpr Index STRIDE = TILE + MOST;
    const Tile<T, N>& tile;
    const Coefficients<T, N, DIRECTIONS>& h;
    Room<T> room{(N + 1) * STRIDE};

    HF_INLINE T* row(int k) const { return (T*)(((std::uintptr_t)room.at + 63) / 64 * 64) + k * STRIDE; }
    HF_INLINE void add(int k, Index j, V more) const { store<T>(row(k) + j, load<T>(row(k) + j) + more); }
    HF_INLINE V sum(const T* theirs, T own, int k) const { return load<T>(theirs + k * WIDTH<T>) + own; }

    // Coefficients of the target i and of the columns from `start` on, at scale a; rate is 1 / 2t. The sum of
    // (w q + g p / 2) |r|**2.
    HF_INLINE double pass(Index a, Index i, Index start, T rate) const {
        const T *square = tile.square(), *root = tile.root(), *theirs = h.at(a, start);
        const Index step = h.count * WIDTH<T>;
        double found = 0.0;
        V time{};
        T own[Coefficients<T, N, DIRECTIONS>::ALWAYS];
        for (int k = 0; k < h.ALWAYS; k++) own[k] = h.of(a, i, k);
        for (Index j = 0; j < tile.count; j += WIDTH<T>, theirs += step) {
            const V d = load<T>(square + j), g = load<T>(root + j), w = g * g;
            V r[N], q = sum(theirs, own[0], 0);
#pragma GCC unroll 3
            for (int k = 0; k < N; k++) r[k] = load<T>(tile.row(k) + j);
            if constexpr (DIRECTIONS) {
                V b[N], v[N]{};
                int e = 1 + N;
#pragma GCC unroll 3
                for (int k = 0; k < N; k++)
#pragma GCC unroll 3
                    for (int l = k; l < N; l++, e++) {
                        const V entry = sum(theirs, own[e], e);
                        v[k] += entry * r[l];
                        if (l != k) v[l] += entry * r[k];
                    }
#pragma GCC unroll 3
                for (int k = 0; k < N; k++) {
                    b[k] = own[1 + k] - load<T>(theirs + (1 + k) * WIDTH<T>) + v[k];
                    q += b[k] * r[k];
                }
                const V s = q * rate;
#pragma GCC unroll 3
                for (int k = 0; k < N; k++) add(k, j, w * (b[k] + v[k] - s * r[k]));
            } else {
                const V multiple = sum(theirs, own[1], 1);
                q += multiple * d;
                const V factor = w * (multiple + multiple - q * rate);
#pragma GCC unroll 3
                for (int k = 0; k < N; k++) add(k, j, factor * r[k]);
            }
            time += w * q * d;
        }
        found += total<T>(time);
        int k = h.ALWAYS;
        if (h.fourth) {
            const T own4 = h.of(a, i, k);
            found += radial(a, start, [&](const T* c, V g, V d, V& q) {
                const V part = g * g * sum(c, own4, k) * d;
                q = part * d;
                return part * (T(4) - d * rate);
            });
            k++;
        }
        if (h.energy) {
            const T own0 = h.of(a, i, k), own2 = h.of(a, i, k + 1), half = T(0.5) * rate;
            found += T(0.5) * radial(a, start, [&](const T* c, V g, V d, V& q) {
                const V multiple = sum(c, own2, k + 1);
                q = sum(c, own0, k) + multiple * d;
                const V factor = g * (multiple + multiple - q * half);
                q *= g;
                return factor;
            });
        }
        return found;
    }

    // A part whose gradient is along r: `term` gives the factor of r, and the part itself.
    template <class F> HF_INLINE double radial(Index a, Index start, F term) const {
        const T *square = tile.square(), *root = tile.root(), *theirs = h.at(a, start);
        V time{};
        for (Index j = 0; j < tile.count; j += WIDTH<T>, theirs += h.count * WIDTH<T>) {
            const V d = load<T>(square + j);
            V q;
            const V factor = term(theirs, load<T>(root + j), d, q);
#pragma GCC unroll 3
            for (int k = 0; k < N; k++) add(k, j, factor * load<T>(tile.row(k) + j));
            time += q * d;
        }
        return total<T>(time);
    }

    HF_INLINE void clear() const {
        for (int k = 0; k < N; k++)
            for (Index j = 0; j < whole<T>(tile.count); j++) row(k)[j] = T(0);
    }

    // To both sides, `out` (N, stride).
    HF_INLINE void hand_out(Index i, Index start, double* out, Index stride) const {
        for (int k = 0; k < N; k++, out += stride) {
            V sum{};
            for (Index j = 0; j < tile.count; j += WIDTH<T>) sum += load<T>(row(k) + j);
            const T* part = row(k);
            double* to = out + start;
#pragma GCC ivdep
            for (Index j = 0; j < tile.count; j++) to[j] += double(part[j]);
            out[i] -= double(total<T>(sum));
        }
    }
};

template <class T, int N, bool DIRECTIONS>
void back_rows(const Batch& b, Member c, const double* nearest, const SumsBack& g, Index first, Index last) {
    const Index m = c.s.m, blocks = blocks_of(m), steps = b.steps, groups = (m + GROUP - 1) / GROUP;
    const Coefficients<T, N, DIRECTIONS> h(g, b, c);
    Tile<T, N> tile(N);
    const Back<T, N, DIRECTIONS> back{tile, h};
    Scratch gaps(blocks), reach(steps * groups), target(N);
    Room<T> rates(steps);
    const double log_reach = b.log_accuracy + __builtin_log(double(m));
    // Beyond which no point of a group counts a neighbour; the cut-off is convex in the distance of the nearest.
    for (Index a = 0; a < steps; a++) {
        const double t = b.times[a * b.count + c.number];
        rates.at[a] = T(-LOG2_E / (8.0 * t));
        for (Index k = 0; k < groups; k++) {
            double low = nearest[c.start + k * GROUP], high = low;
            for (Index i = k * GROUP; i < smaller(m, (k + 1) * GROUP); i++) {
                low = smaller(low, nearest[c.start + i]);
                high = larger(high, nearest[c.start + i]);
            }
            reach.at[a * groups + k] = larger(cutoff(t, low, log_reach), cutoff(t, high, log_reach));
        }
    }
    auto finest = [&](Index here, Index k) {
        double gap = __builtin_inf();
        for (Index block = k * GROUP / BLOCK; block < smaller(blocks, (k + 1) * GROUP / BLOCK); block++)
            gap = smaller(gap, gaps.at[block]);
        Index fine = steps;
        while (fine > 0 && gap <= larger(reach.at[(fine - 1) * groups + here], reach.at[(fine - 1) * groups + k])) fine--;
        return fine;
    };
    for (Index i = first; i < last; i++) {
        column(c.s, i, target.at);
        gaps_to_blocks<N>(c.boxes, N, blocks, target.at, gaps.at);
        const Index table = i / g.rows[c.number];
        double *points = g.points + table * N * b.total + c.start, *times = g.times + table * steps * b.count + c.number;
        for (Index k = i / GROUP, next; k < groups; k = next) {
            const Index fine = finest(i / GROUP, k);
            for (next = k + 1; next < groups && next - k < TILE / GROUP && finest(i / GROUP, next) == fine;) next++;
            if (fine == steps) continue;
            const Index start = larger(k * GROUP, i / BLOCK * BLOCK);
            tile.count = 0;
            tile.add(c.s, start, smaller(m, next * GROUP) - start, target.at);
            back.clear();
            for (Index a = fine; a < steps; a++) {
                tile.heat(rates.at[a]);
                for (Index j = start; j <= i; j++) tile.root()[j - start] = T(0);  // pairs are counted once
                times[a * b.count] += back.pass(a, i, start, T(0.5 / b.times[a * b.count + c.number]));
            }
            back.hand_out(i, start, points, b.total);
        }
    }
}

void sums_back(const Batch& b, const double* nearest, const SumsBack& g, Index first, Index last) {
    each_cloud(b, first, last, [&](Member c, Index from, Index to) {
        if (!(b.times[c.number] > 0.0)) return;
        auto work = [&](auto axes) {
            constexpr int N = decltype(axes)::n;
            const bool directions = g.wanted & WITH_DIRECTIONS;
            if (b.single) (directions ? back_rows<float, N, true> : back_rows<float, N, false>)(b, c, nearest, g, from, to);
            else (directions ? back_rows<double, N, true> : back_rows<double, N, false>)(b, c, nearest, g, from, to);
        };
        if (b.n == 1) work(Axes<1>{});
        else if (b.n == 2) work(Axes<2>{});
        else work(Axes<3>{});
    });
}

}  // namespace

extern const GradientKernels gradients;
const GradientKernels gradients{sums_back};

}  // namespace HF_ISA
