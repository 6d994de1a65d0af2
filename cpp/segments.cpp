// From values at every point to a few numbers per cloud, and the linear algebra of small matrices.
//
// A segment gives the same bits wherever it stands: every sum begins with the segment.
#include "cloud.hpp"
#include "lanes.hpp"

namespace HF_ISA {
namespace {

using V = Vector<double>;
constexpr Index W = WIDTH<double>;
const double NOT_A_NUMBER = __builtin_nan("");

template <class F> void each_segment(const Index* ends, Index count, F work) {
    for (Index s = 0, start = 0; s < count; start = ends[s++]) work(s, start, ends[s] - start);
}

// The sum of term(vector) over x[0:m], the rest that fills no vector one by one.
template <class F> HF_INLINE double sum_of(Index m, F term) {
    V sum[4]{};
    Index j = 0;
    for (; j + 4 * W <= m; j += 4 * W)
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++) sum[u] += term(j + u * W, V{});
    for (; j + W <= m; j += W) sum[0] += term(j, V{});
    double rest = 0.0;
    for (; j < m; j++) rest += term(j, 0.0);
    return total<double>((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}
HF_INLINE V at(const double* x, Index j, V) { return load<double>(x + j); }
HF_INLINE double at(const double* x, Index j, double) { return x[j]; }

double sum(const double* x, Index m) {
    return sum_of(m, [=](Index j, auto kind) { return at(x, j, kind); });
}

struct Spread {
    double mean, deviation;
};

// Deviations are taken from the mean, in a second pass; where their squares leave the range of double precision (a
// density can be 1e200), in units of the largest value.
Spread spread(const double* x, Index m) {
    const double mean = sum(x, m) / double(m);
    double squares = sum_of(m, [=](Index j, auto kind) {
        const auto step = at(x, j, kind) - mean;
        return step * step;
    });
    if (squares > 1e-200 && squares < 1e200) return {mean, __builtin_sqrt(squares / double(m))};
    double unit = 0.0;
    for (Index j = 0; j < m; j++) unit = larger(unit, __builtin_fabs(x[j]));
    if (!(unit > 0.0)) return {mean, mean == mean ? unit : mean};
    squares = 0.0;
    for (Index j = 0; j < m; j++) squares += (x[j] - mean) / unit * ((x[j] - mean) / unit);
    return {mean, unit * __builtin_sqrt(squares / double(m))};
}

// The percentile of x[0:m] with linear interpolation, where x[lo:hi] is known to hold the ranks lo to hi.
double percentile(double* x, Index m, Index lo, Index hi, double fraction, Index& rank) {
    const double position = fraction * double(m - 1);
    rank = Index(position);
    select(x, nullptr, lo, hi, rank);
    const double below = x[rank];
    if (rank + 1 >= m) return below;
    double above = x[rank + 1];
    for (Index j = rank + 2; j < hi; j++) above = smaller(above, x[j]);
    // Exact at both ends and monotone in between, as NumPy has it.
    const double weight = position - double(rank), step = above - below;
    return weight < 0.5 ? below + step * weight : above - step * (1.0 - weight);
}

void sums(const double* values, Index rows, const Index* ends, Index count, double* out) {
    const Index total = count ? ends[count - 1] : 0;
    each_segment(ends, count, [&](Index s, Index start, Index m) {
        for (Index r = 0; r < rows; r++) out[s * rows + r] = sum(values + r * total + start, m);
    });
}

void pool(const double* values, Index rows, const Index* ends, Index count, double* out) {
    const Index total = count ? ends[count - 1] : 0;
    Scratch copy(total);
    each_segment(ends, count, [&](Index s, Index start, Index m) {
        for (Index r = 0; r < rows; r++) {
            const double* x = values + r * total + start;
            double* to = out + (s * rows + r) * 5;
            bool known = m > 0;
            for (Index j = 0; j < m; j++) {
                copy.at[j] = x[j];
                known &= x[j] == x[j];
            }
            if (!known) {  // what is not a number cannot be sorted
                for (int k = 0; k < 5; k++) to[k] = NOT_A_NUMBER;
                continue;
            }
            const Spread found = spread(x, m);
            Index middle, rank;
            to[0] = found.mean, to[1] = found.deviation;
            to[3] = percentile(copy.at, m, 0, m, 0.5, middle);
            to[4] = percentile(copy.at, m, middle, m, 0.9, rank);
            to[2] = percentile(copy.at, m, 0, smaller(m, middle + 2), 0.1, rank);
        }
    });
}

void correlate(const double* values, Index rows, const Index* ends, Index count, const Index* pairs, Index asked,
               double least, double* out) {
    const Index total = count ? ends[count - 1] : 0;
    Index longest = 0;
    each_segment(ends, count, [&](Index, Index, Index m) { longest = larger(longest, m); });
    Scratch standard(rows * longest);
    each_segment(ends, count, [&](Index s, Index start, Index m) {
        for (Index r = 0; r < rows; r++) {
            const double* x = values + r * total + start;
            const Spread found = spread(x, m);
            const double factor =
                found.deviation > least ? 1.0 / (found.deviation * __builtin_sqrt(double(m))) : NOT_A_NUMBER;
            for (Index j = 0; j < m; j++) standard.at[r * m + j] = (x[j] - found.mean) * factor;
        }
        for (Index p = 0; p < asked; p++) {
            const double *x = standard.at + pairs[2 * p] * m, *y = standard.at + pairs[2 * p + 1] * m;
            out[s * asked + p] = sum_of(m, [=](Index j, auto kind) { return at(x, j, kind) * at(y, j, kind); });
        }
    });
}

void shares(double* logs, Index rows, Index total) {
    constexpr double LOG2_E = 1.4426950408889634;
    double rest[64];  // the last columns, filled up to whole vectors
    for (Index j = 0; j < total; j += W) {
        const Index here = smaller(W, total - j);
        V top{}, all_of{};
        for (int turn = 0; turn < 3; turn++)
            for (Index r = 0; r < rows; r++) {
                double* x = logs + r * total + j;
                if (here < W) {
                    for (Index k = 0; k < W; k++) rest[k] = x[k < here ? k : 0];
                    x = rest;
                }
                V v = load<double>(x);
                if (turn == 0) top = r == 0 ? v : v > top ? v : top;
                else if (turn == 1) {
                    const V known = v - v;  // NaN where v is: 2**NaN would be 0
                    v = exp2<double>((v - top) * LOG2_E) + known, all_of += v;
                } else v = v / all_of;
                if (turn == 0) continue;
                store<double>(x, v);
                if (here < W)
                    for (Index k = 0; k < here; k++) logs[r * total + j + k] = rest[k];
            }
    }
}

// The rotation that clears pq: the new diagonal, cosine and sine. Without branches, so that loops over it become vectors.
HF_INLINE void rotate(double& p, double& q, double pq, double& cosine, double& sine) {
    const double gap = q - p, norm = __builtin_sqrt(gap * gap + 4.0 * pq * pq);
    double tangent = 2.0 * pq / (__builtin_fabs(gap) + norm + 1e-300);
    tangent = gap >= 0.0 ? tangent : -tangent;
    cosine = 1.0 / __builtin_sqrt(tangent * tangent + 1.0);
    sine = tangent * cosine;
    p -= tangent * pq;
    q += tangent * pq;
}

// The closed form with arc cosines loses half of the digits where two eigenvalues coincide, as they do on a flat patch.
// Jacobi's rotations have an error of a few units in the last place of the norm; five sweeps reach it from anywhere, three
// or four mostly. A matrix whose other entries are lost beside the smallest on the diagonal stays as it is, whatever else
// is in the loop with it.
constexpr Index LANES = 64;

HF_INLINE void turn(double* x, double* y, double cosine, double sine, int count) {
    for (int k = 0; k < count; k++) {
        const double z = x[k];
        x[k] = cosine * z - sine * y[k], y[k] = sine * z + cosine * y[k];
    }
}

// Rows 0 to 5 are upper triangles, 6 to 14, where there are so many, the axes that turn with them.
template <int ROWS> bool sweep3(double (&a)[ROWS][LANES]) {
    constexpr int AXES = ROWS > 6 ? 3 : 0;
    double open = 0.0;
    for (Index j = 0; j < LANES; j++) {
        double xx = a[0][j], xy = a[1][j], xz = a[2][j], yy = a[3][j], yz = a[4][j], zz = a[5][j], c, s, v[9];
        for (int k = 0; k < 3 * AXES; k++) v[k] = a[6 + k][j];
        const double most = larger(__builtin_fabs(xy), larger(__builtin_fabs(xz), __builtin_fabs(yz)));
        const double least = smaller(__builtin_fabs(xx), smaller(__builtin_fabs(yy), __builtin_fabs(zz)));
        const bool go_on = most > 1e-17 * least;
        rotate(xx, yy, xy, c, s);
        turn(&xz, &yz, c, s, 1), turn(v, v + 3, c, s, AXES);
        rotate(xx, zz, xz, c, s);
        xy = -s * yz, yz = c * yz, turn(v, v + 6, c, s, AXES);
        rotate(yy, zz, yz, c, s);
        xz = s * xy, xy = c * xy, yz = 0.0, turn(v + 3, v + 6, c, s, AXES);
        a[0][j] = go_on ? xx : a[0][j], a[1][j] = go_on ? xy : a[1][j], a[2][j] = go_on ? xz : a[2][j];
        a[3][j] = go_on ? yy : a[3][j], a[4][j] = go_on ? yz : a[4][j], a[5][j] = go_on ? zz : a[5][j];
        for (int k = 0; k < 3 * AXES; k++) a[6 + k][j] = go_on ? v[k] : a[6 + k][j];
        open = go_on ? 1.0 : open;
    }
    return open != 0.0;
}

void eigenvalues(const double* packed, Index n, Index total, double* out) {
    double a[6][LANES] = {};
    const Index entries = n * (n + 1) / 2;
    for (Index start = 0; start < total; start += LANES) {
        const Index here = smaller(LANES, total - start);
        for (Index e = 0; e < entries; e++) {
            for (Index j = 0; j < here; j++) a[e][j] = packed[e * total + start + j];
            for (Index j = here; j < LANES; j++) a[e][j] = 0.0;
        }
        if (n == 3) {
            for (int sweep = 0; sweep < 5 && sweep3(a); sweep++) {}
            for (Index j = 0; j < LANES; j++) {
                const double xx = a[0][j], yy = a[3][j], zz = a[5][j], high = larger(xx, yy), low = smaller(xx, yy);
                a[0][j] = larger(high, zz), a[1][j] = larger(low, smaller(high, zz)), a[2][j] = smaller(low, zz);
            }
        } else if (n == 2) {
            for (Index j = 0; j < LANES; j++) {
                double xx = a[0][j], yy = a[2][j], c, s;
                rotate(xx, yy, a[1][j], c, s);
                a[0][j] = larger(xx, yy), a[1][j] = smaller(xx, yy);
            }
        }
        for (Index k = 0; k < n; k++)
            for (Index j = 0; j < here; j++) out[k * total + start + j] = a[k][j];
    }
}

// V diag(g) V', finite also where eigenvalues coincide; an entry off the diagonal stands for two.
void eigenvalues_back(const double* packed, const double* given, Index n, Index total, double* out) {
    double a[15][LANES] = {}, g[3][LANES] = {};
    const Index entries = n * (n + 1) / 2;
    for (Index start = 0; start < total; start += LANES) {
        const Index here = smaller(LANES, total - start);
        for (Index j = 0; j < here; j++) {
            for (Index e = 0; e < entries; e++) a[e][j] = packed[e * total + start + j];
            for (Index k = 0; k < n; k++) g[k][j] = given[k * total + start + j];
        }
        if (n == 3) {
            for (Index k = 0; k < 9; k++)
                for (Index j = 0; j < LANES; j++) a[6 + k][j] = k % 4 == 0;
            for (int sweep = 0; sweep < 5 && sweep3(a); sweep++) {}
            for (Index j = 0; j < LANES; j++) {
                const double x = a[0][j], y = a[3][j], z = a[5][j], high = g[0][j], middle = g[1][j], low = g[2][j];
                auto ranked = [=](int ahead) { return ahead == 0 ? high : ahead == 1 ? middle : low; };
                const double of[3] = {ranked((y > x) + (z > x)), ranked((x >= y) + (z > y)), ranked((x >= z) + (y >= z))};
                int e = 0;
                for (int k = 0; k < 3; k++)
                    for (int l = k; l < 3; l++, e++) {
                        double sum = 0.0;
                        for (int i = 0; i < 3; i++) sum += of[i] * a[6 + 3 * i + k][j] * a[6 + 3 * i + l][j];
                        a[e][j] = k == l ? sum : 2.0 * sum;
                    }
            }
        } else if (n == 2) {
            for (Index j = 0; j < LANES; j++) {  // axes (c, -s) and (s, c)
                double x = a[0][j], y = a[2][j], c, s;
                rotate(x, y, a[1][j], c, s);
                const double p = x >= y ? g[0][j] : g[1][j], q = x >= y ? g[1][j] : g[0][j];
                a[0][j] = p * c * c + q * s * s, a[1][j] = 2.0 * (q - p) * c * s, a[2][j] = p * s * s + q * c * c;
            }
        } else
            for (Index j = 0; j < LANES; j++) a[0][j] = g[0][j];
        for (Index e = 0; e < entries; e++)
            for (Index j = 0; j < here; j++) out[e * total + start + j] = a[e][j];
    }
}

void eigenvectors(const double* packed, Index n, Index total, double* out) {
    Scratch room(2 * n * n);
    double *a = room.at, *v = a + n * n;
    for (Index i = 0; i < total; i++) {
        double* to = out + i;  // (n, n, total)
        bool finite = true;
        Index e = 0;
        for (Index p = 0; p < n; p++)
            for (Index q = p; q < n; q++, e++) {
                a[p * n + q] = a[q * n + p] = packed[e * total + i];
                finite &= __builtin_isfinite(a[p * n + q]) != 0;
                v[p * n + q] = v[q * n + p] = p == q;
            }
        for (Index k = 0; k < n * n && !finite; k++) to[k * total] = NOT_A_NUMBER;
        if (!finite) continue;
        bool rotated = true;
        for (int sweep = 0; sweep < 30 && rotated; sweep++) {
            rotated = false;
            for (Index p = 0; p < n - 1; p++)
                for (Index q = p + 1; q < n; q++) {
                    double &pp = a[p * n + p], &qq = a[q * n + q], pq = a[p * n + q], c, s;
                    // What is lost in rounding beside both diagonal entries rotates by no angle that matters.
                    if (__builtin_fabs(pq) <= 1e-17 * (__builtin_fabs(pp) + __builtin_fabs(qq))) continue;
                    rotated = true;
                    rotate(pp, qq, pq, c, s);
                    a[p * n + q] = a[q * n + p] = 0.0;
                    for (Index k = 0; k < n; k++) {
                        if (k != p && k != q) {
                            const double x = a[k * n + p], y = a[k * n + q];
                            a[k * n + p] = a[p * n + k] = c * x - s * y;
                            a[k * n + q] = a[q * n + k] = s * x + c * y;
                        }
                        const double x = v[p * n + k], y = v[q * n + k];
                        v[p * n + k] = c * x - s * y;
                        v[q * n + k] = s * x + c * y;
                    }
                }
        }
        for (Index row = 0; row < n; row++) {  // by size, each taken out by making it the smallest
            Index best = 0;
            for (Index k = 1; k < n; k++)
                if (a[k * n + k] > a[best * n + best]) best = k;
            a[best * n + best] = -__builtin_inf();
            Index last = n - 1;
            while (last > 0 && v[best * n + last] == 0.0) last--;
            const double sign = v[best * n + last] < 0.0 ? -1.0 : 1.0;
            for (Index k = 0; k < n; k++) to[(row * n + k) * total] = sign * v[best * n + k];
        }
    }
}

void by_point(const double* values, Index width, Index steps, Index total, const Index* rows, Index first, Index last,
              double* out) {
    for (Index i = first; i < last; i++)
        for (Index a = 0; a < steps; a++)
            for (Index c = 0; c < width; c++) out[(rows[i] * steps + a) * width + c] = values[(c * steps + a) * total + i];
}

}  // namespace

extern const SegmentKernels segments;
const SegmentKernels segments{sums, pool, correlate, shares, eigenvalues, eigenvalues_back, eigenvectors, by_point};

}  // namespace HF_ISA
