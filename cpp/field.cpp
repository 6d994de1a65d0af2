// Sums over the sources as seen from any place in space, however far away.
//
// Far from the data every weight exp(-D**2 / 4t) underflows, but their ratios do not. So all is taken relative to one
// source, the strongest at that place and time. With c its position, r = x_j - c, and h = y - c for the place y,
//
//     D_j**2 - D_c**2 = r . (r - 2h),
//
// the *excess* of source j, keeps the digits that the difference of two huge squares would lose, and the moments of r
// give mean and covariance without cancellation. Exponents are kept as half of the logarithm to base two.
#include "pairs.hpp"

namespace HF_ISA {
namespace {

// If the mean lies this many standard deviations (squared) from the reference, the covariance would lose more than two
// digits, and the sums are taken again around the mean.
constexpr double OFF_CENTRE = 64.0;
// Far away the strongest source is found up to rounding, then again as seen from there.
constexpr int SEARCHES = 8;
// Error of a squared distance, relative to itself: where that is small in units of 4t, the nearest source is the
// strongest without a second look from there.
constexpr double ROUNDING = 1e-15;

template <int N> struct View {
    const FieldTask& task;
    const Sources s;
    Index n;
    Tile<double, N> tile;
    Scratch centre, h, offset, sums;
    Places begins, ends;
    const double* place = nullptr;
    Index runs = 0;
    explicit View(const FieldTask& task)
        : task(task), s(task.sources), n(N ? N : s.n), tile(n), centre(n), h(n), offset(n),
          sums(column_count(n, WITH_DIRECTIONS)), begins(blocks_of(s.m)), ends(blocks_of(s.m)) {}

    void look_at(Index i) {
        place = task.places.at + i * n;
        for (Index k = 0; k < n; k++) centre.at[k] = place[k], h.at[k] = 0.0;
    }
    // Make a source the centre; the squared way from there to the place.
    double move(Index star) {
        double square = 0.0;
        for (Index k = 0; k < n; k++) {
            centre.at[k] = s.at[k * s.m + star];
            h.at[k] = place[k] - centre.at[k];
            square += h.at[k] * h.at[k];
        }
        return square;
    }
    double excess(Index j) const {
        double more = 0.0;
        for (Index k = 0; k < n; k++) {
            const double step = s.at[k * s.m + j] - centre.at[k];
            more += step * (step - 2.0 * h.at[k]);
        }
        return more;
    }
    // The smallest excess that a source in a box can have.
    double excess_of_box(const double* low, const double* high) const {
        double more = 0.0;
        for (Index k = 0; k < n; k++) {
            const double step = smaller(larger(place[k], low[k]), high[k]) - centre.at[k];
            more += step * (step - 2.0 * h.at[k]);
        }
        return more;
    }
    void add_run(Index first, Index last) {
        if (runs && ends.at[runs - 1] == first) ends.at[runs - 1] = last;
        else begins.at[runs] = first, ends.at[runs++] = last;
    }

    // The weight of all runs, relative to the strongest source, and the moments around centre + offset.
    void sum_runs(double rate, double top) {
        using V = Vector<double>;
        const Index columns = column_count(n, task.moments ? WITH_DIRECTIONS : 0);
        for (Index c = 0; c < columns; c++) sums.at[c] = 0.0;
        tile.count = 0;
        for (Index r = 0; r < runs; r++)
            for (Index at = begins.at[r]; at < ends.at[r];) {
                const Index more = smaller(ends.at[r] - at, TILE - tile.count), first = tile.count;
                tile.add(s, at, more, centre.at);
                // The excess instead of D**2, then the exponent, which rounding alone could make positive.
                double* exponent = tile.square() + first;
                const double* logs = task.logs + at;
                for (Index k = 0; k < n; k++) {
                    const double *x = tile.row(k) + first, twice = 2.0 * h.at[k];
#pragma GCC ivdep
                    for (Index j = 0; j < more; j++) exponent[j] -= x[j] * twice;
                }
#pragma GCC ivdep
                for (Index j = 0; j < more; j++) exponent[j] = smaller(rate * exponent[j] + (logs[j] - top), 0.0);
                at += more;
                if (tile.count < TILE && !(r == runs - 1 && at == ends.at[r])) continue;
                tile.heat(1.0);
                V weight{};
                for (Index j = 0; j < tile.count; j += WIDTH<double>) {
                    const V g = load<double>(tile.root() + j);
                    weight += g * g;
                }
                sums.at[WEIGHT] += total<double>(weight);
                if (task.moments) {
                    for (Index k = 0; k < n; k++)
                        for (Index j = 0; j < tile.count && offset.at[k] != 0.0; j++) tile.row(k)[j] -= offset.at[k];
                    tile.directions(sums.at + FIRST, 1);
                }
                tile.count = 0;
            }
    }

    // From the sums to a row of results; false if they are too far off centre.
    bool read(double t, double top, double* out) const {
        const double inverse = 1.0 / sums.at[WEIGHT], *first = sums.at + FIRST, *second = first + n;
        double square = 0.0, off = 0.0, trace = 0.0;
        for (Index k = 0; k < n; k++) square += h.at[k] * h.at[k];
        out[0] = 2.0 * top / LOG2_E - square / (4.0 * t) + __builtin_log(sums.at[WEIGHT]);
        if (!task.moments) return true;
        for (Index k = 0, c = 0; k < n; k++) {
            const double mean = first[k] * inverse;
            out[1 + k] = mean + (offset.at[k] - h.at[k]);
            off += mean * mean;
            for (Index l = k; l < n; l++, c++) {
                out[1 + n + c] = second[c] * inverse - mean * (first[l] * inverse);
                if (l == k) trace += out[1 + n + c];
            }
        }
        return off <= OFF_CENTRE * trace;
    }

    void write(double t, double rate, double top, double* out) {
        for (Index k = 0; k < n; k++) offset.at[k] = 0.0;
        for (int round = 0; round < 2; round++) {
            sum_runs(rate, top);
            if (read(t, top, out)) return;
            for (Index k = 0; k < n; k++) offset.at[k] += sums.at[FIRST + k] / sums.at[WEIGHT];
        }
    }
};

struct Strongest {
    Index which;
    double exponent, square;  // squared distance from the centre
};

// All blocks side by side.
template <int N> struct Blocks : View<N> {
    const double *boxes, *heaviest;
    Index count;
    Scratch excess_of;
    Blocks(const FieldTask& task, const double* boxes, const double* heaviest)
        : View<N>(task), boxes(boxes), heaviest(heaviest), count(blocks_of(task.sources.m)), excess_of(count) {}

    void measure() {
        const double *low = boxes, *high = boxes + this->n * count;
        double* excess = excess_of.at;
        for (Index b = 0; b < count; b++) excess[b] = 0.0;
        for (Index k = 0; k < this->n; k++, low += count, high += count) {
            const double at = this->place[k], middle = this->centre.at[k], twice = 2.0 * this->h.at[k];
#pragma GCC ivdep
            for (Index b = 0; b < count; b++) {
                const double step = smaller(larger(at, low[b]), high[b]) - middle;
                excess[b] += step * (step - twice);
            }
        }
    }

    // The source of largest exponent (any, where all are -inf); with APART of those away from the centre, if there is one.
    template <bool APART> Strongest strongest(double rate) const {
        Index first = 0;
        double highest = -__builtin_inf();
        for (Index b = 0; b < count; b++) {
            const double bound = heaviest[b] + rate * excess_of.at[b];
            if (bound > highest) first = b, highest = bound;
        }
        Strongest best{first * BLOCK, -__builtin_inf(), 0.0};
        for (Index turn = -1; turn < count; turn++) {
            const Index b = turn < 0 ? first : turn;  // the most promising block comes first
            if (heaviest[b] + rate * excess_of.at[b] <= best.exponent) continue;
            for (Index j = b * BLOCK; j < end_of(b, this->s.m); j++) {
                const double exponent = this->task.logs[j] + rate * this->excess(j);
                if (exponent <= best.exponent) continue;
                const double square = APART ? square_to(this->s, j, this->centre.at) : 0.0;
                if (!APART || square > 0.0) best = {j, exponent, square};
            }
        }
        return best;
    }
};

template <int N>
void sums_of(const FieldTask& task, const double* boxes, const double* heaviest, const double* times, Index steps, Index first,
             Index last, double* out) {
    Blocks<N> view(task, boxes, heaviest);
    const Index n = view.n, m = task.sources.m, columns = task.moments ? 1 + n + n * (n + 1) / 2 : 1;
    const double reach = 0.5 * (LOG2_E * task.log_accuracy + __builtin_log2(double(m)));
    for (Index i = first; i < last; i++) {
        view.look_at(i);
        view.measure();
        Index star = -1;
        for (Index a = 0; a < steps; a++) {
            const double t = times[a], rate = -LOG2_E / (8.0 * t);
            for (int search = 0; search < SEARCHES; search++) {
                const Index found = view.template strongest<false>(rate).which;
                if (found == star) break;
                star = found;
                view.move(star);
                view.measure();
            }
            const double top = task.logs[star];
            // What is left out must be small beside the strongest source, and for the moments also beside w r**2 of the
            // next, which alone determines the heat dimension at an isolated point. Normalised, no r**2 exceeds 4n.
            double floor = top - reach;
            if (task.moments) {
                const Strongest next = view.template strongest<true>(rate);
                if (next.square > 0.0)
                    floor = smaller(floor, next.exponent + 0.5 * __builtin_log2(next.square / (4.0 * double(n))) - reach);
            }
            view.runs = 0;
            for (Index b = 0; b < view.count; b++)
                if (heaviest[b] + rate * view.excess_of.at[b] >= floor) view.add_run(b * BLOCK, end_of(b, m));
            view.write(t, rate, top, out + (i * steps + a) * columns);
        }
    }
}

template <int N> struct Walk : View<N> {
    Nodes<N> node;
    const double* heaviest;
    double rate;
    Walk(const FieldTask& task, Tree tree, const double* heaviest, double rate)
        : View<N>(task), node{tree, task.sources.n}, heaviest(heaviest), rate(rate) {}

    double bound(Index i) const { return heaviest[i] + rate * this->excess_of_box(node.low(i), node.high(i)); }

    Index strongest() const {
        const Tree& tree = node.tree;
        Index stack[DEPTH], found = 0;
        double best = -__builtin_inf();
        stack[0] = 0;
        for (int top = 1; top;) {
            const Index i = stack[--top];
            if (bound(i) <= best) continue;
            if (tree.size[i] == 1) {
                for (Index j = tree.begin[i] * BLOCK; j < end_of(tree.begin[i], this->s.m); j++) {
                    const double exponent = this->task.logs[j] + rate * this->excess(j);
                    if (exponent > best) found = j, best = exponent;
                }
                continue;
            }
            Index good = i + 1, other = right_child(i, tree.size[i]);
            if (bound(good) <= bound(other)) swap(good, other);
            stack[top++] = other;
            stack[top++] = good;  // the more promising one is taken first
        }
        return found;
    }

    // The blocks that hold an exponent of at least `floor`.
    void find(double floor) {
        const Tree& tree = node.tree;
        Index stack[DEPTH];
        stack[0] = 0, this->runs = 0;
        for (int top = 1; top;) {
            const Index i = stack[--top];
            if (bound(i) < floor) continue;
            if (tree.size[i] > 1) {
                stack[top++] = right_child(i, tree.size[i]);
                stack[top++] = i + 1;
                continue;
            }
            // A box is a poor bound far away: most of those that reach the floor hold no source that does.
            const Index first = tree.begin[i] * BLOCK, last = end_of(tree.begin[i], this->s.m);
            double more[BLOCK]{}, strongest = -__builtin_inf();
            for (Index k = 0; k < this->n; k++) {
                const double *x = this->s.at + k * this->s.m, middle = this->centre.at[k], twice = 2.0 * this->h.at[k];
                for (Index j = first; j < last; j++) more[j - first] += (x[j] - middle) * (x[j] - middle - twice);
            }
            for (Index j = first; j < last; j++) strongest = larger(strongest, this->task.logs[j] + rate * more[j - first]);
            if (strongest >= floor) this->add_run(first, last);
        }
    }
};

template <int N>
void by_tree_of(const FieldTask& task, Tree tree, const double* heaviest, double t, const Index* nearest, Index first,
                Index last, double* out) {
    const double rate = -LOG2_E / (8.0 * t), tiny = 0.01 * __builtin_exp(-task.log_accuracy);
    Walk<N> view(task, tree, heaviest, rate);
    const Index n = view.n, columns = task.moments ? 1 + n + n * (n + 1) / 2 : 1;
    // What is left out must be small beside the strongest source, for the moments also when it is multiplied by
    // r**2 / 2t. Normalised, no r**2 exceeds 4n.
    const double log_reach = task.log_accuracy + __builtin_log(double(task.sources.m)) +
                             (task.moments ? __builtin_log1p(2.0 * double(n) / t) : 0.0);
    for (Index i = first; i < last; i++) {
        view.look_at(i);
        Index star = nearest[i];
        const bool sure = star >= 0 && ROUNDING * view.move(star) <= 4.0 * t * tiny;
        for (int search = 0; search < SEARCHES && !sure; search++) {
            const Index found = view.strongest();
            if (found == star) break;
            star = found;
            view.move(star);
        }
        view.find(task.logs[star] - 0.5 * LOG2_E * log_reach);
        view.write(t, rate, task.logs[star], out + i * columns);
    }
}

void heaviest(Tree tree, const double* of_blocks, double* of_nodes) {
    for (Index i = tree.count - 1; i >= 0; i--)
        of_nodes[i] = tree.size[i] == 1 ? of_blocks[tree.begin[i]]
                                        : larger(of_nodes[i + 1], of_nodes[right_child(i, tree.size[i])]);
}

void sums(const FieldTask& task, const double* boxes, const double* heaviest, const double* times, Index steps, Index first,
          Index last, double* out) {
    by_axes_up_to_3(task.sources.n, [&](auto axes) {
        sums_of<axes.n>(task, boxes, heaviest, times, steps, first, last, out);
    });
}

void by_tree(const FieldTask& task, Tree tree, const double* heaviest, double t, const Index* nearest, Index first,
             Index last, double* out) {
    by_axes_up_to_3(task.sources.n, [&](auto axes) {
        by_tree_of<axes.n>(task, tree, heaviest, t, nearest, first, last, out);
    });
}

}  // namespace

extern const FieldKernels field;
const FieldKernels field{heaviest, sums, by_tree};

}  // namespace HF_ISA
