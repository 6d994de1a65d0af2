// Decisions: which blocks are near, and whether neighbours or a transform are cheaper.
#include "tree.hpp"

namespace HF_ISA {
namespace {

// The blocks within `cut` (squared) of the box into `found`, in order, or (ESTIMATE) about how many points: a node whose
// diagonal is below 0.7 of the distance then counts wholly or not at all, so that the time does not grow with the cloud.
template <int N, bool ESTIMATE>
Index walk(Tree tree, Index any, const double* low, const double* high, double cut, Index m, Index* found) {
    const Nodes<N> node{tree, any};
    Index stack[DEPTH], count = 0;
    stack[0] = 0;
    for (int top = tree.count ? 1 : 0; top;) {
        const Index i = stack[--top], begin = tree.begin[i], size = tree.size[i];
        if (node.gap(low, high, i) > cut) continue;
        if (size == 1 || node.reach(low, high, i) <= cut) {
            if constexpr (ESTIMATE) count += points_in(begin, size, m);
            else for (Index b = begin; b < begin + size; b++) found[count++] = b;
            continue;
        }
        if constexpr (ESTIMATE) {
            double diagonal = 0.0, apart = 0.0;
            for (Index k = 0; k < node.n; k++) {
                const double lo = node.low(i)[k], hi = node.high(i)[k], middle = 0.5 * (lo + hi);
                const double step = larger(0.0, larger(middle - high[k], low[k] - middle));
                diagonal += (hi - lo) * (hi - lo);
                apart += step * step;
            }
            if (diagonal <= 0.5 * cut) {
                if (apart <= cut) count += points_in(begin, size, m);
                continue;
            }
        }
        stack[top++] = right_child(i, size);
        stack[top++] = i + 1;
    }
    return count;
}

Index blocks_within(Tree tree, Index n, const double* low, const double* high, double cut, Index* found) {
    Index count = 0;
    by_axes(n, [&](auto axes) { count = walk<axes.n, false>(tree, n, low, high, cut, 0, found); });
    return count;
}

Index estimate_within(Tree tree, Index n, const double* low, const double* high, double cut, Index m) {
    Index count = 0;
    by_axes(n, [&](auto axes) { count = walk<axes.n, true>(tree, n, low, high, cut, m, nullptr); });
    return count;
}

// Targets further than this from their centre (squared, in units of 4t) are summed in one zone: coordinates in single
// precision are relative to the centre, and where targets lie so far apart there are few neighbours.
constexpr double ONE_ZONE = 6.0;
// So are sources further than this (squared, in units of 4t): beyond, w underflows in single precision, and a sum of
// zeros would pass the check of its share.
constexpr double DEEPEST = 80.0;
// Size of a block of targets, in units of sqrt(t) and of tol over the rounding unit, up to which they share a centre.
// Differences from it are rounded relative to the block's size, which moves D**2 / 4t by up to 2.5 times that over
// sqrt(t) where w still counts. Larger blocks are summed target by target.
constexpr double SHARED_CENTRE = 0.2;
// Targets that share their neighbours lie within a box of this half diagonal (squared, in units of the largest squared
// distance that counts), unless they have no more than so many blocks of neighbours.
constexpr double COMPACT = 0.5;
constexpr Index MANY_BLOCKS = 64;
// Share of tol that the blocks left out of the ring may have, where no energy is asked for.
constexpr double NEGLIGIBLE = 0.05;

}  // namespace

Group::Group(const NearTask& task)
    : task(task), low(task.targets.n), high(task.targets.n), center(task.targets.n), gaps(blocks_of(task.sources.m)),
      found(blocks_of(task.sources.m)), sorted(blocks_of(task.sources.m)) {}

// The box of the targets, its centre and half diagonal, and the shortest of their times.
void Group::frame() {
    shortest = __builtin_inf(), size_squared = 0.0;
    for (Index i = start; i < stop; i++) shortest = smaller(shortest, time_of(task, i));
    for (Index k = 0; k < task.targets.n; k++) {
        const double* x = task.targets.at + k * task.targets.m;
        double lo = x[start], hi = lo;
        for (Index i = start + 1; i < stop; i++) lo = smaller(lo, x[i]), hi = larger(hi, x[i]);
        low.at[k] = lo, high.at[k] = hi, center.at[k] = 0.5 * (lo + hi);
        size_squared += (hi - center.at[k]) * (hi - center.at[k]);
    }
}

// Squared distances of the blocks found[first:last] to the box.
void Group::measure(Index first, Index last) {
    const Boxes box{task.boxes, task.sources.n, blocks_of(task.sources.m)};
    for (Index c = first; c < last; c++) gaps.at[c] = box.gap(low.at, high.at, found.at[c]);
}

void Group::take(Index first, Index last) {
    start = first, stop = smaller(last, first - first % BLOCK + BLOCK);
    if (task.rows)  // a row may be asked for more than once
        for (last = smaller(last, start + BLOCK), stop = start + 1;
             stop < last && task.rows[stop] / BLOCK == task.rows[start] / BLOCK;)
            stop++;
    const double shared = SHARED_CENTRE * task.tol / (task.single ? 6e-8 : 1.1e-16);
    frame();
    if (size_squared > shortest * shared * shared && stop > start + 1) stop = start + 1, frame();
    double nearest, middle, farthest;
    for (;; stop = start + (stop - start) / 2, frame()) {
        nearest = middle = farthest = longest = 0.0;
        for (Index i = start; i < stop; i++) {
            const double t = time_of(task, i), own = task.offsets ? task.offsets[i] : 0.0;
            longest = larger(longest, t);
            nearest = larger(nearest, own + 4.0 * t * task.near_cutoff);
            middle = larger(middle, own + 4.0 * t * task.weight_cutoff);
            farthest = larger(farthest, own + 4.0 * t * task.energy_cutoff);
        }
        outer = blocks_within(task.tree, task.sources.n, low.at, high.at, farthest, found.at);
        if (outer <= MANY_BLOCKS || size_squared <= COMPACT * farthest || stop == start + 1) break;
    }
    near = inner = outer;
    if (size_squared > 4.0 * shortest * ONE_ZONE || farthest > 4.0 * shortest * DEEPEST || shortest < TINY_TIME) return;
    measure(0, outer);
    nearest = smaller(nearest, middle);
    near = inner = 0;
    for (Index c = 0; c < outer; c++) near += gaps.at[c] <= nearest, inner += gaps.at[c] <= middle;
    Index next[3] = {0, near, inner};  // each zone in order
    for (Index c = 0; c < outer; c++) sorted.at[next[(gaps.at[c] > nearest) + (gaps.at[c] > middle)]++] = found.at[c];
    Index* other = found.at;
    found.at = sorted.at, sorted.at = other;
}

// All that are left out together change no sum of a target by more than NEGLIGIBLE tol of its unit: a source at
// D**2 = 4t x counts exp(-x), in the dimension 2x times, in the fourth moment 2 x**2 times.
void Group::keep_what_matters(double least) {
    const double most = NEGLIGIBLE * task.tol * least / double(BLOCK * (outer - inner));
    measure(inner, outer);
    Index kept = inner;
    for (Index c = inner; c < outer; c++) {
        const double x = larger(2.0, gaps.at[c] / (4.0 * longest));
        if (__builtin_exp(-x) * larger(1.0, task.fourth ? 0.125 * x * x : 0.5 * x) > most) found.at[kept++] = found.at[c];
    }
    outer = kept;
}

namespace {

constexpr Index LEAF = 16;        // blocks of the smallest nodes that are priced
constexpr double ISOLATED = 0.25; // sums below this share of the largest are expected to be too small for a transform

double power(double x, Index n) {
    double product = 1.0;
    for (Index k = 0; k < n; k++) product *= x;
    return product;
}

// Grid points that the kernel of a transform covers: one for each digit, and three.
Index width_for(double eps) { return 3 + Index(__builtin_ceil(__builtin_log10(1.0 / eps) - 0.01)); }

// t k**2 at the highest frequency: log(1 / eps), plus a margin for tail and derivatives.
double log_accuracy_for(double eps, bool fourth) { return __builtin_log(1.0 / eps) + (fourth ? 8.0 : 4.0); }

double transform_cost(const TransformCosts& c, const double* low, const double* high, double eps, double p, double q) {
    const Index n = c.n;
    const double accuracy = log_accuracy_for(eps, c.fourth), halo = __builtin_sqrt(4.0 * c.t * c.energy_cutoff);
    const double images = __builtin_sqrt(4.0 * c.t * larger(c.energy_cutoff, accuracy));
    double grid = 1.0;
    for (Index k = 0; k < n; k++) {
        const double span = larger(smaller(high[k] + halo, c.whole[n + k]) - low[k], high[k] - larger(low[k] - halo, c.whole[k]));
        grid *= 2.0 * __builtin_ceil(__builtin_sqrt(accuracy / c.t) * (span + images) / (2.0 * 3.141592653589793)) + 1.0;
    }
    // Points come in once, and the targets once more where they are not the same (for the energy).
    const double kinds = p <= q ? 1.0 : 2.0, through = p + (p > q ? q : 0.0);
    const double width = double(width_for(eps)), outputs = c.fourth ? 2.0 : 1.0;
    grid *= power(c.prices.upsampling, n);
    const double fourier = 0.5 * c.prices.fourier * grid * __builtin_log2(grid);  // real
    const double cost = c.prices.read * larger(width, 8.0) * power(width, n - 1) * (through + q * outputs);
    if (grid > c.prices.grid_limit) return __builtin_inf();
    return cost + (c.prices.call + fourier + c.prices.modes * grid) * (kinds + outputs);
}

enum Choice { SPLIT, DIRECT, TRANSFORM };

struct Node {
    Choice choice;
    double best, direct, eps;  // direct: of leaves
    // The points with many neighbours: how many, and about the largest and smallest sum of w; the price of the others.
    double crowded, largest, smallest, cheap;
};

struct Planner {
    const PlanTask& task;
    const TransformCosts& costs;
    Index n;
    Room<Node> nodes;
    Scratch boxes;  // of the points with many neighbours
    double point;   // what one more point costs in a transform: those whose neighbours cost less stay out of it

