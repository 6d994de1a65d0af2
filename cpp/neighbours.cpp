// Which points are neighbours, by their places in the caller's order: of several at the same distance the first counts.
#include "cloud.hpp"
#include "lanes.hpp"

namespace HF_ISA {
namespace {

// The k smallest of a row of numbers with their places, in order; behind them some that fill the last vector.
template <class T> struct Smallest {
    using V = Vector<T>;
    using I = typename Lanes<T>::I;
    using Place = decltype(I{}[0] + 0);  // as wide as T, so that both move together
    const Index k, room = whole<T>(k) + MOST;
    Room<T> values{2 * room};
    Room<Place> places{2 * room};
    Index now = 0;

    T* value(Index side) const { return values.at + side * room + 1; }
    Place* place(Index side) const { return places.at + side * room + 1; }

    // Without a branch, from one side to the other: all numbers above x step back.
    HF_INLINE void insert(T x, Place at) {
        typedef I Loose __attribute__((aligned(sizeof(T)), may_alias));
        const T* old = value(now);
        const Place* old_at = place(now);
        now = 1 - now;
        for (Index p = 0; p < k; p += WIDTH<T>) {
            const V before = load<T>(old + p - 1), here = load<T>(old + p);
            const I above = x < before, move = x < here;
            const I at_before = *(const Loose*)(old_at + p - 1), at_here = *(const Loose*)(old_at + p);
            store<T>(value(now) + p, above ? before : move ? all<T>(x) : here);
            *(Loose*)(place(now) + p) = above ? at_before : move ? at - I{} : at_here;
        }
    }

    void row(const T* row, Index size) {
        for (Index side = 0; side < 2; side++) {
            for (Index p = -1; p < whole<T>(k); p++) value(side)[p] = T(__builtin_inf()), place(side)[p] = -1;
            value(side)[-1] = -T(__builtin_inf());
        }
        Index near[CHUNK];
        for (Index from = 0; from < size; from += CHUNK) {
            const Index stop = smaller(size, from + CHUNK);
            const T limit = value(now)[k - 1];
            int some = 0;
            for (Index j = from; j < stop; j++) some += row[j] < limit;
            if (!some) continue;
            some = 0;
            for (Index j = from; j < stop; j++) near[some] = j, some += row[j] < limit;
            for (int c = 0; c < some; c++)
                if (row[near[c]] < value(now)[k - 1]) insert(row[near[c]], Place(near[c]));
        }
    }
};

template <class T>
void smallest(const T* distances, Index rows, Index width, const Index* starts, Index clouds, Index begin, Index k, Index* out) {
    Smallest<T> found{k};
    for (Index b = 0; b < clouds; b++) {
        const Index first = starts[b], size = starts[b + 1] - first;
        for (Index i = begin; i < smaller(size, begin + rows); i++) {
            found.row(distances + (b * rows + i - begin) * width, size);
            for (Index p = 0; p < k; p++) {
                const Index at = found.place(found.now)[p];
                out[(first + i) * k + p] = first + (at < 0 ? i : at);
            }
        }
    }
}

// Squared distances of one point to all of its cloud (n, stride), filled up with copies of the last one: what is smallest
// but 0 and what is largest, and where.
template <int N> struct Search {
    using V = Vector<double>;
    static constexpr Index W = WIDTH<double>;
    const Points s;
    const Index n, stride = (s.m + CHUNK - 1) / CHUNK * CHUNK;
    Scratch room{n * stride}, square{stride};

    explicit Search(Points own) : s(own), n(N ? N : own.n) {
        for (Index k = 0; k < n; k++)
            for (Index j = 0; j < stride; j++) room.at[k * stride + j] = s.at[k + smaller(j, s.m - 1) * n];
    }
    Index find(double value, Index from) const {
        while (square.at[from] != value) from++;
        return from;
    }
    void row(Index i, Index& nearest, double& longest, Index& farthest) const {
        const double inf = __builtin_inf();
        double low = inf, high = -1.0;
        Index low_from = 0, high_from = 0, same_from = -1;
        for (Index from = 0; from < stride; from += CHUNK) {
            V least = all<double>(inf), apart = least, most{};
            for (Index j = from; j < from + CHUNK; j += W) {
                V d{};
#pragma GCC unroll 3
                for (Index k = 0; k < n; k++) {
                    const V step = load<double>(room.at + k * stride + j) - room.at[k * stride + i];
                    d += step * step;
                }
                store<double>(square.at + j, d);
                const V elsewhere = d > 0.0 ? d : all<double>(inf);
                least = d < least ? d : least;
                apart = elsewhere < apart ? elsewhere : apart;
                most = d > most ? d : most;
            }
            double zero = least[0], own = apart[0], far = most[0];
            for (Index j = 1; j < W; j++) zero = smaller(zero, least[j]), own = smaller(own, apart[j]), far = larger(far, most[j]);
            if (zero == 0.0 && same_from < 0) same_from = from;
            if (own < low) low = own, low_from = from;
            if (far > high) high = far, high_from = from;
        }
        nearest = low == inf || find(0.0, same_from) < i ? -1 : find(low, low_from);
        longest = high;
        farthest = find(high, high_from);
    }
};

void extremes(Points p, const Index* ends, Index clouds, Index first, Index last, Index* nearest, double* longest,
              Index* farthest) {
    for (Index c = 0, start = 0; c < clouds; start = ends[c++]) {
        const Index from = larger(first, start), to = smaller(last, ends[c]);
        if (from >= to) continue;
        by_axes(p.n, [&](auto axes) {
            const Search<decltype(axes)::n> search({p.at + start * p.n, ends[c] - start, p.n});
            for (Index i = from; i < to; i++) search.row(i - start, nearest[i], longest[i], farthest[i]);
        });
    }
}

}  // namespace

extern const NeighbourKernels neighbours;
const NeighbourKernels neighbours{smallest<float>, smallest<double>, extremes};

}  // namespace HF_ISA
