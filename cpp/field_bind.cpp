// The face of field.cpp.
#include "module.hpp"

HF_TABLE(FieldKernels, field)

namespace {

FieldTask task_of(const In2& sources, const In1& logs, const In2& places, double log_accuracy, bool moments) {
    const FieldTask task{sources_of(sources), logs.data(), points_of(places), log_accuracy, moments};
    check(task.sources.m > 0 && task.sources.n == task.places.n, "sources and places must have the same axes");
    check(length(logs) == task.sources.m, "logs must have a number per source");
    return task;
}
Index columns_of(const FieldTask& task) {
    const Index n = task.places.n;
    return task.moments ? 1 + n + n * (n + 1) / 2 : 1;
}

}  // namespace

void bind_field(nb::module_& m) {
    m.def("heaviest", [](In3 nodes, InPlaces begin, InPlaces size, In1 of_blocks, Row of_nodes) {
        const Tree tree = tree_of(nodes, begin, size, {nullptr, length(of_blocks) * BLOCK, length(nodes, 2)});
        check(length(of_nodes) == tree.count, "the result must have a number per node");
        field().heaviest(tree, of_blocks.data(), of_nodes.data());
    }, "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "of_blocks"_a.noconvert(), "of_nodes"_a.noconvert());
    m.def("field", [](In2 sources, In3 boxes, In1 logs, In1 heaviest, In1 times, In2 places, Index first, Index last,
                      double log_accuracy, bool moments, Cube out) {
        const FieldTask task = task_of(sources, logs, places, log_accuracy, moments);
        check_boxes(boxes, task.sources);
        check(length(heaviest) == blocks_of(task.sources.m), "heaviest must have a number per block");
        check(length(out, 0) == task.places.m && length(out, 1) == length(times) && length(out, 2) == columns_of(task),
              "out must be (places, times, columns)");
        check_run(first, last, task.places.m);
        nb::gil_scoped_release free;
        field().sums(task, boxes.data(), heaviest.data(), times.data(), length(times), first, last, out.data());
    }, "sources"_a.noconvert(), "boxes"_a.noconvert(), "logs"_a.noconvert(), "heaviest"_a.noconvert(), "times"_a.noconvert(),
       "places"_a.noconvert(), "first"_a, "last"_a, "log_accuracy"_a, "moments"_a, "out"_a.noconvert());
    m.def("field_by_tree", [](In2 sources, In1 logs, In3 nodes, InPlaces begin, InPlaces size, In1 heaviest, double t, In2 places,
                              InPlaces nearest, Index first, Index last, double log_accuracy, bool moments, Rows out) {
        const FieldTask task = task_of(sources, logs, places, log_accuracy, moments);
        const Tree tree = tree_of(nodes, begin, size, task.sources);
        check(length(heaviest) == tree.count, "heaviest must have a number per node");
        check(length(nearest) == task.places.m, "nearest must have a number per place");
        check(length(out, 0) == task.places.m && length(out, 1) == columns_of(task), "out must be (places, columns)");
        check_run(first, last, task.places.m);
        for (Index i = first; i < last; i++)
            check(-1 <= nearest.data()[i] && nearest.data()[i] < task.sources.m, "nearest must be sources, or -1");
        nb::gil_scoped_release free;
        field().by_tree(task, tree, heaviest.data(), t, nearest.data(), first, last, out.data());
    }, "sources"_a.noconvert(), "logs"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(),
       "heaviest"_a.noconvert(), "t"_a, "places"_a.noconvert(), "nearest"_a.noconvert(), "first"_a, "last"_a, "log_accuracy"_a,
       "moments"_a, "out"_a.noconvert());
}