    Planner(const PlanTask& task)
        : task(task), costs(task.costs), n(task.targets.n), nodes(task.tree.count), boxes(task.tree.count * 2 * n),
          point(transform_cost(costs, costs.whole, costs.whole, task.eps, 1e6, 1e6) / 1e6) {}
    double* low(Index i) const { return boxes.at + i * 2 * n; }
    double* high(Index i) const { return low(i) + n; }
    Index within(const double* low, const double* high, double cut) const {
        return estimate_within(task.around, n, low, high, cut, task.m);
    }

    void leaf(Index i, Index q, double* at) const {
        Node& node = nodes.at[i];
        const Index middle = task.tree.begin[i] * BLOCK + q / 2;
        const double extra = task.offsets ? task.offsets[middle] : 0.0, t = costs.t;
        const double *lo = task.tree.nodes + i * 2 * n, *hi = lo + n;
        const double cutoffs[] = {task.near_cutoff, task.weight_cutoff, costs.energy_cutoff};
        double diagonal = 0.0;
        column(task.targets, middle, at);
        for (Index k = 0; k < n; k++) {
            diagonal += (hi[k] - lo[k]) * (hi[k] - lo[k]);
            low(i)[k] = __builtin_inf(), high(i)[k] = -__builtin_inf();
        }
        node = {DIRECT, double(q) * costs.prices.target, 0.0, task.eps, 0.0, 0.0, __builtin_inf(), 0.0};
        Index before = 0;
        for (int zone = 0; zone < 3; zone++) {
            const Index close = within(at, at, extra + 4.0 * t * cutoffs[zone]);
            node.best += double(q) * costs.prices.pair[zone] * double(close - before);
            before = close;
        }
        node.direct = node.best;
        if (node.best <= double(q) * point) {
            node.cheap = node.best;
            return;
        }
        node.crowded = double(q);
        node.largest = node.smallest = 1.0 + 0.6 * double(within(at, at, extra + 4.0 * t));
        // A leaf of large extent would enlarge the box: those of its points that lie in the box of the others are
        // transformed all the same.
        if (diagonal <= 4.0 * t * costs.energy_cutoff)
            for (Index k = 0; k < 2 * n; k++) low(i)[k] = lo[k];
    }

