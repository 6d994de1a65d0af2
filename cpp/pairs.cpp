// The dense path: every pair that can change a digit of the result, for any number of clouds.
#include "pairs.hpp"

namespace HF_ISA {
namespace {

template <class T, int N>
void dense_rows(const Batch& b, Member c, const double* nearest, int wanted, Index first, Index last, double* sums) {
    const Index m = c.s.m, blocks = blocks_of(m), steps = b.steps, stride = steps * b.total;
    const auto heat_and_sum = Tile<T, N>::summing(wanted);
    Tile<T, N> tile(b.n);
    Scratch gaps(blocks), cuts(steps), target(b.n);
    Places begins(blocks), ends(blocks), kept(steps);
    Room<T> rates(steps);
    const double log_reach = b.log_accuracy + __builtin_log(double(m));
    for (Index i = first; i < last; i++) {
        column(c.s, i, target.at);
        gaps_to_blocks<N>(c.boxes, b.n, blocks, target.at, gaps.at);
        const double widest = largest_of(gaps.at, 0, blocks);
        const double* times = b.times + (b.own_times ? c.start + i : c.number);
        for (Index a = 0; a < steps; a++) {
            const double t = times[a * (b.own_times ? b.total : b.count)];
            rates.at[a] = T(-LOG2_E / (8.0 * t));
            cuts.at[a] = __builtin_inf(), kept.at[a] = blocks;
            if (widest <= 8.0 * t * log_reach) continue;  // all of them, without a logarithm
            cuts.at[a] = cutoff(t, nearest[c.start + i], log_reach);
            kept.at[a] = 0;
            for (Index k = 0; k < blocks; k++) kept.at[a] += gaps.at[k] <= cuts.at[a];
        }
        for (Index coarse = steps - 1, fine; coarse >= 0; coarse = fine - 1) {
            const Index runs = find_runs(gaps.at, 0, blocks, cuts.at[coarse], m, begins.at, ends.at);
            // Scales that reach nearly as far share the list: filling a tile anew costs a quarter of summing it.
            fine = coarse;
            while (fine > 0 && 4 * kept.at[fine - 1] > 3 * kept.at[coarse]) fine--;
            tile.count = 0;
            for (Index r = 0; r < runs; r++)
                for (Index at = begins.at[r]; at < ends.at[r];) {
                    const Index more = smaller(ends.at[r] - at, TILE - tile.count);
                    tile.add(c.s, at, more, target.at);
                    at += more;
                    if (tile.count < TILE && !(r == runs - 1 && at == ends.at[r])) continue;
                    for (Index a = fine; a <= coarse; a++)
                        (tile.*heat_and_sum)(rates.at[a], nullptr, sums + a * b.total + c.start + i, stride);
                    tile.count = 0;
                }
        }
    }
}

void dense(const Batch& b, const double* nearest, int wanted, Index first, Index last, double* sums) {
    const Index columns = column_count(b.n, wanted);
    for (Index c = 0; c < columns * b.steps; c++)
        for (Index i = first; i < last; i++) sums[c * b.total + i] = 0.0;
    each_cloud(b, first, last, [&](Member c, Index from, Index to) {
        const double t = b.times[b.own_times ? c.start : c.number];
        if (!(t > 0.0)) return;  // fewer than two places: no scales
        by_axes_up_to_3(b.n, [&](auto axes) {
            constexpr int N = decltype(axes)::n;
            (b.single ? dense_rows<float, N> : dense_rows<double, N>)(b, c, nearest, wanted, from, to, sums);
        });
    });
}

// Some fields at once: a weight is loaded once for them, and no addition waits for the one before.
template <class T, bool SQUARES, int FIELDS>
HF_ONCE void add_differences(const T* weight, const T* value, Index apart, Index count, Index i, double* first,
                             double* second, Index stride) {
    Vector<T> one[FIELDS]{}, two[FIELDS]{};
    T own[FIELDS];
    for (int f = 0; f < FIELDS; f++) own[f] = value[f * apart + i];
    for (Index j = 0; j < count; j += WIDTH<T>) {
        const Vector<T> w = load<T>(weight + j);
#pragma GCC unroll 4
        for (int f = 0; f < FIELDS; f++) {
            const Vector<T> step = load<T>(value + f * apart + j) - own[f], weighted = w * step;
            one[f] += weighted;
            if (SQUARES) two[f] += weighted * step;
        }
    }
    for (int f = 0; f < FIELDS; f++) {
        first[f * stride] += total<T>(one[f]);
        if (SQUARES) second[f * stride] += total<T>(two[f]);
    }
}

// Fields are centred, so that single precision keeps its digits for the differences; those from the point's own
// value do not cancel: the point itself, with the largest weight there is, keeps the variance comparable to the mean
// square. With squares, pairs are left out by twice the accuracy, because a square root follows.
template <class T, int N, bool SQUARES>
void differences_of(const Batch& b, Member c, const double* values, Index fields, const Index* from, const Index* to,
                    Index tasks, Index first, Index last, double* out) {
    const Index m = c.s.m, blocks = blocks_of(m), steps = b.steps, room = m + MOST, half = fields * tasks * b.total;
    Tile<T, N> tile(b.n);
    Scratch gaps(blocks), target(b.n);
    Places begins(blocks), ends(blocks), part_begins(TILE / BLOCK), part_ends(TILE / BLOCK);
    Room<T> centred(fields * steps * room);
    for (Index f = 0; f < fields * steps; f++) {
        const double* value = values + f * b.total + c.start;
        double sum = 0.0;
        for (Index i = 0; i < m; i++) sum += value[i];
        for (Index i = 0; i < m; i++) centred.at[f * room + i] = T(value[i] - sum / double(m));
        for (Index i = m; i < room; i++) centred.at[f * room + i] = T(0);
    }
    const double log_reach = (SQUARES ? 2.0 : 1.0) * b.log_accuracy + __builtin_log(double(m));
    double reach = 0.0;
    for (Index p = 0; p < tasks; p++) reach = larger(reach, 4.0 * log_reach * b.times[to[p] * b.count + c.number]);
    for (Index i = first; i < last; i++) {
        column(c.s, i, target.at);
        gaps_to_blocks<N>(c.boxes, b.n, blocks, target.at, gaps.at);
        const Index runs = find_runs(gaps.at, 0, blocks, reach, m, begins.at, ends.at);
        for (Index r = 0; r < runs; r++)
            for (Index at = begins.at[r]; at < ends.at[r]; at += TILE) {
                const Index stop = smaller(at + TILE, ends.at[r]);
                tile.count = 0;
                tile.add(c.s, at, stop - at, target.at);
                for (Index scale = 0; scale < steps; scale++) {
                    bool wanted = false;
                    for (Index p = 0; p < tasks; p++) wanted |= to[p] == scale;
                    if (!wanted) continue;
                    const double t = b.times[scale * b.count + c.number];
                    // Finer scales need a part of the tile.
                    const Index parts = find_runs(gaps.at, at / BLOCK, blocks_of(stop), 4.0 * t * log_reach, stop,
                                                  part_begins.at, part_ends.at);
                    for (Index q = 0; q < parts; q++) {
                        const Index begin = part_begins.at[q], count = part_ends.at[q] - begin;
                        tile.heat(T(-LOG2_E / (4.0 * t)), begin - at, count);
                        for (Index p = 0; p < tasks; p++) {
                            if (to[p] != scale) continue;
                            for (Index f = 0, some; f < fields; f += some) {
                                some = fields - f == 4 ? 4 : smaller<Index>(3, fields - f);
                                const T* value = centred.at + (f * steps + from[p]) * room + begin;
                                double* place = out + (f * tasks + p) * b.total + c.start + i;
                                (some == 1   ? add_differences<T, SQUARES, 1>
                                 : some == 2 ? add_differences<T, SQUARES, 2>
                                 : some == 3 ? add_differences<T, SQUARES, 3>
                                             : add_differences<T, SQUARES, 4>)(tile.root() + begin - at, value, steps * room, count,
                                                                      i - begin, place, place + half, tasks * b.total);
                            }
                        }
                    }
                }
            }
    }
}

void differences(const Batch& b, const double* values, Index fields, const Index* from, const Index* to, Index tasks,
                 bool squares, Index first, Index last, double* out) {
    for (Index c = 0; c < (squares ? 2 : 1) * fields * tasks; c++)
        for (Index i = first; i < last; i++) out[c * b.total + i] = 0.0;
    each_cloud(b, first, last, [&](Member c, Index lo, Index hi) {
        if (!(b.times[c.number] > 0.0)) return;
        by_axes_up_to_3(b.n, [&](auto axes) {
            constexpr int N = decltype(axes)::n;
            const auto sum = b.single ? squares ? differences_of<float, N, true> : differences_of<float, N, false>
                             : squares ? differences_of<double, N, true> : differences_of<double, N, false>;
            sum(b, c, values, fields, from, to, tasks, lo, hi, out);
        });
    });
}

}  // namespace

extern const PairKernels pairs;
const PairKernels pairs{dense, differences};

}  // namespace HF_ISA
