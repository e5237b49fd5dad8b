/* SPDX-License-Identifier: MIT */
/* Halide's programs with their schedules for a GPU, compiled to objects.
 *
 *     halide-device APP cuda NAME=@SIZES ... [NAME=NUMBER ...] -o STEM
 *
 * writes STEM.o with the function of the name that is STEM without its folder, and STEM.args with a line for each
 * argument: its name, and buffer, int or float. The output comes after them. `halide-device runtime cuda -o STEM`
 * writes the runtime they share. The variant opencl instead of cuda makes what can be tried where there is no GPU;
 * anderson is cuda with the schedule of Halide's auto-scheduler for GPUs, where this Halide has it.
 */
#include "app.h"

#include <dlfcn.h>

#include <fstream>

namespace
{

struct Known {
    const char *name;
    Func (*define)(App &);
};

#define ROW(name, adams) { #name, name },
const Known known[] = { HALIDE_APPS(ROW) };
#undef ROW

Target target_of(const PeerCall *call)
{
    const std::string cpu = "x86-64-linux-avx-avx2-f16c-fma-sse41-", gpu = call->variant;
    return Target(cpu + (gpu == "opencl" ? gpu : "cuda-cuda_capability_80"));
}

const char *after(const PeerCall *call, const char *option)
{
    for (int k = 0; k + 1 < call->argc; k++)
        if (!strcmp(call->argv[k], option))
            return call->argv[k + 1];
    peer_fail("%s FILE is missing", option);
}

/* The auto-scheduler lies beside the library. */
void search(Func result, Pipeline &pipeline, const App &app)
{
#if HALIDE_VERSION_MAJOR >= 15
    Dl_info where;
    if (!dladdr(reinterpret_cast<void *>(&Halide::get_host_target), &where))
        peer_fail("cannot find the folder of libHalide");
    const std::string path = where.dli_fname;
    load_plugin(path.substr(0, path.rfind('/')) + "/libautoschedule_anderson2021.so");
    for (size_t d = 0; d < app.out_sizes.size(); d++)
        result.set_estimate(result.args()[d], app.out_mins[d], app.out_sizes[d]);
    pipeline.apply_autoscheduler(app.way->target, { "Anderson2021", { { "parallelism", "132" } } });
#else
    (void)result, (void)pipeline;
    peer_fail("%s: this Halide has no auto-scheduler for GPUs", app.call->app);
#endif
}

void write_object(const Known &k, PeerCall *call)
{
    const std::string stem = after(call, "-o"), function = stem.substr(stem.rfind('/') + 1);
    const Way         way = { target_of(call), 0, 0, call->variant };
    Inputs            inputs;
    const bool        found = !strcmp(call->variant, "anderson");
    App               app(call, &inputs, &way, !found, true);
    Func              result = k.define(app);
    Pipeline          pipeline(result);
    if (found)
        search(result, pipeline, app);
    const auto    args = pipeline.infer_arguments();
    std::ofstream about(stem + ".args");
    for (const Argument &a : args)
        about << a.name << " " << (a.is_buffer() ? "buffer" : a.type.is_float() ? "float" : "int") << "\n";
    pipeline.compile_to_object(stem + ".o", args, function, way.target.with_feature(Target::NoRuntime));
}

void setup(PeerCall *call)
{
    try {
        if (!strcmp(call->app, "runtime")) {
            compile_standalone_runtime(std::string(after(call, "-o")) + ".o", target_of(call));
            exit(0);
        }
        for (const Known &k : known)
            if (!strcmp(k.name, call->app))
                write_object(k, call);
        exit(0);
    } catch (const std::exception &e) {
        peer_fail("%s %s: %s", call->app, call->variant, e.what());
    }
}

} // namespace

#define ROW(name, adams) { #name, "cuda", setup }, { #name, "opencl", setup }, { #name, "anderson", setup },
extern "C" const PeerEntry peer_entries[] = {
    HALIDE_APPS(ROW){ "runtime", "cuda", setup },
    { "runtime", "opencl", setup },
    { nullptr, nullptr, nullptr },
};
