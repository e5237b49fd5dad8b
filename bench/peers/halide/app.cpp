/* SPDX-License-Identifier: MIT */
/* Inputs, parameters and the output of a Halide app, as its arguments. */
#include "app.h"

namespace
{

halide_type_t type_of(const PeerArray &a)
{
    const halide_type_code_t code = a.kind == 'f'   ? halide_type_float
                                    : a.kind == 'u' ? halide_type_uint
                                                    : halide_type_int;
    return halide_type_t(code, static_cast<uint8_t>(8 * a.bytes));
}

Buffer<> buffer_over(const PeerArray &a, const std::vector<int> &mins)
{
    Buffer<> b(type_of(a), a.data, std::vector<int>(a.size, a.size + a.dims));
    b.set_min(mins);
    return b;
}

/* The input of NAME=@SIZES on the command line; false if it is not given so. */
bool sizes_alone(const PeerCall *call, const std::string &name, const char *type, int dims, PeerArray &a)
{
    for (int k = 0; k < call->argc; k++) {
        const std::string word = call->argv[k], begin = name + "=@";
        if (word.compare(0, begin.size(), begin))
            continue;
        a         = { type[0], atoi(type + 1) / 8, dims, { 1, 1, 1, 1 }, nullptr };
        size_t at = begin.size();
        for (int d = 0; d < dims; d++, at = word.find('x', at) + 1)
            a.size[d] = atoi(word.c_str() + at);
        return true;
    }
    return false;
}

/* `a` with `pad` more elements around it in the first two dimensions. */
PeerArray padded(const PeerArray &a, int pad)
{
    PeerArray p = a;
    p.size[0] += 2 * pad;
    p.size[1] += 2 * pad;
    p.data = peer_alloc(peer_count(&p) * static_cast<size_t>(p.bytes));
    memset(p.data, 0, peer_count(&p) * static_cast<size_t>(p.bytes));
    const size_t row = static_cast<size_t>(a.size[0] * a.bytes);
    for (int c = 0; c < a.size[2]; c++)
        for (int y = 0; y < a.size[1]; y++)
            memcpy(static_cast<char *>(p.data) +
                       ((static_cast<size_t>(c) * p.size[1] + y + pad) * p.size[0] + pad) * p.bytes,
                   static_cast<const char *>(a.data) + (static_cast<size_t>(c) * a.size[1] + y) * row, row);
    return p;
}

} // namespace

ImageParam App::input(const std::string &name, const char *type, int dims, int pad)
{
    if (!inputs->count(name) && !sizes_alone(call, name, type, dims, (*inputs)[name]))
        (*inputs)[name] = peer_input(call, name.c_str(), type, dims);
    const PeerArray &a = inputs->at(name);
    if (pad && !inputs->count(name + " padded"))
        (*inputs)[name + " padded"] = padded(a, pad);
    const PeerArray &given = pad ? inputs->at(name + " padded") : a;
    std::vector<int> mins(dims, 0);
    mins[0] = -pad;
    if (dims > 1)
        mins[1] = -pad;
    buffers.push_back(buffer_over(given, mins));
    ImageParam p(buffers.back().type(), dims, name);
    p.set(buffers.back());
    for (int d = 0; d < dims; d++) {
        p.dim(d).set_min(mins[d]);
        p.dim(d).set_estimate(mins[d], given.size[d]);
    }
    values[name] = buffers.back().raw_buffer();
    return p;
}

void App::output(const char *type, const std::vector<int> &sizes, const std::vector<int> &mins)
{
    out_sizes        = sizes;
    out_mins         = mins.empty() ? std::vector<int>(sizes.size(), 0) : mins;
    int s[PEER_DIMS] = { 1, 1, 1, 1 };
    std::copy(sizes.begin(), sizes.end(), s);
    if (!call->out.data)
        peer_output(call, type, static_cast<int>(sizes.size()), s[0], s[1], s[2], s[3]);
    out = buffer_over(call->out, out_mins);
}

Func repeated_edge(ImageParam in)
{
    const auto        within = [](Expr v, Expr extent) { return min(likely(max(likely(v), 0)), extent - 1); };
    std::vector<Var>  args(in.dimensions());
    std::vector<Expr> at(args.begin(), args.end());
    at[0] = within(args[0], in.width());
    at[1] = within(args[1], in.height());
    Func e(in.name() + "_repeated");
    e(args) = in(at);
    return e;
}
