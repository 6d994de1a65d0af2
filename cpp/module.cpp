// The native module: the choice of the instruction set, and the functions of each subject.
#include "module.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

const char* const NAMES[] = {"baseline", "avx2", "avx512"};
int chosen = 0;

std::vector<std::string> usable() {
    std::vector<std::string> found{NAMES[0]};
#ifdef HF_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        found.push_back(NAMES[1]);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd"))
        found.push_back(NAMES[2]);
#endif
    return found;
}

int choose() {
    const auto found = usable();
    const char* wanted = std::getenv("HEATFIELD_ISA");
    if (!wanted || !*wanted) return int(found.size()) - 1;
    std::string names;
    for (std::size_t i = 0; i < found.size(); i++) {
        if (found[i] == wanted) return int(i);
        names += (i ? ", " : "") + found[i];
    }
    throw std::runtime_error("HEATFIELD_ISA must be one of " + names + " on this machine, got '" + wanted + "'");
}

}  // namespace

int isa() { return chosen; }

void bind_cloud(nb::module_&);
void bind_pairs(nb::module_&);
void bind_segments(nb::module_&);
void bind_misc(nb::module_&);
void bind_grid(nb::module_&);
void bind_gradients(nb::module_&);
void bind_neighbours(nb::module_&);
void bind_tree(nb::module_&);
void bind_near(nb::module_&);
void bind_field(nb::module_&);

NB_MODULE(_core, m) {
    chosen = choose();
    m.def("isa", [] { return std::string(NAMES[chosen]); });
    m.def("isas", usable);
    bind_cloud(m);
    bind_pairs(m);
    bind_segments(m);
    bind_misc(m);
    bind_grid(m);
    bind_gradients(m);
    bind_neighbours(m);
    bind_tree(m);
    bind_near(m);
    bind_field(m);
}
