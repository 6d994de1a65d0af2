// The face of neighbours.cpp.
#include "module.hpp"

HF_TABLE(NeighbourKernels, neighbours)

namespace {

template <class T, class Kernel> void bind_smallest(nb::module_& m, Kernel kernel) {
    m.def("smallest", [kernel](Array<const T, 3> distances, InPlaces starts, Index begin, Array<Index, 2> out) {
        const Index clouds = length(distances, 0), width = length(distances, 2);
        check(length(starts) == clouds + 1 && begin >= 0 && starts.data()[0] >= 0, "starts must have a number per cloud and the end");
        for (Index b = 0; b < clouds; b++) {
            const Index size = starts.data()[b + 1] - starts.data()[b];
            check(0 <= size && size <= width && starts.data()[b + 1] <= length(out, 0), "starts must be rows of out, as many as distances");
        }
        check(length(out, 1) > 0, "out must have a column");
        nb::gil_scoped_release free;
        kernel()(distances.data(), length(distances, 1), width, starts.data(), clouds, begin, length(out, 1), out.data());
    }, "distances"_a.noconvert(), "starts"_a.noconvert(), "begin"_a, "out"_a.noconvert());
}

}  // namespace

void bind_neighbours(nb::module_& m) {
    bind_smallest<float>(m, [] { return neighbours().smallest_single; });
    bind_smallest<double>(m, [] { return neighbours().smallest; });
    m.def("extremes", [](In2 points, InPlaces ends, Index first, Index last, Places nearest, Row longest, Places farthest) {
        const Points p = points_of(points);
        Index before = 0;
        for (Index c = 0; c < length(ends); c++) {
            check_run(before, ends.data()[c], p.m);
            before = ends.data()[c];
        }
        check_run(first, last, p.m);
        check(p.n > 0 && length(nearest) == p.m && length(longest) == p.m && length(farthest) == p.m,
              "nearest, longest and farthest must have a number per point");
        nb::gil_scoped_release free;
        neighbours().extremes(p, ends.data(), length(ends), first, last, nearest.data(), longest.data(), farthest.data());
    }, "points"_a.noconvert(), "ends"_a.noconvert(), "first"_a, "last"_a, "nearest"_a.noconvert(), "longest"_a.noconvert(),
       "farthest"_a.noconvert());
}
