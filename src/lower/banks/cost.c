/* SPDX-License-Identifier: MIT */
/* Bank conflicts, counted.
 *
 * Takes   the elements of shared memory that lanes of a warp access at once.
 * Gives   wavefronts: shared memory has 32 banks of 4 bytes, and gives a word of each at a time. Lanes that access one
 *         word share it. Accesses of 8 bytes are made for half a warp at a time, those of 16 for a quarter.
 * Holds   constants side by side are one access of up to 16 bytes where it is aligned in every lane, as the backend
 *         joins them. */
#include "lower/banks/banks.h"

enum { BANKS = 32, BANK_BYTES = 4 };
/* In wavefronts: a multiprocessor issues four instructions in the time of one. */
static const double instruction_cost = 0.25;

/* Of the lanes from `first` on that share a phase. */
static int phase_wavefronts(const int64_t *address, uint32_t active, int first, int lanes, int bytes)
{
    int64_t words[BANKS][GPU_WARP];
    int     count[BANKS] = { 0 }, most = 0;
    for (int l = first; l < first + lanes; l++) {
        const int64_t from = floor_quotient(address[l], BANK_BYTES),
                      to   = floor_quotient(address[l] + bytes - 1, BANK_BYTES);
        for (int64_t w = from; (active >> l & 1) && w <= to; w++) {
            const int bank = (int)(w - floor_quotient(w, BANKS) * BANKS);
            int       i    = 0;
            while (i < count[bank] && words[bank][i] != w)
                i++;
            if (i < count[bank] || i == GPU_WARP)
                continue;
            words[bank][i] = w;
            count[bank]++;
            most = count[bank] > most ? count[bank] : most;
        }
    }
    return most;
}

static int wavefronts(const int64_t *address, uint32_t active, int bytes)
{
    const int lanes = bytes <= BANK_BYTES ? GPU_WARP : GPU_WARP * BANK_BYTES / bytes;
    int       sum   = 0;
    for (int first = 0; first < GPU_WARP; first += lanes)
        sum += phase_wavefronts(address, active, first, lanes, bytes);
    return sum;
}

/* What an index with that constant is a multiple of, by its form: a power of two of at most `most`. The backend joins
 * accesses by the same rule. */
static int64_t multiple_of(const BankAccess *a, Padding p, int64_t index_constant, int64_t most)
{
    int64_t  quotients[MOST_ATOMS], constant = 0;
    uint64_t bits = (uint64_t)most;
    if (p.pad && !row_quotient(a, index_constant, p.row, quotients, &constant))
        return 1;
    for (int i = 0; i < a->form.count; i++)
        bits |= i == a->along ? 0 : (uint64_t)(a->form.coefficients[i] + (p.pad ? quotients[i] * p.pad : 0));
    bits |= (uint64_t)(index_constant + constant * p.pad);
    return (int64_t)(bits & (0 - bits));
}

/* Are `width` elements from the constant at `k` on one access? Those of a row have one quotient. */
static bool is_wide(const BankAccess *a, Padding p, size_t k, int width)
{
    const size_t  last  = k + (size_t)width - 1;
    const int64_t first = a->constants.at[k];
    int64_t       quotients[MOST_ATOMS], from = 0, to = 0;
    if (last >= a->constants.count || a->constants.at[last] != first + width - 1 ||
        multiple_of(a, p, first, width) < width)
        return false;
    return !p.pad || (row_quotient(a, first, p.row, quotients, &from) &&
                      row_quotient(a, first + width - 1, p.row, quotients, &to) && from == to);
}

static int width_at(const BankAccess *a, Padding p, size_t k)
{
    int width = MOST_ACCESS / (int)kn_type_size(a->buffer->type);
    while (width > 1 && !is_wide(a, p, k, width))
        width /= 2;
    return width;
}

bool bank_same_widths(const BankAccess *a, Padding p)
{
    for (size_t k = 0; k < a->constants.count;) {
        const int width = width_at(a, (Padding){ 0 }, k);
        if (width_at(a, p, k) != width)
            return false;
        k += (size_t)width;
    }
    return true;
}

/* With the wavefronts that there are, or those of as many bytes without a conflict. */
static double warp_cost(const BankAccess *a, Padding p, int warp, bool least)
{
    const int size = (int)kn_type_size(a->buffer->type), lanes = __builtin_popcount(a->active[warp]);
    double    sum = 0;
    for (size_t k = 0; k < a->constants.count;) {
        const int width = width_at(a, p, k);
        int64_t   address[GPU_WARP];
        const int all = (lanes * width * size + BANKS * BANK_BYTES - 1) / (BANKS * BANK_BYTES);
        for (int l = 0; l < GPU_WARP; l++)
            address[l] = size * padded(p, a->element[warp][l] + a->constants.at[k]);
        sum += instruction_cost + (least ? all : wavefronts(address, a->active[warp], width * size));
        k += (size_t)width;
    }
    return sum;
}

static double cost_of(const BankAccess *a, Padding p, bool least)
{
    double sum = 0;
    int    n   = 0;
    for (int w = 0; a->known && w < BANK_WARPS; w++)
        if (a->active[w]) {
            sum += warp_cost(a, p, w, least);
            n++;
        }
    return n ? sum / n * a->weight : 0;
}

double bank_cost(const BankAccess *a, Padding p)
{
    return cost_of(a, p, false);
}

double bank_cost_least(const BankAccess *a)
{
    return cost_of(a, (Padding){ 0 }, true);
}

bool row_quotient(const BankAccess *a, int64_t index_constant, int64_t row, int64_t *quotients, int64_t *constant)
{
    int64_t low = 0, high = 0;
    if (a->form.count > MOST_ATOMS)
        return false;
    for (int i = 0; i < a->form.count; i++) {
        const int64_t c    = a->form.coefficients[i];
        quotients[i]       = c / row;
        const int64_t rest = c - quotients[i] * row, from = rest * a->low[i], to = rest * a->high[i];
        low += from < to ? from : to;
        high += from < to ? to : from;
    }
    *constant = floor_quotient(index_constant + low, row);
    return index_constant + high - *constant * row < row;
}
