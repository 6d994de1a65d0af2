// What belongs to no other subject: LZF, farthest points, walks down trees, the Strauss process.
#include "cloud.hpp"
#include "lanes.hpp"

namespace HF_ISA {
namespace {

Index unpack_lzf(const unsigned char* packed, Index size, unsigned char* out, Index room) {
    Index i = 0, o = 0;
    while (i < size) {
        const Index control = packed[i++];
        if (control < 32) {  // a run of control + 1 literals
            const Index n = control + 1;
            if (n > size - i || n > room - o) return -1;
            for (Index k = 0; k < n; k++) out[o + k] = packed[i + k];
            i += n, o += n;
            continue;
        }
        Index n = control >> 5;
        if (n == 7) {
            if (i >= size) return -1;
            n += packed[i++];
        }
        n += 2;
        if (i >= size) return -1;
        const Index back = ((control & 31) << 8) + packed[i++] + 1;
        if (back > o || n > room - o) return -1;
        unsigned char* to = out + o;
        for (Index k = 0; k < n; k++) to[k] = to[k - back];  // may overlap: byte by byte
        o += n;
    }
    return o;
}

// Distances to the row just chosen, and the farthest of all that are left: the first of equals.
template <int N> double spread(Sources s, Index row, double* nearest, Index* farthest) {
    using V = Vector<double>;
    Scratch at(s.n);
    column(s, row, at.at);
    double best = -1.0, square[CHUNK];
    for (Index from = 0; from < s.m; from += CHUNK) {
        const Index count = smaller(CHUNK, s.m - from);
        squares<N>(s, at.at, from, count, square);
        double* near = nearest + from;
        V most = all<double>(-1.0);
        Index j = 0;
        for (; j + WIDTH<double> <= count; j += WIDTH<double>) {
            const V d = load(square + j), before = load(near + j), now = d < before ? d : before;
            store<double>(near + j, now);
            most = now > most ? now : most;
        }
        double found = -1.0;
        for (Index l = 0; l < WIDTH<double>; l++) found = larger(found, most[l]);
        for (; j < count; j++) {
            if (square[j] < near[j]) near[j] = square[j];
            found = larger(found, near[j]);
        }
        if (found > best) {
            best = found;
            for (j = 0; near[j] != best;) j++;
            *farthest = from + j;
        }
    }
    return best;
}

Index farthest(Sources s, double* nearest, Index* rows, Index first, Index last) {
    for (Index k = first; k < last; k++) {
        double best = 0.0;
        by_axes(s.n, [&](auto axes) { best = spread<axes.n>(s, rows[k], nearest, rows + k + 1); });
        if (best <= 0.0) return k + 1;
    }
    return last + 1;
}

void walk(const float* features, Index count, Index width, const Forest& f, double* margins) {
    for (Index t = 0; t < f.trees; t++) {
        const Index root = f.starts[t];
        for (Index i = 0; i < count; i++) {
            const float* row = features + i * width;
            Index node = root;
            while (f.left[node] >= 0) {
                const double x = row[f.feature[node]];
                const bool to_left = x == x ? x <= f.threshold[node] : f.missing_left[node];
                node = root + (to_left ? f.left[node] : f.right[node]);
            }
            margins[i * f.outputs + t % f.outputs] += f.value[node];
        }
    }
}

// A number in [0, 1) by splitmix64 (Steele, Lea & Flood 2014).
inline double uniform(std::uint64_t& state) {
    std::uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

double power(double base, Index exponent) {
    double result = 1.0;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}

Index strauss(std::uint64_t* state, double beta, double gamma, double radius, Index steps, Index m, double* x, double* y) {
    const double square = radius * radius;
    for (Index step = 0; step < steps; step++) {
        const bool birth = uniform(*state) < 0.5;
        if (!birth && m == 0) continue;
        Index me = m;
        if (birth) {
            x[m] = uniform(*state);
            y[m] = uniform(*state);
        } else {
            me = smaller(Index(uniform(*state) * double(m)), m - 1);
        }
        const double a = x[me], b = y[me];
        Index close = birth || !(square > 0.0) ? 0 : -1;  // not itself
        for (Index i = 0; i < m; i++) close += (x[i] - a) * (x[i] - a) + (y[i] - b) * (y[i] - b) < square;
        const double weight = beta * power(gamma, close);
        if (birth) {
            m += uniform(*state) * double(m + 1) < weight;
        } else if (uniform(*state) * weight < double(m)) {
            m--;
            x[me] = x[m], y[me] = y[m];
        }
    }
    return m;
}

}  // namespace

extern const MiscKernels misc;
const MiscKernels misc{unpack_lzf, farthest, walk, strauss};

}  // namespace HF_ISA
