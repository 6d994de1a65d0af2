// Points made ready for the sums, and what their arrangement alone tells: blocks, boxes, neighbours, diameter.
//
// Built once per instruction set, without fused multiply-adds: a distance has the same bits everywhere.
#include "cloud.hpp"
#include "lanes.hpp"

namespace HF_ISA {
namespace {

Index origin(Points p, double* origin) {
    double extent = 0.0;
    for (Index k = 0; k < p.n; k++) {
        double lo = p.m ? p.at[k] : 0.0, hi = lo;
        for (Index i = 0; i < p.m; i++) {
            lo = smaller(lo, p.at[i * p.n + k]);
            hi = larger(hi, p.at[i * p.n + k]);
        }
        // Sterbenz: within a factor of two the subtraction is exact.
        origin[k] = lo > 0.0 && hi <= 2.0 * lo ? lo : hi < 0.0 && lo >= 2.0 * hi ? hi : 0.0;
        extent = larger(extent, hi - lo);
    }
    const Index exponent = extent > 0.0 ? __builtin_ilogb(extent) : 0;
    return smaller<Index>(larger<Index>(exponent, -1000), 1000);
}

Index halve(Points p, Index* order, double* keys, Index lo, Index hi) {
    Index axis = 0;
    double widest = -1.0;
    for (Index k = 0; k < p.n; k++) {
        double low = p.at[order[lo] * p.n + k], high = low;
        for (Index i = lo; i < hi; i++) {
            low = smaller(low, p.at[order[i] * p.n + k]);
            high = larger(high, p.at[order[i] * p.n + k]);
        }
        if (high - low > widest) axis = k, widest = high - low;
    }
    for (Index i = lo; i < hi; i++) keys[i] = p.at[order[i] * p.n + axis];
    // Cut at a multiple of the block size, so that blocks start at multiples of it.
    const Index middle = lo + BLOCK * ((hi - lo + 2 * BLOCK - 1) / (2 * BLOCK));
    select(keys, order, lo, hi, middle);
    return middle;
}

void sort(Points p, Index* order, double* keys, Index first, Index last) {
    Index runs[DEPTH][2] = {{first, last}};
    for (int top = 1; top;) {
        const Index lo = runs[--top][0], hi = runs[top][1];
        if (hi - lo <= BLOCK) continue;
        const Index middle = halve(p, order, keys, lo, hi);
        runs[top][0] = lo, runs[top++][1] = middle;
        runs[top][0] = middle, runs[top++][1] = hi;
    }
}

void gather(Points p, const Index* order, const double* origin, double factor, Index first, Index last,
            double* sources) {
    for (Index k = 0; k < p.n; k++)
        for (Index i = first; i < last; i++)
            sources[k * p.m + i] = (p.at[order[i] * p.n + k] - origin[k]) * factor;
}

void boxes(Sources s, double* boxes) {
    const Index blocks = blocks_of(s.m);
    for (Index k = 0; k < s.n; k++)
        for (Index b = 0; b < blocks; b++) {
            const double* x = s.at + k * s.m;
            double low = x[b * BLOCK], high = low;
            for (Index i = b * BLOCK; i < end_of(b, s.m); i++) low = smaller(low, x[i]), high = larger(high, x[i]);
            boxes[k * blocks + b] = low;
            boxes[(s.n + k) * blocks + b] = high;
        }
}

void grow(const double* boxes, Index n, Index blocks, double* nodes, Index* begin, Index* size) {
    const Index count = blocks ? 2 * blocks - 1 : 0;
    if (!count) return;
    begin[0] = 0, size[0] = blocks;
    for (Index i = 0; i < count; i++)  // parents come before their children
        if (size[i] > 1) {
            const Index left = (size[i] + 1) / 2;
            begin[i + 1] = begin[i], size[i + 1] = left;
            begin[i + 2 * left] = begin[i] + left, size[i + 2 * left] = size[i] - left;
        }
    for (Index i = count - 1; i >= 0; i--) {  // and boxes are joined from the leaves up
        double* own = nodes + i * 2 * n;
        if (size[i] == 1) {
            for (Index k = 0; k < 2 * n; k++) own[k] = boxes[k * blocks + begin[i]];
            continue;
        }
        const double *left = own + 2 * n, *right = nodes + right_child(i, size[i]) * 2 * n;
        for (Index k = 0; k < n; k++) {
            own[k] = smaller(left[k], right[k]);
            own[n + k] = larger(left[n + k], right[n + k]);
        }
    }
}

constexpr Index FEW = 320;  // points up to which all pairs take less time than to find out which blocks are far

template <int N> struct Neighbours {
    Sources s;
    double* nearest;
    Index* same;

    // The nearest positive squared distance of point i to a run of points, and how many lie exactly on it.
    void look(Index i, const double* at, Index start, Index stop) const {
        using V = Vector<double>;
        const V none = V{} + __builtin_inf();
        V best = none;
        typename Lanes<double>::I equal{};
        Index from = start;
        for (; from + WIDTH<double> <= stop; from += WIDTH<double>) {
            const double* x = s.at + from;
            V square{};
            for (Index k = 0; k < (N ? N : s.n); k++, x += s.m) {
                const V step = load<double>(x) - at[k];
                square += step * step;
            }
            equal -= square == 0.0;
            const V other = square > 0.0 ? square : none;
            best = other < best ? other : best;
        }
        for (Index j = 0; j < WIDTH<double>; j++) nearest[i] = smaller(nearest[i], best[j]), same[i] += equal[j];
        for (; from < stop; from++) {
            const double square = square_to(s, from, at);
            same[i] += square == 0.0;
            if (square > 0.0) nearest[i] = smaller(nearest[i], square);
        }
    }

    void all(const double* boxes) const {
        const Boxes box{boxes, s.n, blocks_of(s.m)};
        Scratch scratch(3 * s.n);
        double *lo = scratch.at, *hi = lo + s.n, *at = hi + s.n;
        for (Index i = 0; i < s.m; i++) nearest[i] = __builtin_inf(), same[i] = 0;
        if (s.m <= FEW) {
            for (Index i = 0; i < s.m; i++) look(i, column(s, i, at), 0, s.m);
            return;
        }
        for (Index a = 0; a < box.blocks; a++) {
            const Index start = a * BLOCK, stop = end_of(a, s.m);
            for (Index i = start; i < stop; i++) look(i, column(s, i, at), start, stop);
            const double farthest = largest_of(nearest, start, stop);
            box.corners(a, lo, hi);
            for (Index b = 0; b < box.blocks; b++) {
                if (b == a || box.gap(lo, hi, b) > farthest) continue;
                for (Index i = start; i < stop; i++) {
                    column(s, i, at);
                    if (box.gap(at, at, b) <= nearest[i]) look(i, at, b * BLOCK, end_of(b, s.m));
                }
            }
        }
    }

    void by_tree(Tree tree, Index first, Index last) const {
        const Nodes<N> node{tree, s.n};
        const Index n = node.n;
        Scratch scratch((BLOCK + 3) * n);
        double *lo = scratch.at, *hi = lo + n, *at = hi + n, *own = at + n;  // own: the block's points, axis by axis
        struct {
            Index node;
            double gap;
        } stack[DEPTH];
        for (Index a = first; a < last; a++) {
            const Index start = a * BLOCK, stop = end_of(a, s.m);
            for (Index k = 0; k < n; k++) {
                const double* x = s.at + k * s.m;
                lo[k] = hi[k] = x[start];
                for (Index j = 0; j < BLOCK; j++) own[k * BLOCK + j] = x[smaller(start + j, stop - 1)];
                for (Index j = 1; j < BLOCK; j++)
                    lo[k] = smaller(lo[k], own[k * BLOCK + j]), hi[k] = larger(hi[k], own[k * BLOCK + j]);
            }
            for (Index i = start; i < stop; i++) {
                nearest[i] = __builtin_inf(), same[i] = 0;
                look(i, column(s, i, at), start, stop);
            }
            double farthest = largest_of(nearest, start, stop);
            stack[0] = {0, 0.0};
            for (int top = 1; top;) {
                const Index b = stack[--top].node, begin = tree.begin[b], size = tree.size[b];
                if (stack[top].gap > farthest || (size == 1 && begin == a)) continue;
                const bool holds_own = begin <= a && a < begin + size, one_place = node.is_one_place(b);
                if (size > 1 && (holds_own || !one_place)) {
                    // The nearer child is searched first, which shortens the search of the other.
                    const Index left = b + 1, right = right_child(b, size);
                    const double to_left = node.gap(lo, hi, left), to_right = node.gap(lo, hi, right);
                    const bool left_first = to_left <= to_right;
                    stack[top++] = {left_first ? right : left, left_first ? to_right : to_left};
                    stack[top++] = {left_first ? left : right, left_first ? to_left : to_right};
                    continue;
                }
                double gaps[BLOCK]{};
                for (Index k = 0; k < n; k++) {
                    const double low = node.low(b)[k], high = node.high(b)[k], *x = own + k * BLOCK;
                    for (Index j = 0; j < BLOCK; j++) {
                        const double step = larger(0.0, larger(low - x[j], x[j] - high));
                        gaps[j] += step * step;
                    }
                }
                const Index begins = begin * BLOCK, count = points_in(begin, size, s.m);
                // Of many copies of one place, one gives the distance of all.
                const Index seen = one_place ? 1 : count;
                bool closer = false;
                for (Index i = start; i < stop; i++) {
                    if (gaps[i - start] > nearest[i]) continue;
                    const Index before = same[i];
                    look(i, column(s, i, at), begins, begins + seen);
                    same[i] = before + (same[i] - before) * (count / seen);
                    closer = true;
                }
                if (closer) farthest = largest_of(nearest, start, stop);
            }
        }
    }
};

void nearest(Sources s, const double* boxes, double* nearest, Index* same) {
    by_axes(s.n, [&](auto axes) { Neighbours<axes.n>{s, nearest, same}.all(boxes); });
}

double spacing(const double* nearest, const Index* same, Index m) {
    double total = 0.0, places = 0.0;
    for (Index i = 0; i < m; i++) {
        total += __builtin_sqrt(nearest[i]) / double(same[i]);
        places += 1.0 / double(same[i]);
    }
    const double mean = places > 0.0 ? total / places : __builtin_nan("");
    return mean < __builtin_inf() ? mean : __builtin_nan("");
}

void nearest_by_tree(Sources s, Tree tree, Index first, Index last, double* nearest, Index* same) {
    by_axes(s.n, [&](auto axes) { Neighbours<axes.n>{s, nearest, same}.by_tree(tree, first, last); });
}

template <int N> void nearest_sources(Sources targets, Sources s, Tree tree, double* found, Index* which) {
    const Nodes<N> node{tree, s.n};
    Scratch scratch(s.n);
    double* at = scratch.at;
    Index stack[DEPTH];
    for (Index i = 0; i < targets.m; i++) {
        column(targets, i, at);
        found[i] = __builtin_inf(), which[i] = -1;
        if (i > 0 && which[i - 1] >= 0) {  // in kd order the nearest of the last target is not far
            which[i] = which[i - 1];
            found[i] = square_to(s, which[i], at);
        }
        stack[0] = 0;
        for (int top = tree.count ? 1 : 0; top;) {
            const Index b = stack[--top];
            if (node.gap(at, at, b) >= found[i]) continue;
            if (tree.size[b] == 1) {
                for (Index j = tree.begin[b] * BLOCK; j < end_of(tree.begin[b], s.m); j++) {
                    const double square = square_to(s, j, at);
                    if (square < found[i]) found[i] = square, which[i] = j;
                }
                continue;
            }
            Index near = b + 1, far = right_child(b, tree.size[b]);
            if (node.gap(at, at, near) > node.gap(at, at, far)) swap(near, far);
            stack[top++] = far;
            stack[top++] = near;
        }
    }
}

void nearest_source(Sources targets, Sources s, Tree tree, double* found, Index* which) {
    by_axes(s.n, [&](auto axes) { nearest_sources<axes.n>(targets, s, tree, found, which); });
}

// The largest squared distance of a place to a run of points, if above the best so far.
template <int N> double largest(Sources s, const double* at, Index start, Index stop, double best) {
    double square[CHUNK];
    for (Index from = start; from < stop; from += CHUNK) {
        const Index count = smaller(CHUNK, stop - from);
        squares<N>(s, at, from, count, square);
        for (Index j = 0; j < count; j++) best = larger(best, square[j]);
    }
    return best;
}

// Going from a point to its farthest, and on from there, soon finds a very distant pair.
double distant_pair(Sources s) {
    Scratch scratch(s.n);
    double best = 0.0;
    Index here = 0;
    for (int round = 0; round < 8 && s.m; round++) {
        column(s, here, scratch.at);
        double square[CHUNK], most = -1.0;
        Index there = here;
        for (Index from = 0; from < s.m; from += CHUNK) {
            const Index count = smaller(CHUNK, s.m - from);
            by_axes(s.n, [&](auto axes) { squares<axes.n>(s, scratch.at, from, count, square); });
            for (Index j = 0; j < count; j++)
                if (square[j] > most) most = square[j], there = from + j;
        }
        if (most <= best) break;
        best = most, here = there;
    }
    return best;
}

template <int N> double diameter_of(Sources s, const double* boxes) {
    const Boxes box{boxes, s.n, blocks_of(s.m)};
    Scratch scratch(3 * s.n);
    double *lo = scratch.at, *hi = lo + s.n, *at = hi + s.n, best = distant_pair(s);
    for (Index a = 0; a < box.blocks; a++) {
        box.corners(a, lo, hi);
        for (Index b = a; b < box.blocks;) {
            if (box.reach(lo, hi, b) <= best) {
                b++;
                continue;
            }
            const Index start = b * BLOCK;
            while (b < box.blocks && box.reach(lo, hi, b) > best) b++;
            // Runs of blocks are scanned whole: to bound every point takes longer than the vector code.
            for (Index i = a * BLOCK; i < end_of(a, s.m); i++)
                best = largest<N>(s, column(s, i, at), start, end_of(b - 1, s.m), best);
        }
    }
    return best;
}

double diameter(Sources s, const double* boxes) {
    double found = 0.0;
    by_axes(s.n, [&](auto axes) { found = diameter_of<axes.n>(s, boxes); });
    return found;
}

// For every node, the box of its points' unit vectors from the cloud's centre, and their largest length.
//
// Boxes along the axes bound a shell badly: their corners lie outside of it, so that on a sphere many blocks seem far
// enough from every block. Two points are far apart only if their directions from the centre are nearly opposite,
// which the boxes of directions bound well.
void directions(Sources s, Tree tree, double* boxes, double* radius) {
    const Index n = s.n;
    Scratch scratch(n);
    double* center = scratch.at;
    for (Index k = 0; k < n && tree.count; k++) center[k] = 0.5 * (tree.nodes[k] + tree.nodes[n + k]);
    for (Index i = tree.count - 1; i >= 0; i--) {
        double* own = boxes + i * 2 * n;
        radius[i] = 0.0;
        if (tree.size[i] > 1) {
            const Index left = i + 1, right = right_child(i, tree.size[i]);
            radius[i] = larger(radius[left], radius[right]);
            for (Index k = 0; k < n; k++) {
                own[k] = smaller(boxes[left * 2 * n + k], boxes[right * 2 * n + k]);
                own[n + k] = larger(boxes[left * 2 * n + n + k], boxes[right * 2 * n + n + k]);
            }
            continue;
        }
        for (Index k = 0; k < n; k++) own[k] = 1.0, own[n + k] = -1.0;
        for (Index j = tree.begin[i] * BLOCK; j < end_of(tree.begin[i], s.m); j++) {
            const double length = __builtin_sqrt(square_to(s, j, center));
            radius[i] = larger(radius[i], length);
            for (Index k = 0; k < n; k++) {
                const double along = length > 0.0 ? (s.at[k * s.m + j] - center[k]) / length : 0.0;
                own[k] = smaller(own[k], along);
                own[n + k] = larger(own[n + k], along);
            }
        }
    }
}

// Upper bound of the squared distance between two nodes, from their directions: |p - q|**2 = (|p| + |q|)**2
// - |p| |q| |p/|p| + q/|q||**2, and the last factor is at least the gap between the one box and the mirrored other.
double bound_by_direction(const double* a, const double* b, Index n, double p, double q) {
    double apart = 0.0;
    for (Index k = 0; k < n; k++) {
        const double step = larger(0.0, larger(a[k] + b[k], -a[n + k] - b[n + k]));
        apart += step * step;
    }
    const double most = larger(p, q), least = smaller(p, q);
    // At a right angle or less the bound no longer grows with both lengths.
    if (apart >= 2.0) return most * most + least * least;
    return ((p + q) * (p + q) - p * q * apart) * (1.0 + 1e-12);
}

template <int N>
double farthest(Sources s, Tree tree, const double* boxes, const double* radius, Index first, Index last, double best) {
    const Nodes<N> node{tree, s.n};
    const Index wide = 2 * s.n;
    Scratch scratch(s.n);
    double* at = scratch.at;
    Index stack[DEPTH];
    for (Index a = first; a < last; a++) {
        const double *lo = node.low(a), *hi = node.high(a);
        if (tree.size[a] > 1 || node.reach(lo, hi, 0) <= best) continue;
        const Index start = tree.begin[a] * BLOCK, stop = end_of(tree.begin[a], s.m);
        stack[0] = 0;
        for (int top = 1; top;) {
            const Index b = stack[--top];
            // Every pair occurs from both ends; it is examined from the later block.
            if (tree.begin[b] > tree.begin[a] || node.reach(lo, hi, b) <= best) continue;
            if (bound_by_direction(boxes + a * wide, boxes + b * wide, s.n, radius[a], radius[b]) <= best) continue;
            if (tree.size[b] > 1) {
                stack[top++] = b + 1;
                stack[top++] = right_child(b, tree.size[b]);
                continue;
            }
            for (Index i = start; i < stop; i++)
                if (node.reach(column(s, i, at), at, b) > best)
                    best = largest<N>(s, at, tree.begin[b] * BLOCK, end_of(tree.begin[b], s.m), best);
        }
    }
    return best;
}

double farthest_by_tree(Sources s, Tree tree, const double* boxes, const double* radius, Index first, Index last,
                        double best) {
    by_axes(s.n, [&](auto axes) { best = farthest<axes.n>(s, tree, boxes, radius, first, last, best); });
    return best;
}

void clouds(Points p, const Index* ends, Index count, double* sources, double* boxes_of_all, double* near,
            double* extents, Index* exponents, Index* orders) {
    Index most = 0;
    for (Index c = 0; c < count; c++) most = larger(most, ends[c] - (c ? ends[c - 1] : 0));
    Scratch keys(most), corner(p.n);
    Places order(most), same(most);
    for (Index c = 0, begin = 0; c < count; begin = ends[c++]) {
        const Index m = ends[c] - begin;
        const Points own{p.at + begin * p.n, m, p.n};
        const Sources s{sources + begin * p.n, m, p.n};
        exponents[c] = origin(own, corner.at);
        for (Index i = 0; i < m; i++) order.at[i] = i;
        sort(own, order.at, keys.at, 0, m);
        for (Index i = 0; i < m && orders; i++) orders[begin + i] = begin + order.at[i];
        gather(own, order.at, corner.at, __builtin_ldexp(1.0, -int(exponents[c])), 0, m, sources + begin * p.n);
        boxes(s, boxes_of_all);
        extents[2 * c] = extents[2 * c + 1] = __builtin_nan("");
        if (m == 1) near[begin] = __builtin_inf();
        if (m > 1) {
            nearest(s, boxes_of_all, near + begin, same.at);
            const double mean = __builtin_ldexp(spacing(near + begin, same.at, m), int(exponents[c]));
            if (mean > 0.0) {
                extents[2 * c] = mean;
                extents[2 * c + 1] = __builtin_ldexp(__builtin_sqrt(diameter(s, boxes_of_all)), int(exponents[c]));
            }
        }
        boxes_of_all += 2 * p.n * blocks_of(m);
    }
}

}  // namespace

extern const CloudKernels cloud;
const CloudKernels cloud{origin,          halve,          sort,     gather,       boxes,      clouds, grow, nearest, spacing,
                         nearest_by_tree, nearest_source, diameter, distant_pair, directions, farthest_by_tree};

}  // namespace HF_ISA
