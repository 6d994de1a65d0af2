// The blocks around a few targets, by zone.
//
// Built without fused multiply-adds (tree.cpp), so that what is decided here is the same on every processor.
#pragma once
#include "cloud.hpp"

namespace HF_ISA {

inline double time_of(const NearTask& task, Index i) { return task.times[task.own_times ? i : 0]; }

// Targets start to stop that are summed together, as seen from one centre, and the blocks around them: found[0:near] are
// summed in the precision asked for, found[near:inner] in single precision, found[inner:outer] are the ring.
struct Group {
    const NearTask& task;
    Scratch low, high, center, gaps;
    Places found, sorted;
    Index start = 0, stop = 0, near = 0, inner = 0, outer = 0;
    explicit Group(const NearTask& task);
    // The first targets of a run that can be summed together.
    void take(Index first, Index last);
    // Keep those blocks of the ring that can matter beside the sums known by now; the least of their weights is given.
    void keep_what_matters(double least);

  private:
    double shortest = 0.0, longest = 0.0, size_squared = 0.0;
    void frame();
    void measure(Index first, Index last);
};

}  // namespace HF_ISA
