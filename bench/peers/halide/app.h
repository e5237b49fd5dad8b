/* SPDX-License-Identifier: MIT */
/* What a Halide program of the benchmark is: one function that defines the algorithm and, where it is asked to, its
 * schedule by hand, for a CPU or for a GPU. It is called once for each way to compile it, so all it makes is made anew.
 */
#ifndef APP_H
#define APP_H

#include "Halide.h"
#include "../peer.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

using namespace Halide;

/* One way to compile an app. */
struct Way {
    Target      target;
    int         vector; /* bytes of the vectors a schedule by hand uses */
    long        cache;  /* what an auto-scheduler is told of the last-level cache */
    std::string name;   /* of a file: letters, digits, - and _ */
};

/* The inputs, read once for all ways. */
typedef std::map<std::string, PeerArray> Inputs;

class App
{
  public:
    App(PeerCall *of, Inputs *kept, const Way *how, bool by_hand, bool for_gpu = false)
        : call(of), inputs(kept), way(how), manual(by_hand && !for_gpu), gpu(by_hand && for_gpu)
    {
    }

    PeerCall *const call;
    Inputs *const   inputs;
    const Way      *way;
    const bool      manual; /* the app schedules itself for a CPU */
    const bool      gpu;    /* the app schedules itself for a GPU */

    /* The input `name`; `pad` more elements than the file has lie around it in x and y (an auto-scheduler may ask for
     * that). NAME=@640x480 on the command line is an input without values, for an app that is only compiled. */
    ImageParam input(const std::string &name, const char *type, int dims, int pad = 0);

    template <typename T> Param<T> param(const std::string &name, T otherwise)
    {
        Param<T> p(name);
        const T  value = static_cast<T>(number(name, otherwise));
        p.set(value);
        p.set_estimate(value);
        scalars.emplace_back();
        memcpy(scalars.back().data(), &value, sizeof value);
        values[name] = scalars.back().data();
        return p;
    }

    /* A number that is known when the app is compiled. */
    double number(const std::string &name, double otherwise) const
    {
        return peer_number(call, name.c_str(), otherwise);
    }

    /* The size of an input along a dimension. */
    int size(const std::string &name, int d) const { return inputs->at(name).size[d]; }

    /* Says what the result is and where it begins. */
    void output(const char *type, const std::vector<int> &sizes, const std::vector<int> &mins = {});

    /* Elements of T in a vector. */
    template <typename T> int lanes() const { return way->vector / static_cast<int>(sizeof(T)); }

    bool wide() const { return way->target.has_feature(Target::AVX512); }

    /* Everything a compiled app is called with, by the names of its arguments. */
    std::map<std::string, void *> values;
    std::vector<int>              out_mins, out_sizes;
    Buffer<>                      out;

  private:
    std::deque<std::array<char, 8>> scalars;
    std::deque<Buffer<>>            buffers;
};

/* The image `in`, its pixels at the border repeated in x and y. BoundaryConditions::repeat_edge does the same, but the
 * loops over its pixels are freed only of the upper end of the clamp and gather what lies within: here both ends are
 * marked as unlikely. */
Func repeated_edge(ImageParam in);

/* The apps, each in its file: its function, and the search of the Adams2019 auto-scheduler, "PASSES BEAM" or "" for its
 * default. */
#define HALIDE_APPS(ROW)                                                                                               \
    ROW(blur, "")                                                                                                      \
    ROW(unsharp, "")                                                                                                   \
    ROW(harris, "")                                                                                                    \
    ROW(bilateral_grid, "1 8")                                                                                         \
    ROW(camera_pipe, "")                                                                                               \
    ROW(interpolate, "1 8")                                                                                            \
    ROW(local_laplacian, "1 8")                                                                                        \
    ROW(lens_blur, "1 8")                                                                                              \
    ROW(nl_means, "1 4")                                                                                               \
    ROW(max_filter, "1 8")                                                                                             \
    ROW(stencil_chain, "")                                                                                             \
    ROW(iir_blur, "")                                                                                                  \
    ROW(hist, "")                                                                                                      \
    ROW(conv_layer, "")                                                                                                \
    ROW(mat_mul, "")

#define DECLARE(name, adams) Func name(App &app);
HALIDE_APPS(DECLARE)
#undef DECLARE

#endif
