/* SPDX-License-Identifier: MIT */
/* Halide as a peer: compiles an app in each of a few ways, keeps the fastest, runs it.
 *
 * The variants are `manual` (the schedule in the app's file, compiled as the call begins), `mullapudi` and `adams`
 * (Halide's auto-schedulers; what they find is compiled to a library that is kept, since a search takes up to minutes).
 * The ways of a variant: with and without AVX-512, vectors of 32 and 64 bytes; for mullapudi also the size of the
 * last-level cache: its default, that of the level 2 cache, and 512 KiB. Which way is fastest is measured once for an
 * app, its size and the number of threads, and kept beside the program in halide-kept-VERSION/; "note" names it.
 * compile_ms is the time of that way alone, on one core, after Halide has compiled something else: for manual, from the
 * definition of the functions to code that can be called; for an auto-scheduler to an object file, and its search is
 * part of it.
 */
#include "app.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>

namespace
{

struct Known {
    const char *name;
    Func (*define)(App &);
    const char *adams; /* "PASSES BEAM" of the search, "" for its default */
};

#define ROW(name, adams) { #name, name, adams },
const Known known[] = { HALIDE_APPS(ROW) };
#undef ROW

enum { DEFAULT_CACHE = 16 << 20, SMALL_CACHE = 512 << 10 };

struct Program {
    virtual ~Program() {}
    virtual void run()      = 0;
    double       compile_ms = 0;
};

/* ---- compiled in this process ---- */

struct JitProgram : Program {
    std::unique_ptr<App> app;
    Pipeline             pipeline;
    void                 run() override { pipeline.realize({ app->out }, app->way->target); }
};

std::unique_ptr<Program> jit(const Known &k, std::unique_ptr<App> app)
{
    auto         p     = std::make_unique<JitProgram>();
    const double start = peer_now();
    p->pipeline        = Pipeline(k.define(*app));
    p->pipeline.compile_jit(app->way->target);
    p->compile_ms = 1e3 * (peer_now() - start);
    p->app        = std::move(app);
    return p;
}

/* ---- compiled to a library that is kept ---- */

std::string kept_folder()
{
    char self[4096] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        peer_fail("cannot find the folder of this program");
    const std::string path   = self,
                      folder = path.substr(0, path.rfind('/')) + "/halide-kept-" + std::to_string(HALIDE_VERSION_MAJOR);
    mkdir(folder.c_str(), 0777);
    return folder;
}

/* The beginning of the names of all that is kept of an app and variant at a size. */
std::string kept(const PeerCall &call)
{
    std::string name = kept_folder() + "/" + call.app + "-" + call.variant;
    for (int d = 0; d < call.out.dims; d++)
        name += (d ? "x" : "-") + std::to_string(call.out.size[d]);
    return name;
}

/* The auto-schedulers lie beside the library; Debian has them in a folder there. */
void load_scheduler(const std::string &file)
{
    Dl_info where;
    if (!dladdr(reinterpret_cast<void *>(&Halide::get_host_target), &where))
        peer_fail("cannot find the folder of libHalide");
    const std::string path = where.dli_fname, folder = path.substr(0, path.rfind('/'));
    for (const std::string &plugin : { folder + "/" + file, folder + "/halide14/" + file })
        if (!access(plugin.c_str(), R_OK)) {
            load_plugin(plugin);
            return;
        }
    peer_fail("%s is not installed beside %s", file.c_str(), path.c_str());
}

/* Schedules by `scheduler` of the library `file`, which is told the cores and the last-level cache. beam: that of the
 * search of Adams2019, "" for its default. */
void schedule_by(Pipeline &pipeline, const std::string &scheduler, const std::string &file, const App &app,
                 const std::string &beam)
{
    const int cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    load_scheduler(file);
#if HALIDE_VERSION_MAJOR >= 15
    std::map<std::string, std::string> told = { { "parallelism", std::to_string(cores) } };
    if (scheduler == "Mullapudi2016") {
        told["last_level_cache_size"] = std::to_string(app.way->cache);
        told["balance"]               = "40";
    } else {
        told["random_dropout_seed"] = "1";
        if (!beam.empty())
            told["beam_size"] = beam;
    }
    pipeline.apply_autoscheduler(app.way->target, { scheduler, told });
#else
    if (!beam.empty())
        setenv("HL_BEAM_SIZE", beam.c_str(), 1);
    setenv("HL_SEED", "1", 1);
    pipeline.auto_schedule(scheduler, app.way->target, MachineParams(cores, static_cast<uint64_t>(app.way->cache), 40));
#endif
}

void schedule(Pipeline &pipeline, const Known &k, const App &app)
{
    if (std::string(app.call->variant) == "mullapudi") {
        schedule_by(pipeline, "Mullapudi2016", "libautoschedule_mullapudi2016.so", app, "");
        return;
    }
    std::istringstream reduced(k.adams);
    std::string        passes, beam;
    if (reduced >> passes >> beam)
        setenv("HL_NUM_PASSES", passes.c_str(), 1);
    setenv("HL_PERMIT_FAILED_UNROLL", "1", 1);
    schedule_by(pipeline, "Adams2019", "libautoschedule_adams2019.so", app, beam);
}

void shell(const std::string &command)
{
    if (system(command.c_str()))
        peer_fail("failed: %s", command.c_str());
}

/* Compiles `app` to STEM.so; STEM.txt gets the time and the names of the arguments. */
void compile_library(const Known &k, App &app, const std::string &stem)
{
    const double start  = peer_now();
    Func         result = k.define(app);
    for (size_t d = 0; d < app.out_sizes.size(); d++)
        result.set_estimate(result.args()[d], app.out_mins[d], app.out_sizes[d]);
    Pipeline pipeline(result);
    schedule(pipeline, k, app);
    const std::vector<Argument> args       = pipeline.infer_arguments();
    const std::string           unfinished = stem + "." + std::to_string(getpid());
    pipeline.compile_to_object(unfinished + ".o", args, "peer_app", app.way->target.with_feature(Target::NoRuntime));
    const double ms = 1e3 * (peer_now() - start);

    std::ofstream about(unfinished + ".txt");
    about << ms << "\n";
    for (const Argument &a : args)
        about << a.name << "\n";
    about.close();
    compile_standalone_runtime(unfinished + ".runtime.o", app.way->target.without_feature(Target::JIT));
    shell("cc -shared -o '" + unfinished + ".so' '" + unfinished + ".o' '" + unfinished +
          ".runtime.o' -lpthread -ldl -lm");
    shell("rm '" + unfinished + ".o' '" + unfinished + ".runtime.o'; mv '" + unfinished + ".txt' '" + stem +
          ".txt'; mv '" + unfinished + ".so' '" + stem + ".so'");
}

std::string complaint; /* of the code that runs: its runtime knows no other way to tell */

void complain(void *, const char *text)
{
    complaint = text;
}

struct LibraryProgram : Program {
    std::unique_ptr<App> app;
    std::vector<void *>  args;
    int (*entry)(void **) = nullptr;
    void run() override
    {
        if (entry(args.data()))
            throw std::runtime_error(complaint);
    }
};

std::unique_ptr<Program> library(const Known &k, std::unique_ptr<App> app)
{
    const std::string stem = kept(*app->call) + "-" + app->way->name;
    if (access((stem + ".so").c_str(), R_OK)) {
        App fresh(app->call, app->inputs, app->way, false);
        compile_library(k, fresh, stem);
    }
    auto          p = std::make_unique<LibraryProgram>();
    std::ifstream about(stem + ".txt");
    about >> p->compile_ms;
    k.define(*app); /* for its arguments */
    for (std::string name; about >> name;)
        p->args.push_back(app->values.at(name));
    p->args.push_back(app->out.raw_buffer());
    void *so = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!so)
        throw std::runtime_error(dlerror());
    p->entry         = reinterpret_cast<int (*)(void **)>(dlsym(so, "peer_app_argv"));
    auto set_threads = reinterpret_cast<int (*)(int)>(dlsym(so, "halide_set_num_threads"));
    auto set_handler =
        reinterpret_cast<void *(*)(void (*)(void *, const char *))>(dlsym(so, "halide_set_error_handler"));
    if (!p->entry || !set_threads || !set_handler)
        throw std::runtime_error("the kept library is not complete");
    set_threads(app->call->threads);
    set_handler(complain);
    p->app = std::move(app);
    return p;
}

