// What every build of the kernels offers: plain pointers and counts, nothing of Python or of the standard library.
//
// Arrays are C-contiguous. Sources are (n, m): one row per axis, points in kd order. A tree is `nodes` (count, 2, n),
// the corners of each node, with `begin` and `size`, its first block and how many it has (see cloud.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

using Index = std::int64_t;

constexpr Index BLOCK = 16;  // points of an arranged cloud that share a box

// Error of single-precision sums, relative to themselves: all roundings added up in the worst direction come to about
// 100 units of 6e-8 (64 additions in a row at most, and the exponent's rounding times its size).
constexpr double SINGLE_ERROR = 1e-5;
// The same for the sum of g over all pairs, where roundings partly cancel (measured: below 2e-7).
constexpr double TOTAL_ERROR = 1e-6;
// Times below this (the extent is between 1 and 2) are summed in double precision: w D**4 underflows in single.
constexpr double TINY_TIME = 1e-12;

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

struct CloudKernels {
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
    // are fewer than two places; orders, where they are wanted, the row of each column.
    void (*clouds)(Points, const Index* ends, Index count, double* sources, double* boxes, double* nearest,
                   double* extents, Index* exponents, Index* orders);
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

// Many clouds, one after the other, as `clouds` arranges them.
struct Batch {
    const double *sources, *boxes;
    const Index* ends;
    Index count, n;
    const double* times;  // (steps, count), or (steps, total) where every point has times of its own; increasing
    bool own_times;
    Index steps, total;
    double log_accuracy;  // log(1 / error)
    bool single;          // sum in single precision
};

struct PairKernels {
    // The sums of pairs.hpp into sums (columns, steps, total), all of the rows first to last of the batch; `nearest`
    // is the squared distance of each point to the next place.
    void (*dense)(const Batch&, const double* nearest, int wanted, Index first, Index last, double* sums);
    // Sums with values on the sources: w (v_j - v_i) and w (v_j - v_i)**2 over the neighbours j of each point i. Values
    // are (fields, steps, total); task p weights those of scale from[p] by the w of scale to[p]. The result is
    // (2, fields, tasks, total), or without `squares` (1, fields, tasks, total).
    void (*differences)(const Batch&, const double* values, Index fields, const Index* from, const Index* to, Index tasks,
                        bool squares, Index first, Index last, double* out);
};

// Values are (rows, total), and `ends` (count) the columns at which segments end: one segment per cloud.
struct SegmentKernels {
    void (*sums)(const double* values, Index rows, const Index* ends, Index count, double* out);  // (count, rows)
    // Mean, standard deviation (divided by the length), 10th, 50th and 90th percentile (linear): (count, rows, 5).
    void (*pool)(const double* values, Index rows, const Index* ends, Index count, double* out);
    // Correlations (count, pairs) of rows pairs[p][0] and pairs[p][1]; NaN where a row varies by less than `least`.
    void (*correlate)(const double* values, Index rows, const Index* ends, Index count, const Index* pairs, Index asked,
                      double least, double* out);
    // Logarithms (rows, total) become shares of 1, column by column; NaN where any is NaN.
    void (*shares)(double* logs, Index rows, Index total);
    // Eigenvalues (n, total), largest first, of symmetric matrices by their upper triangles (n (n+1) / 2, total); n <= 3.
    void (*eigenvalues)(const double* packed, Index n, Index total, double* out);
    // From gradients with respect to these (n, total) to those with respect to the entries of the upper triangles.
    void (*eigenvalues_back)(const double* packed, const double* given, Index n, Index total, double* out);
    // Unit eigenvectors (n, n, total): row k belongs to the k-th largest; its last coordinate that is not 0 is positive.
    void (*eigenvectors)(const double* packed, Index n, Index total, double* out);
    // Columns first to last of (width, steps, total) to their rows of (total, steps, width).
    void (*by_point)(const double* values, Index width, Index steps, Index total, const Index* rows, Index first, Index last,
                     double* out);
};

// Trees of a classifier, one after the other: tree t has the nodes starts[t] to starts[t + 1], children are counted from
// its root and stand behind their parent, a leaf has left < 0.
struct Forest {
    const Index* starts;
    const std::int32_t *feature, *left, *right;
    const double *threshold, *value;
    const bool* missing_left;
    Index trees, outputs;
};

struct MiscKernels {
    // The number of bytes written, or -1 where the stream is unsound.
    Index (*unpack_lzf)(const unsigned char* packed, Index size, unsigned char* out, Index room);
    // rows[k + 1] is the farthest point from those before it, for k from first to last; `nearest` are the squared
    // distances to those. How many rows there are then: last + 1, or less where only copies of them are left.
    Index (*farthest)(Sources, double* nearest, Index* rows, Index first, Index last);
    // Add the leaf of every tree to the margins (rows, outputs), in turn to each of them.
    void (*walk)(const float* features, Index count, Index width, const Forest&, double* margins);
    // Steps of birth and death from m points; how many there are then.
    Index (*strauss)(std::uint64_t* state, double beta, double gamma, double radius, Index steps, Index m, double* x,
                     double* y);
};

// Kernels of `width` grid points around places: polynomials (powers, lanes), highest power first, one column for each of
// the grid points; a place is (x - center) * steps in grid steps.
struct Stencil {
    const double* table;
    Index powers, lanes, width, n;
    const double *center, *steps;
};

struct Box {  // of grid points around a run of points
    Index first, last, low[3], size[3];
};
struct Modes {  // complex numbers (planes, rows, columns / 2)
    double* at;
    Index planes, rows, columns;
};
struct Factors {  // on modes, for the three axes, those of the last given twice: for real and imaginary part
    const double *heat[3], *root[3], *square[3];
    double powers[3];
};

struct GridKernels {
    // The field on a grid (shape: three axes, the last continued by the lanes) at the places first to last of (n, stride),
    // with the derivatives per grid step: rows of sums are what is found times `map` (derivatives, columns). Derivatives
    // are W; the gradient; the upper triangle of the Hessian; or W alone. The largest W is returned.
    double (*interpolate)(const Stencil&, const double* grid, const Index* shape, const double* places, Index stride,
                          Index first, Index last, const double* map, Index derivatives, Index columns, double* out,
                          Index out_stride);
    // Boxes that together hold the points first to last of (n, stride), at most one per point; how many they are.
    Index (*boxes)(const Stencil&, const double* points, Index stride, Index first, Index last, Box*);
    // The kernels around the points of some boxes, times their weights (may be null), into grids of the boxes, one after
    // the other, the last axis of each longer by lanes - width.
    void (*spread)(const Stencil&, const double* points, Index stride, const double* weights, const Box*, Index count,
                   double* grids);
    // Those grids added to the whole, of which the last axis is periodic after `columns`.
    void (*add)(const Box*, Index count, Index margin, const double* grids, const Index* shape, Index columns,
                double* whole);
    // The factors of heat applied to modes. Before that `totals` (rows, 2), where given, are increased by Parseval's sums
    // of the modes and of `other` under the factors of root, and the same times k**2; `fourth`, where given, becomes the
    // modes times a polynomial in k**2.
    void (*apply)(const Modes&, const Factors&, const double* other, double* fourth, double* totals);
};

// Gradients with respect to the sums of `dense`, (columns, steps, total), and where those with respect to points and 4t**2
// times those with respect to times t are added: points (tables, n, total) and times (tables, steps, count). Row i of a
// cloud adds to table i / rows[cloud]: rows of different tables may be summed at the same time.
struct SumsBack {
    const double* given;
    int wanted;   // as of `dense`
    bool energy;  // whether sums of g have gradients
    const Index* rows;
    double *points, *times;
};

struct GradientKernels {
    // The pairs of the rows first to last with later points; up to three dimensions, each cloud with times of its own.
    void (*sums_back)(const Batch&, const double* nearest, const SumsBack&, Index first, Index last);
};

// Places are rows in the caller's order; of several at the same distance the first counts.
struct NeighbourKernels {
    // The k nearest points of each, nearest first, from distances (clouds, rows, width) of the rows of each cloud from
    // `begin` on; clouds are starts[b] to starts[b + 1]. Into out (points, k), the point itself where a cloud has too few.
    void (*smallest_single)(const float* distances, Index rows, Index width, const Index* starts, Index clouds, Index begin,
                            Index k, Index* out);
    void (*smallest)(const double* distances, Index rows, Index width, const Index* starts, Index clouds, Index begin,
                     Index k, Index* out);
    // Of the rows first to last, within their clouds: the nearest point elsewhere (-1 for a copy of an earlier point, and
    // where all are at one place), the largest squared distance, and the point that has it.
    void (*extremes)(Points, const Index* ends, Index clouds, Index first, Index last, Index* nearest, double* longest,
                     Index* farthest);
};

// Cut-offs are squared distances in units of 4t, where w = exp(-cutoff): see heatfield.core.near.
struct NearTask {
    Sources targets;        // in kd order
    const Index* rows;      // their places in it where they are some of a cloud and those of one block belong together
    const double* times;    // one, or
    bool own_times;         // one per target
    const double* offsets;  // squared distance of each target to the nearest source; null where the targets are sources
    Sources sources;
    const double* roots;  // square roots of the weights of the sources, or null
    const double* boxes;
    Tree tree;
    double near_cutoff, weight_cutoff, energy_cutoff, tol;
    bool directions, fourth;
    bool energy;  // whether the sums of g are needed, which have no meaning with weights
    bool single;  // the innermost zone too is summed in single precision
};

struct NearKernels {
    // Rows first to last of sums (q, columns); `first` must be a multiple of BLOCK, or the first of its block of rows.
    void (*near)(const NearTask&, Index first, Index last, double* sums);
};

struct Prices {  // seconds, in the order of heatfield.core.planner.Costs, then what is known of the transforms' grids
    double pair[3], target, fourier, call, read, modes, upsampling, grid_eps, grid_limit;
};
struct TransformCosts {
    const double* whole;  // the box of all sources, (2, n)
    Index n;
    double t, energy_cutoff;
    bool fourth;
    Prices prices;
};
struct PlanTask {
    Sources targets;
    Tree tree;              // of the targets
    const double* offsets;  // as above
    Index m;                // sources
    Tree around;            // of the sources
    double near_cutoff, weight_cutoff;
    double eps, least;  // of a transform where all sums are of one size, and the smallest there is
    bool allowed;       // whether there are transforms
    TransformCosts costs;
};

struct TreeKernels {
    // The blocks whose box is within `cut` (squared) of the box (low, high), in order; how many.
    Index (*blocks_within)(Tree, Index n, const double* low, const double* high, double cut, Index* found);
    // About how many of m points lie within `cut` (squared) of the box.
    Index (*estimate_within)(Tree, Index n, const double* low, const double* high, double cut, Index m);
    // Grid points that the kernel of a transform covers.
    Index (*width_for)(double eps);
    // t k**2 at the highest frequency.
    double (*log_accuracy_for)(double eps, bool fourth);
    // Seconds for one transform to eps over a box with p sources in its halo and q targets.
    double (*transform_cost)(const TransformCosts&, const double* low, const double* high, double eps, double p, double q);
    // The nodes at which the cheapest plan stops, in the order of their points: which, the boxes (2, n) of their
    // transforms and the eps of these (0: neighbours are summed). Its price.
    double (*plan)(const PlanTask&, Index* chosen, double* boxes, double* eps, Index* count);
};

// Sources with weights as seen from anywhere; logs are half the base-two logarithms of the weights.
struct FieldTask {
    Sources sources;
    const double* logs;
    Points places;
    double log_accuracy;  // log(1 / error)
    bool moments;         // not only the sum of weights but its gradient and second derivatives
};

struct FieldKernels {
    // The largest logarithm in each node of the tree, from that in each block.
    void (*heaviest)(Tree, const double* of_blocks, double* of_nodes);
    // Places first to last into out (q, steps, columns): log sum, mean of x_j - y, upper triangle of the covariance.
    void (*sums)(const FieldTask&, const double* boxes, const double* heaviest, const double* times, Index steps, Index first,
                 Index last, double* out);
    // The same at one time through the tree, into out (q, columns): for far places on large clouds. `nearest` is the
    // strongest source of each place, up to rounding, or -1 where it is not known.
    void (*by_tree)(const FieldTask&, Tree, const double* heaviest, double t, const Index* nearest, Index first, Index last,
                    double* out);
};
