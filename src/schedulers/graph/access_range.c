/* SPDX-License-Identifier: MIT */
/* Access ranges: intervals of one dimension as a function of one coordinate.
 *
 * Takes   floor((num*v + lo..hi) / den), clamped, for coordinates v in a box.
 * Gives   sums, multiples, quotients and hulls of such, in the same form.
 * Holds   The result encloses the exact answer for every part of the root box, and is `exact` where it is that answer.
 *         Quotients are exact because floor(floor(a / b) / c) = floor(a / (b*c)); so are sums with integers. What the
 *         form cannot express is widened: by the variation over the root box, or at last to the interval of all values
 *         there. A clamp moves values outside towards it, so it cannot be dropped. It can be replaced by larger
 *         offsets on the other side (`absorb`). */
#include "schedulers/graph/access_range.h"

#include "analysis/interval.h"

/* Larger numbers become a plain interval, so that nothing here overflows. */
static const int64_t most_factor = (int64_t)1 << 20, most_offset = (int64_t)1 << 52;

static int64_t floor_div(int64_t a, int64_t b)
{
    return b == 1 ? a : a / b - (a % b < 0);
} /* most divisors are 1, and this is the innermost question */
static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
/* A product or sum of offsets, saturated. */
static int64_t capped(Wide v)
{
    return (int64_t)wide_max(wide_min(v, (Wide)1 << 60), -((Wide)1 << 60));
}
static int64_t clamped(int64_t v, int64_t least, int64_t most)
{
    return lesser(larger(v, least), most);
}

AccessRange access_range_numbers(int64_t lo, int64_t hi, bool exact)
{
    return (AccessRange){ .var = -1, .den = 1, .lo = lo, .hi = hi, .least = no_least, .most = no_most, .exact = exact };
}

AccessRange access_range_coordinate(int dim)
{
    return (AccessRange){ .var = dim, .num = 1, .den = 1, .least = no_least, .most = no_most, .exact = true };
}

/* The ends before clamping: of the lower or the upper offset, at its smallest or its largest. */
static int64_t end_of(const AccessRange *r, const Box *box, bool upper, bool largest)
{
    const int64_t offset = upper ? r->hi : r->lo;
    if (r->var < 0)
        return floor_div(offset, r->den);
    const int64_t v = (r->num > 0) == largest ? box->max[r->var] : box->min[r->var];
    return floor_div(r->num * v + offset, r->den);
}

void access_range_span(const AccessRange *r, const Box *reader, int64_t *lo, int64_t *hi)
{
    *lo = clamped(end_of(r, reader, false, false), r->least, r->most);
    *hi = clamped(end_of(r, reader, true, true), r->least, r->most);
}

/* The interval of all its values. */
static AccessRange to_numbers(const AccessRange *r, const Box *root)
{
    int64_t lo, hi;
    access_range_span(r, root, &lo, &hi);
    return access_range_numbers(lo, hi, r->exact && r->var < 0);
}

static bool fits(const AccessRange *r)
{
    const bool factors = r->num >= -most_factor && r->num <= most_factor && r->den <= most_factor;
    return factors && r->lo >= -most_offset && r->hi <= most_offset;
}

/* floor((g*n*v + c) / (g*d)) = floor((n*v + floor(c/g)) / d) */
static AccessRange reduced(AccessRange r)
{
    int64_t a = r.num < 0 ? -r.num : r.num, g = r.den;
    while (a) {
        const int64_t rest = g % a;
        g                  = a;
        a                  = rest;
    }
    r.num /= g;
    r.den /= g;
    r.lo = floor_div(r.lo, g);
    r.hi = floor_div(r.hi, g);
    return r;
}

/* Without its clamps: a larger upper offset covers what they move up, a smaller lower one what they move down. */
static AccessRange absorb(AccessRange r, const Box *root)
{
    if (!access_is_clamped(&r))
        return r;
    const int64_t below = end_of(&r, root, true, false), above = end_of(&r, root, false, true);
    if (r.least != no_least && below < r.least)
        r.hi = capped(r.hi + (Wide)(r.least - below) * r.den);
    if (r.most != no_most && above > r.most)
        r.lo = capped(r.lo - (Wide)(above - r.most) * r.den);
    r.least = no_least;
    r.most  = no_most;
    r.exact = false;
    return r;
}

/* ---- Sums and products ------------------------------------------------------------------ */

static int64_t moved(int64_t bound, int64_t by)
{
    return bound == no_least || bound == no_most ? bound : bound + by;
}