/* ---- the ways ---- */

/* This machine without AVX-512. */
Target narrow(Target t)
{
    for (Target::Feature f : { Target::AVX512, Target::AVX512_KNL, Target::AVX512_Skylake, Target::AVX512_Cannonlake,
                               Target::AVX512_SapphireRapids })
        t.set_feature(f, false);
    return t;
}

std::vector<Way> ways(const std::string &variant)
{
    const Target     host   = get_host_target();
    const long       level2 = sysconf(_SC_LEVEL2_CACHE_SIZE) > 0 ? sysconf(_SC_LEVEL2_CACHE_SIZE) : 1 << 20;
    std::vector<Way> all;
    const auto       add = [&](const Target &t, const std::string &name) {
        if (variant == "manual") {
            if (t.has_feature(Target::AVX512))
                all.push_back({ t, 64, 0, name + "-64-byte" });
            all.push_back({ t, 32, 0, name + "-32-byte" });
        } else if (variant == "mullapudi") {
            all.push_back({ t, 0, DEFAULT_CACHE, name + "-cache-default" });
            all.push_back({ t, 0, SMALL_CACHE, name + "-cache-512K" });
            if (level2 != SMALL_CACHE)
                all.push_back({ t, 0, level2, name + "-cache-level2" });
        } else {
            all.push_back({ t, 0, DEFAULT_CACHE, name });
        }
    };
    if (host.has_feature(Target::AVX512))
        add(host, "avx512");
    add(narrow(host), host.has_feature(Target::AVX2) ? "avx2" : "host");
    return all;
}

