// The near path: for every target, the sources close enough to count, found through the tree (see heatfield.core.near).
#include "pairs.hpp"
#include "tree.hpp"

namespace HF_ISA {
namespace {

// Sources summed before their sum is added in double precision; of single precision this bounds the error.
template <class T> constexpr Index RUN = sizeof(T) == 4 ? 256 : TILE;
// Sources gathered at a time: what a group of targets reads stays in the processor's cache.
constexpr Index GATHERED = 128 * BLOCK;
// Share of 2t W, in units of tol, by which the ring may change w r r' and still be left out of it.
constexpr double RING = 4.0;

// Sources side by side, one row per axis and one of the roots of their weights, as seen from the centre of a group.
template <class T, int N> struct Gathered {
    static constexpr Index STRIDE = GATHERED + MOST;
    const NearTask& task;
    Tile<T, N> tile;
    AlignedRoom<T> columns;
    Room<T> at;
    explicit Gathered(const NearTask& task)
        : task(task), tile(task.sources.n), columns((task.sources.n + 1) * STRIDE), at(task.sources.n) {}

    Index gather(const Group& group, Index first, Index last) const {
        const Sources s = task.sources;
        Index filled = 0;
        for (Index c = first; c < last; c++) {
            const Index start = group.found.at[c] * BLOCK, count = end_of(group.found.at[c], s.m) - start;
            T* to = columns.at + filled;
            for (Index k = 0; k < s.n; k++, to += STRIDE) {
                const double *x = s.at + k * s.m + start, middle = group.center.at[k];
                for (Index j = 0; j < count; j++) to[j] = T(x[j] - middle);
            }
            if (task.roots)
                for (Index j = 0; j < count; j++) to[j] = T(task.roots[start + j]);
            filled += count;
        }
        return filled;
    }

    // Add the blocks found[first:last] to the rows of those targets of the group that are asked for.
    HF_ONCE void add(const Group& group, Index first, Index last, const bool* asked, bool directions, bool fourth,
                     double* rows, Index width) {
        const Index n = task.sources.n;
        const auto heat_and_sum = Tile<T, N>::summing((fourth ? WITH_FOURTH : 0) | (directions ? WITH_DIRECTIONS : 0));
        for (Index from = first; from < last; from += GATHERED / BLOCK) {
            const Index count = gather(group, from, smaller(last, from + GATHERED / BLOCK));
            for (Index i = group.start; i < group.stop; i++) {
                if (asked && !asked[i - group.start]) continue;
                const T rate = T(-LOG2_E / (8.0 * time_of(task, i)));
                for (Index k = 0; k < n; k++) at.at[k] = T(task.targets.at[k * task.targets.m + i] - group.center.at[k]);
                for (Index run = 0; run < count; run += RUN<T>) {
                    const Index some = smaller(RUN<T>, count - run);
                    if (directions) tile.template fill<true>(columns.at + run, STRIDE, some, at.at);
                    else tile.template fill<false>(columns.at + run, STRIDE, some, at.at);
                    const T* roots = task.roots ? columns.at + n * STRIDE + run : nullptr;
                    (tile.*heat_and_sum)(rate, roots, rows + (i - group.start) * width, 1);
                }
            }
        }
    }
};

// T is the precision of the innermost zone.
template <class T, int N> void near_rows(const NearTask& task, Index first, Index last, double* sums) {
    const Index width = column_count(task.sources.n, task.directions ? WITH_DIRECTIONS : 0);
    Group group(task);
    Gathered<T, N> inside(task);
    Gathered<float, N> outside(task);
    Scratch scratch(BLOCK * width);
    double* part = scratch.at;
    bool too_large[BLOCK];
    for (; first < last; first = group.stop) {
        group.take(first, last);
        const Index count = group.stop - group.start;
        double* rows = sums + first * width;
        const auto clear = [&](double* table) {
            for (Index c = 0; c < count * width; c++) table[c] = 0.0;
        };
        const auto add_part = [&](Index from, Index to) {
            for (Index i = 0; i < count; i++)
                for (Index c = from; c < to; c++) rows[i * width + c] += part[i * width + c];
        };
        clear(rows);
        inside.add(group, 0, group.near, nullptr, task.directions, task.fourth, rows, width);
        if (group.inner > group.near) {
            clear(part);
            outside.add(group, group.near, group.inner, nullptr, task.directions, task.fourth, part, width);
            bool again = false;
            for (Index i = 0; i < count; i++) {
                double *own = rows + i * width, *more = part + i * width, t = time_of(task, first + i);
                const double most = 0.5 * task.tol / SINGLE_ERROR * (own[WEIGHT] + more[WEIGHT]);
                const double most_root = 0.5 * task.tol / TOTAL_ERROR * (own[ROOT_WEIGHT] + more[ROOT_WEIGHT]);
                too_large[i] = more[WEIGHT] > most || more[SQUARE] > 4.0 * most * 2.0 * t ||
                               more[FOURTH] > 16.0 * most * 8.0 * t * t ||
                               (task.energy && (more[ROOT_SQUARE] > most_root * 8.0 * t || more[ROOT_WEIGHT] > most_root));
                again |= too_large[i];
                for (Index c = 0; c < width && too_large[i]; c++) more[c] = 0.0;
            }
            if (again) inside.add(group, group.near, group.inner, too_large, task.directions, task.fourth, part, width);
            add_part(0, width);
        }
        if (group.outer > group.inner && !task.energy && !task.roots) {
            double least = rows[WEIGHT];
            for (Index i = 1; i < count; i++) least = smaller(least, rows[i * width + WEIGHT]);
            group.keep_what_matters(least);
        }
        if (group.outer > group.inner) {
            clear(part);
            outside.add(group, group.inner, group.outer, nullptr, false, task.fourth, part, width);
            add_part(0, FIRST);
            bool again = false;
            for (Index i = 0; i < count; i++) {
                const double limit = RING * task.tol * 2.0 * time_of(task, first + i) * rows[i * width + WEIGHT];
                too_large[i] = part[i * width + SQUARE] > limit;
                again |= too_large[i];
            }
            if (task.directions && again) {
                clear(part);
                inside.add(group, group.inner, group.outer, too_large, true, false, part, width);
                add_part(FIRST, width);
            }
        }
    }
}

void near(const NearTask& task, Index first, Index last, double* sums) {
    by_axes_up_to_3(task.sources.n, [&](auto axes) {
        (task.single ? near_rows<float, axes.n> : near_rows<double, axes.n>)(task, first, last, sums);
    });
}

}  // namespace

extern const NearKernels near_sums;
const NearKernels near_sums{near};

}  // namespace HF_ISA