/* a + lo..hi */
static AccessRange add_numbers(const AccessRange *a, const AccessRange *numbers, const Box *root)
{
    const int64_t lo = numbers->lo, hi = numbers->hi;
    AccessRange   r = lo == hi ? *a : absorb(*a, root);
    r.lo            = capped(r.lo + (Wide)lo * r.den);
    r.hi            = capped(r.hi + (Wide)hi * r.den);
    r.least         = moved(r.least, lo);
    r.most          = moved(r.most, lo);
    r.exact         = r.exact && numbers->exact;
    return r;
}

/* floor(A/a) + floor(B/b) is floor((A*b + B*a) / (a*b)) if a or b is 1, else that or one less. */
static AccessRange add_same(const AccessRange *a, const AccessRange *b, const Box *root)
{
    const AccessRange p = absorb(*a, root), q = absorb(*b, root);
    const bool        whole = p.den == 1 || q.den == 1;
    AccessRange       r     = access_range_coordinate(p.var);
    r.num                   = p.num * q.den + q.num * p.den;
    r.den                   = p.den * q.den;
    r.lo                    = capped((Wide)p.lo * q.den + (Wide)q.lo * p.den - (whole ? 0 : r.den));
    r.hi                    = capped((Wide)p.hi * q.den + (Wide)q.hi * p.den);
    r.exact                 = p.exact && q.exact && whole;
    return reduced(r);
}

/* How many values it has over the root box. */
static int64_t range_of(const AccessRange *r, const Box *root)
{
    return r->var < 0 ? 0 : end_of(r, root, false, true) - end_of(r, root, false, false);
}

AccessRange access_range_add(const AccessRange *a, const AccessRange *b, const Box *root)
{
    AccessRange r;
    if (a->var >= 0 && a->var == b->var && (a->num > 0) == (b->num > 0) && a->den <= most_factor / b->den) {
        r = add_same(a, b, root);
    } else {
        const bool        keep_a = range_of(a, root) >= range_of(b, root);
        const AccessRange other  = to_numbers(keep_a ? b : a, root);
        r                        = add_numbers(keep_a ? a : b, &other, root);
    }
    if (fits(&r))
        return r;
    const AccessRange p = to_numbers(a, root), q = to_numbers(b, root);
    return add_numbers(&p, &q, root);
}

static int64_t multiple(int64_t bound, int64_t factor)
{
    return bound == no_least || bound == no_most ? bound : bound * factor;
}

/* -floor(A/d) = floor((-A + d-1) / d) */
static AccessRange negated(const AccessRange *a)
{
    AccessRange r = *a;
    r.num         = -a->num;
    r.lo          = -a->hi + a->den - 1;
    r.hi          = -a->lo + a->den - 1;
    r.least       = a->most == no_most ? no_least : -a->most;
    r.most        = a->least == no_least ? no_most : -a->least;
    return r;
}

/* k*floor(A/d) lies between floor(k*(A - d + 1) / d) and floor(k*A / d), which are the same for d = 1. */
AccessRange access_range_scale(const AccessRange *a, int64_t factor, const Box *root)
{
    if (factor == 0)
        return access_range_numbers(0, 0, true);
    AccessRange   r = factor < 0 ? negated(a) : *a;
    const int64_t k = factor < 0 ? -factor : factor;
    if (k == 1)
        return r;
    const bool fits_num    = k <= most_factor && r.num <= most_factor / k && r.num >= -most_factor / k;
    const bool fits_offset = r.hi <= most_offset / k && r.lo >= -most_offset / k;
    if (!fits_num || !fits_offset) {
        r = to_numbers(&r, root);
        return access_range_numbers((int64_t)wide_max((Wide)r.lo * k, -most_offset),
                                    (int64_t)wide_min((Wide)r.hi * k, most_offset), r.exact);
    }
    r.exact = r.exact && r.den == 1;
    r.num *= k;
    r.lo    = k * (r.lo - (r.den - 1));
    r.hi    = k * r.hi;
    r.least = multiple(r.least, k);
    r.most  = multiple(r.most, k);
    return reduced(r);
}

static int64_t quotient(int64_t bound, int64_t by)
{
    return bound == no_least || bound == no_most ? bound : floor_div(bound, by);
}

AccessRange access_range_divide(const AccessRange *a, int64_t by, const Box *root)
{
    AccessRange r = by > most_factor / a->den ? to_numbers(a, root) : *a;
    if (r.var < 0)
        return access_range_numbers(floor_div(r.lo, by), floor_div(r.hi, by), r.exact);
    r.den *= by;
    r.least = quotient(r.least, by);
    r.most  = quotient(r.most, by);
    return reduced(r);
}