    void inner(Index i) const {
        const Index l = i + 1, r = right_child(i, task.tree.size[i]);
        const Node &left = nodes.at[l], &right = nodes.at[r];
        nodes.at[i] = {left.choice == DIRECT && right.choice == DIRECT ? DIRECT : SPLIT, left.best + right.best, 0.0, task.eps,
                       left.crowded + right.crowded, larger(left.largest, right.largest),
                       smaller(left.smallest, right.smallest), left.cheap + right.cheap};
        for (Index k = 0; k < n; k++) {
            low(i)[k] = smaller(low(l)[k], low(r)[k]);
            high(i)[k] = larger(high(l)[k], high(r)[k]);
        }
    }

    // Seconds for summing directly the points of a node whose sums are too small for its transform.
    double isolated(Index top, double share) const {
        const Index* size = task.tree.size;
        double total = 0.0;
        for (Index i = top; i < top + 2 * size[top] - 1; i += size[i] <= LEAF ? 2 * size[i] - 1 : 1)
            if (size[i] <= LEAF && nodes.at[i].largest > 0.0 && nodes.at[i].largest < share * nodes.at[top].largest)
                total += nodes.at[i].direct;
        return total;
    }

    // Whether a transform is cheaper: with digits for most points, for all that a grid can give, or for all.
    void transform(Index i) const {
        Node& node = nodes.at[i];
        if (node.best < costs.prices.call || low(i)[0] > high(i)[0]) return;
        const double finer = larger(task.least, smaller(task.eps, 2.0 * task.eps * node.smallest / node.largest));
        const double tries[] = {task.eps, larger(finer, smaller(task.eps, costs.prices.grid_eps)), finer};
        // First without the halo's points: a bound from below, found without counting.
        if (node.cheap + transform_cost(costs, low(i), high(i), task.eps, 0.0, node.crowded) >= node.best) return;
        const double p = double(within(low(i), high(i), 4.0 * costs.t * costs.energy_cutoff));
        for (int turn = 0; turn < 3; turn++) {
            const double eps = tries[turn];
            double cost = node.cheap + transform_cost(costs, low(i), high(i), eps, p, node.crowded);
            if (turn == 0 && cost >= node.best) return;
            cost += isolated(i, ISOLATED * eps / task.eps);
            if (cost < node.best) node.best = cost, node.choice = TRANSFORM, node.eps = eps;
        }
    }
};

double plan(const PlanTask& task, Index* chosen, double* boxes, double* eps, Index* count) {
    const Tree tree = task.tree;
    *count = 0;
    if (!tree.count) return 0.0;
    const Planner planner(task);
    Places priced(tree.count);
    Scratch at(task.targets.n);
    Index last = 0;
    for (Index i = 0; i < tree.count; i += tree.size[i] <= LEAF ? 2 * tree.size[i] - 1 : 1) priced.at[last++] = i;
    while (last--) {  // children come behind their parents
        const Index i = priced.at[last];
        if (tree.size[i] > LEAF) planner.inner(i);
        else planner.leaf(i, points_in(tree.begin[i], tree.size[i], task.targets.m), at.at);
        if (task.allowed) planner.transform(i);
    }
    for (Index i = 0; i < tree.count;) {
        const Node& node = planner.nodes.at[i];
        if (node.choice == SPLIT) {
            i++;
            continue;
        }
        for (Index k = 0; k < 2 * planner.n; k++) boxes[*count * 2 * planner.n + k] = planner.low(i)[k];
        eps[*count] = node.choice == TRANSFORM ? node.eps : 0.0;
        chosen[(*count)++] = i;
        i += 2 * tree.size[i] - 1;  // past the whole subtree
    }
    return planner.nodes.at[0].best;
}

}  // namespace

extern const TreeKernels tree;
const TreeKernels tree{blocks_within, estimate_within, width_for, log_accuracy_for, transform_cost, plan};

}  // namespace HF_ISA
