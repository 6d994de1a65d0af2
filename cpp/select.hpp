// Order statistics in place, for median splits and percentiles.
#pragma once
#include "core.hpp"

namespace HF_ISA {

template <class T> inline T smaller(T a, T b) { return b < a ? b : a; }
template <class T> inline T larger(T a, T b) { return a < b ? b : a; }

// Move what is smaller than the pivot (or, not BELOW, not larger) to the front. The loop has no branch: every value
// is swapped and a counter moves or does not, which the processor predicts whatever the data.
template <bool BELOW> inline Index split(double* values, Index* order, Index lo, Index hi, double pivot) {
    Index front = lo;
    for (Index j = lo; j < hi; j++) {
        const double value = values[j];
        values[j] = values[front];
        values[front] = value;
        if (order) {
            const Index index = order[j];
            order[j] = order[front];
            order[front] = index;
        }
        front += BELOW ? value < pivot : value <= pivot;
    }
    return front;
}

// Rearrange values[lo:hi], and the order along with them, so that values[k] is the one that sorting would put there.
inline void select(double* values, Index* order, Index lo, Index hi, Index k) {
    while (hi - lo > 1) {
        const double a = values[lo], b = values[(lo + hi) / 2], c = values[hi - 1];
        const double pivot = larger(smaller(a, b), smaller(larger(a, b), c));
        const Index middle = split<true>(values, order, lo, hi, pivot);
        if (k < middle) {
            hi = middle;
            continue;
        }
        // Values equal to the pivot are where they belong: stepped over, or equal values would take quadratic time.
        const Index above = split<false>(values, order, middle, hi, pivot);
        if (k < above) return;
        lo = above;
    }
}

}  // namespace HF_ISA