AccessRange access_range_clamp(const AccessRange *a, int64_t least, int64_t most)
{
    AccessRange r = *a;
    if (r.var < 0)
        return access_range_numbers(clamped(r.lo, least, most), clamped(r.hi, least, most), r.exact);
    r.least = clamped(r.least, least, most);
    r.most  = clamped(r.most, least, most);
    return r;
}

AccessRange access_range_clip(const AccessRange *a, int64_t lo, int64_t hi, const Box *root)
{
    int64_t from, to;
    access_range_span(a, root, &from, &to);
    AccessRange r = access_range_clamp(a, lo, hi);
    r.exact       = a->exact && from >= lo && to <= hi;
    if (r.var < 0)
        return r;
    if (end_of(&r, root, false, false) >= r.least)
        r.least = no_least;
    if (end_of(&r, root, true, true) <= r.most)
        r.most = no_most;
    return r;
}

/* ---- Hulls ------------------------------------------------------------------------------ */

/* May both have the lower, or the upper, clamp of the first? Yes if they share it, or if it would not change the
 * second. */
static bool shares_least(const AccessRange *a, const AccessRange *b, const Box *root)
{
    return a->least == b->least || (b->least == no_least && end_of(b, root, false, false) >= a->least);
}

static bool shares_most(const AccessRange *a, const AccessRange *b, const Box *root)
{
    return a->most == b->most || (b->most == no_most && end_of(b, root, true, true) <= a->most);
}

/* Two of the same slope. */
static AccessRange hull_parallel(const AccessRange *a, const AccessRange *b, const Box *root)
{
    const bool        least_a = shares_least(a, b, root), most_a = shares_most(a, b, root);
    const bool        common = (least_a || shares_least(b, a, root)) && (most_a || shares_most(b, a, root));
    const int64_t     least = least_a ? a->least : b->least, most = most_a ? a->most : b->most;
    const AccessRange p = common ? *a : absorb(*a, root), q = common ? *b : absorb(*b, root);
    AccessRange       r = p;
    r.lo                = lesser(p.lo, q.lo);
    r.hi                = larger(p.hi, q.hi);
    r.least             = common ? least : no_least;
    r.most              = common ? most : no_most;
    r.exact             = p.exact && q.exact;
    return r;
}

/* `b` with the slope of `a`: the offsets are those that suffice at both ends of the root box, and so between them,
 *
 *     (num*v + lo) / den <= (b.num*v + b.lo - b.den + 1) / b.den,     (num*v + hi - den + 1) / den >= (b.num*v + b.hi)
 *     / b.den. */
static AccessRange with_slope(const AccessRange *a, const AccessRange *b, const Box *root)
{
    const AccessRange q    = absorb(*b, root);
    const int64_t     v[2] = { root->min[q.var], root->max[q.var] };
    Wide              lo[2], hi[2];
    for (int i = 0; i < 2; i++) {
        lo[i] = wide_floor_div((Wide)a->den * (q.num * v[i] + q.lo - q.den + 1), q.den) - (Wide)a->num * v[i];
        hi[i] = -wide_floor_div(-(Wide)a->den * (q.num * v[i] + q.hi), q.den) - (Wide)a->num * v[i] + a->den - 1;
    }
    AccessRange r = *a;
    r.lo          = (int64_t)wide_max(wide_min(lo[0], lo[1]), -2 * (Wide)most_offset);
    r.hi          = (int64_t)wide_min(wide_max(hi[0], hi[1]), 2 * (Wide)most_offset);
    r.least       = no_least;
    r.most        = no_most;
    r.exact       = false;
    return r;
}

static bool is_steeper(const AccessRange *a, const AccessRange *b)
{
    const int64_t p = a->num < 0 ? -a->num : a->num, q = b->num < 0 ? -b->num : b->num;
    return p * b->den >= q * a->den;
}

AccessRange access_range_hull(const AccessRange *a, const AccessRange *b, const Box *root)
{
    const AccessRange all_a = to_numbers(a, root), all_b = to_numbers(b, root);
    AccessRange       all =
        access_range_numbers(lesser(all_a.lo, all_b.lo), larger(all_a.hi, all_b.hi), all_a.exact && all_b.exact);
    if (a->var != b->var || a->var < 0)
        return all;
    AccessRange r;
    if (a->num == b->num && a->den == b->den) {
        r = hull_parallel(a, b, root);
    } else {
        const AccessRange *steep = is_steeper(a, b) ? a : b, *flat = steep == a ? b : a;
        const AccessRange  p = absorb(*steep, root), q = with_slope(steep, flat, root);
        r = hull_parallel(&p, &q, root);
    }
    const bool exact = r.exact;
    r                = access_range_clip(&r, all.lo, all.hi, root);
    r.exact          = exact;
    return fits(&r) ? r : all;
}