/* The fastest of some runs, in ms. */
double quick_time(Program &p)
{
    p.run();
    double least = 1e30;
    int    runs  = 0;
    for (const double end = peer_now() + 0.4; runs < 3 || peer_now() < end; runs++) {
        const double start = peer_now();
        p.run();
        least = std::min(least, 1e3 * (peer_now() - start));
    }
    return least;
}

class Peer
{
  public:
    Peer(PeerCall *of, const Known &app) : call(of), k(app), all(ways(of->variant)) {}

    /* The program of the fastest way: the one kept from an earlier call, else as measured now. */
    void prepare()
    {
        read_inputs();
        if (peer_number(call, "compile-only", 0) != 0) { /* so that what takes long is there when times count */
            for (const Way &w : all)
                attempt(w);
            exit(0);
        }
        const std::string file = kept(*call) + "-" + std::to_string(call->threads) + ".way";
        std::string       chosen;
        std::ifstream(file) >> chosen;
        const Way *best = named(getenv("PEER_WAY") ? getenv("PEER_WAY") : chosen);
        if (!best) {
            best = fastest();
            std::ofstream(file) << best->name << "\n";
        }
        program = attempt(*best);
        if (!program)
            peer_fail("%s %s: %s", call->app, call->variant, reason.c_str());
        call->compile_ms = program->compile_ms;
        snprintf(call->note, sizeof call->note, "%s", best->name.c_str());
    }

    void run()
    {
        try {
            program->run();
        } catch (const std::exception &e) {
            peer_fail("%s %s: %s", call->app, call->variant, e.what());
        }
    }

  private:
    PeerCall                *call;
    const Known             &k;
    const std::vector<Way>   all;
    Inputs                   inputs;
    std::unique_ptr<Program> program;
    std::string              reason;

    /* Reads the inputs, allocates the output, and has Halide compile something: what it makes ready then is not the
     * app's. */
    void read_inputs()
    {
        App app(call, &inputs, &all[0], false);
        k.define(app);
        Func one("one");
        one() = 1;
        one.compile_jit(all[0].target);
    }

    const Way *named(const std::string &name) const
    {
        for (const Way &w : all)
            if (w.name == name)
                return &w;
        return nullptr;
    }

    std::unique_ptr<Program> attempt(const Way &w)
    {
        try {
            const bool manual = !strcmp(call->variant, "manual");
            auto       app    = std::make_unique<App>(call, &inputs, &w, manual);
            return manual ? jit(k, std::move(app)) : library(k, std::move(app));
        } catch (const std::exception &e) {
            reason = e.what();
            return nullptr;
        }
    }

    const Way *fastest()
    {
        const Way *best  = nullptr;
        double     least = 1e30;
        for (const Way &w : all) {
            try {
                auto         p  = attempt(w);
                const double ms = p ? quick_time(*p) : 1e30;
                if (ms < least)
                    least = ms, best = &w;
            } catch (const std::exception &e) {
                reason = e.what();
            }
        }
        if (!best)
            peer_fail("%s %s: %s", call->app, call->variant, reason.c_str());
        return best;
    }
};

void run(PeerCall *call)
{
    static_cast<Peer *>(call->state)->run();
}

void setup(PeerCall *call)
{
    setenv("HL_NUM_THREADS", std::to_string(call->threads).c_str(), 1);
    for (const Known &k : known)
        if (!strcmp(k.name, call->app)) {
            Peer *peer = new Peer(call, k);
            try {
                peer->prepare();
            } catch (const std::exception &e) {
                peer_fail("%s %s: %s", call->app, call->variant, e.what());
            }
            call->state = peer;
            call->run   = run;
        }
}

} // namespace

#define ROW(name, adams) { #name, "manual", setup }, { #name, "mullapudi", setup }, { #name, "adams", setup },
extern "C" const PeerEntry peer_entries[] = {
    HALIDE_APPS(ROW){ nullptr, nullptr, nullptr },
};
