#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints src/ir/math_tables.h: for each row below the polynomial p with the least max |w(x) (f(x) - p(x))|, found by
Remez' exchange in 60 digits, its coefficients then rounded to the type. Needs mpmath. A row: name, f, w, and per
mantissa the interval and the number of coefficients."""
from mpmath import mp, mpf, matrix, lu_solve, exp, log, sin, cos, atan, tanh, erf, erfc, sqrt, pi, fabs

mp.dps = 60


def near_zero(f, terms=8):
    """f, with an interpolating polynomial where its formula cancels."""
    at = [mpf(i + 1) / 10 ** 6 for i in range(terms)]
    series = lu_solve(matrix([[x ** j for j in range(terms)] for x in at]), matrix([f(x) for x in at]))
    return lambda x: f(x) if fabs(x) > mpf(10) ** -12 else value(series, x)


def value(c, x):
    return sum(k * x ** j for j, k in enumerate(c))


def exp_rest(r):    return (exp(r) - 1 - r) / r ** 2
def log_rest(z):    s = sqrt(z); return ((log((1 + s) / (1 - s)) / s - 2) / z - mpf(2) / 3) / z
def sin_rest(z):    r = sqrt(z); return (sin(r) / r - 1) / z
def cos_rest(z):    return (cos(sqrt(z)) - 1 + z / 2) / z ** 2
def atan_rest(z):   a = sqrt(z); return (atan(a) / a - 1) / z
def tanh_rest(z):   a = sqrt(z); return (tanh(a) / a - 1) / z
def erf_rest(z):    x = sqrt(z); return erf(x) / x - 1
def erfc_log(t):    return log(erfc(t + 1))


quarter = (pi / 4 * mpf('1.02')) ** 2
most_s = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2 * mpf('1.001')
half_ln2 = log(2) / 2 * mpf('1.01')

ROWS = [
    ("exp_rest", near_zero(exp_rest), lambda r: r * r, {24: (-half_ln2, half_ln2, 5), 53: (-half_ln2, half_ln2, 11)}),
    ("log_rest", near_zero(log_rest), lambda z: 1, {24: (0, most_s, 3), 53: (0, most_s, 8)}),
    ("sin_rest", near_zero(sin_rest), lambda z: z, {24: (0, quarter, 3), 53: (0, quarter, 6)}),
    ("cos_rest", near_zero(cos_rest), lambda z: z * z, {24: (0, quarter, 3), 53: (0, quarter, 6)}),
    ("atan_rest", near_zero(atan_rest), lambda z: z, {24: (0, 1, 8), 53: (0, 1, 20)}),
    ("tanh_rest", near_zero(tanh_rest), lambda z: z, {24: (0, mpf('0.3026'), 5), 53: (0, mpf('0.3026'), 10)}),
    ("erf_rest", near_zero(erf_rest), lambda z: 1, {24: (0, 1, 7), 53: (0, 1, 12)}),
    ("erfc_log", erfc_log, lambda t: erfc(t + 1), {24: (0, 3, 7), 53: (0, 5, 19)}),
]


def remez(f, w, lo, hi, count):
    """count coefficients; the error is equal and alternating at count + 1 points."""
    lo, hi = mpf(lo), mpf(hi)
    n = count + 1
    points = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * i / (24 * n)) for i in range(24 * n + 1)]
    known = [(x, f(x), w(x)) for x in grid]
    for _ in range(12):
        m, b = matrix(n, n), matrix(n, 1)
        for i, x in enumerate(points):
            for j in range(count):
                m[i, j] = x ** j * w(x)
            m[i, count] = (-1) ** i
            b[i] = f(x) * w(x)
        s = lu_solve(m, b)
        c, level = [s[j] for j in range(count)], fabs(s[count])
        errors = [(x, wv * (fv - value(c, x))) for x, fv, wv in known]
        extremes = []
        for x, e in errors:             # the largest of each run of one sign
            if extremes and (extremes[-1][1] > 0) == (e > 0):
                if fabs(e) > fabs(extremes[-1][1]):
                    extremes[-1] = (x, e)
            else:
                extremes.append((x, e))
        while len(extremes) > n:
            extremes.pop(0 if fabs(extremes[0][1]) < fabs(extremes[-1][1]) else -1)
        worst = max(fabs(e) for _, e in errors)
        if len(extremes) < n or worst < level * mpf('1.01'):
            break
        points = [x for x, _ in extremes]
    return c, worst


def rounded(c, bits):
    with mp.workprec(bits):
        return float(+c)


def print_table(name, bits, worst, c):
    print(f"/* error 2^{float(log(worst, 2)):.1f} */\nstatic const double {name}_f{32 if bits == 24 else 64}[] = {{")
    for i in range(0, len(c), 4):
        print("    " + ", ".join(k.hex().replace("0000000p", "p") for k in c[i:i + 4]) + ",")
    print("};")


if __name__ == "__main__":
    print("/* Polynomials for math.c, lowest power first; made by scripts/minimax.py, which says of what. */")
    for name, f, w, kinds in ROWS:
        for bits, (lo, hi, count) in kinds.items():
            c, _ = remez(f, w, lo, hi, count)
            c = [rounded(k, bits) for k in c]
            grid = [mpf(lo) + (mpf(hi) - mpf(lo)) * i / 300 for i in range(301)]
            print_table(name, bits, max(fabs(w(x) * (f(x) - value(c, x))) for x in grid), c)
