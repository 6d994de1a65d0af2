// The face of tree.cpp.
#include "module.hpp"

#include <cstring>

HF_TABLE(TreeKernels, tree)

namespace {

void check_box(const In1& low, const In1& high, Index n) {
    check(length(low) == n && length(high) == n, "low and high must have a number per axis");
}

TransformCosts costs_of(const In2& whole, double t, double energy_cutoff, bool fourth, const In1& prices) {
    TransformCosts costs{whole.data(), length(whole, 1), t, energy_cutoff, fourth, {}};
    check(length(whole, 0) == 2, "the box of all sources must be (2, n)");
    check(length(prices) * sizeof(double) == sizeof(Prices), "prices must be those of core.hpp");
    std::memcpy(&costs.prices, prices.data(), sizeof(Prices));
    return costs;
}

}  // namespace

void bind_tree(nb::module_& m) {
    m.def("blocks_within", [](In3 nodes, InPlaces begin, InPlaces size, In1 low, In1 high, double cut, Places found) {
        const Index n = length(nodes, 2);
        const Tree t = tree_of(nodes, begin, size, {nullptr, length(found) * BLOCK, n});
        check_box(low, high, n);
        nb::gil_scoped_release free;
        return tree().blocks_within(t, n, low.data(), high.data(), cut, found.data());
    }, "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "cut"_a,
       "found"_a.noconvert());
    m.def("estimate_within", [](In3 nodes, InPlaces begin, InPlaces size, In1 low, In1 high, double cut, Index points) {
        const Index n = length(nodes, 2);
        const Tree t = tree_of(nodes, begin, size, {nullptr, points, n});
        check_box(low, high, n);
        return tree().estimate_within(t, n, low.data(), high.data(), cut, points);
    }, "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "cut"_a,
       "points"_a);
    m.def("width_for", [](double eps) { return tree().width_for(eps); }, "eps"_a);
    m.def("log_accuracy_for", [](double eps, bool fourth) { return tree().log_accuracy_for(eps, fourth); }, "eps"_a, "fourth"_a);
    m.def("transform_cost", [](In1 low, In1 high, In2 whole, double t, double energy_cutoff, bool fourth, In1 prices, double eps, double p, double q) {
        const TransformCosts costs = costs_of(whole, t, energy_cutoff, fourth, prices);
        check_box(low, high, costs.n);
        return tree().transform_cost(costs, low.data(), high.data(), eps, p, q);
    }, "low"_a.noconvert(), "high"_a.noconvert(), "whole"_a.noconvert(), "t"_a, "energy_cutoff"_a, "fourth"_a, "prices"_a.noconvert(), "eps"_a, "p"_a, "q"_a);
    m.def("plan", [](In2 targets, In3 nodes, InPlaces begin, InPlaces size, In1 offsets, Index points, In3 around,
                     InPlaces around_begin, InPlaces around_size, double near_cutoff, double weight_cutoff, double eps,
                     double least, bool allowed, double t, double energy_cutoff, bool fourth, In1 prices, Places chosen, Cube boxes, Row epss) {
        const Sources s = sources_of(targets);
        const Tree of_targets = tree_of(nodes, begin, size, s), of_sources = tree_of(around, around_begin, around_size, {nullptr, points, s.n});
        check(points > 0, "there must be sources");
        check(length(offsets) == 0 || length(offsets) == s.m, "offsets must have a number per target, or none");
        const In2 whole(around.data(), {2, std::size_t(s.n)});
        const PlanTask task{s, of_targets, length(offsets) ? offsets.data() : nullptr, points, of_sources, near_cutoff, weight_cutoff,
                            eps, least, allowed, costs_of(whole, t, energy_cutoff, fourth, prices)};
        const Index blocks = blocks_of(s.m);
        check(length(chosen) == blocks && length(boxes, 0) == blocks && length(boxes, 1) == 2 && length(boxes, 2) == s.n &&
                  length(epss) == blocks, "chosen, boxes and eps must have an entry per block of targets");
        Index count = 0;
        double price = 0.0;
        {
            nb::gil_scoped_release free;
            price = tree().plan(task, chosen.data(), boxes.data(), epss.data(), &count);
        }
        return nb::make_tuple(price, count);
    }, "targets"_a.noconvert(), "nodes"_a.noconvert(), "begin"_a.noconvert(), "size"_a.noconvert(), "offsets"_a.noconvert(),
       "points"_a, "around"_a.noconvert(), "around_begin"_a.noconvert(), "around_size"_a.noconvert(), "near_cutoff"_a,
       "weight_cutoff"_a, "eps"_a, "least"_a, "allowed"_a, "t"_a, "energy_cutoff"_a, "fourth"_a, "prices"_a.noconvert(), "chosen"_a.noconvert(), "boxes"_a.noconvert(), "epss"_a.noconvert());
}
