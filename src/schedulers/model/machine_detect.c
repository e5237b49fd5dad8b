/* SPDX-License-Identifier: MIT */
/* What the system says of this machine, and how much of it a core can count on.
 *
 * Takes   the files of Linux below a folder: sys/devices/system/cpu/cpu0/cache/index0, index1 … are the caches of a
 *         CPU, proc/cpuinfo tells whether this is a virtual machine. Without them sysconf, else the usual caches.
 * Gives   cores, vectors, caches, and the part of the L3 that counts for each core. */
#include "schedulers/model/machine.h"

#if defined __x86_64__ || defined __i386__
#include <cpuid.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/cpus.h"

enum { LEAST_L3_SHARE = 64 << 10 /* bytes: of a few hundred CPUs not all are busy */ };

/* ---- What the system says ---------------------------------------------------------------- */

/* The first line of a file below `root`, without the newline. */
static bool read_file_line(const char *root, const char *file, char *line, int size)
{
    char path[512];
    if (snprintf(path, sizeof path, "%s/%s", root, file) >= (int)sizeof path)
        return false;
    FILE      *f    = fopen(path, "r");
    const bool read = f && fgets(line, size, f);
    if (f)
        fclose(f);
    if (read)
        line[strcspn(line, "\n")] = 0;
    return read;
}

/* The same of a file of one cache of CPU 0. */
static bool read_line(const char *root, int index, const char *file, char *line, int size)
{
    char path[96];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu0/cache/index%d/%s", index, file);
    return read_file_line(root, path, line, size);
}

/* How many CPUs a list like 0-3,8,10-11 names; 0 if it is malformed. */
static int count_cpus(const char *list)
{
    int count = 0;
    for (char *end; *list; list = *end == ',' ? end + 1 : end) {
        const long from = strtol(list, &end, 10);
        if (end == list)
            return 0;
        long to = from;
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        if (to < from || to - from > 1 << 20 || (*end && *end != ','))
            return 0;
        count += (int)(to - from + 1);
    }
    return count;
}

static void read_cache(const char *root, Machine *m, int index, int *l3_cpus)
{
    char      level[16], type[32], size[32], line[16], shared[4096] = "";
    const int most = m->cores;
    if (!read_line(root, index, "level", level, sizeof level) || !read_line(root, index, "type", type, sizeof type) ||
        !read_line(root, index, "size", size, sizeof size))
        return;
    char         *unit;
    const int64_t number = strtoll(size, &unit, 10), bytes = *unit == 'K'   ? number << 10
                                                             : *unit == 'M' ? number << 20
                                                                            : number;
    if (!strcmp(type, "Instruction") || bytes < 1 || bytes > (int64_t)1 << 40)
        return;
    read_line(root, index, "shared_cpu_list", shared, sizeof shared);
    const int cpus    = count_cpus(shared);
    const int sharing = cpus < 1 ? 1 : cpus > most ? most : cpus;
    switch (atoi(level)) {
    case 1: m->l1 = bytes; break;
    case 2: m->l2 = bytes, m->l2_shared = sharing; break;
    case 3: m->l3 = bytes, m->l3_shared = sharing, *l3_cpus = cpus; break;
    default: break;
    }
    if (read_line(root, index, "coherency_line_size", line, sizeof line) && atoi(line) > 0)
        m->line = atoi(line);
}

static bool caches_by_files(const char *root, Machine *m, int *l3_cpus)
{
    enum { MOST = 16 };
    char line[16];
    m->l3 = 0;
    for (int i = 0; i < MOST; i++)
        read_cache(root, m, i, l3_cpus);
    return read_line(root, 0, "size", line, sizeof line);
}

#ifdef _SC_LEVEL1_DCACHE_SIZE
static int64_t configured(int name, int64_t otherwise)
{
    const long value = sysconf(name);
    return value > 0 ? value : otherwise;
}

static void caches_by_sysconf(Machine *m)
{
    m->l1   = configured(_SC_LEVEL1_DCACHE_SIZE, m->l1);
    m->l2   = configured(_SC_LEVEL2_CACHE_SIZE, m->l2);
    m->l3   = configured(_SC_LEVEL3_CACHE_SIZE, m->l3);
    m->line = configured(_SC_LEVEL1_DCACHE_LINESIZE, m->line);
}
#else
static void caches_by_sysconf(Machine *m)
{
    (void)m;
}
#endif

static int host_vector_bits(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bw") ? 512 : __builtin_cpu_supports("avx2") ? 256 : 128;
#else
    return 128;
#endif
}

/* AMD's family 19h has vectors of 512 bits from Zen 4 on, which computes them in two halves. With both halves counted,
 * `auto` on two threads of a Zen 4: harris_polymage 11.1 ms to 6.9, lens_blur 9.9 to 6.5, local_laplacian 43.9 to 37.2.
 */
static int host_datapath(int vector_bits)
{
#if defined __x86_64__ || defined __i386__
    enum { ZEN_3_AND_4 = 0x19 };
    unsigned eax, ebx, ecx, edx;
    if (vector_bits < 512 || !__builtin_cpu_is("amd") || !__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return 0;
    const unsigned family = (eax >> 8 & 15) + (eax >> 20 & 255);
    return family == ZEN_3_AND_4 ? 256 : 0;
#else
    (void)vector_bits;
    return 0;
#endif
}

/* ---- What a core can count on ------------------------------------------------------------ */

/* Firmware of virtual machines, for processors whose flags do not tell. */
static const char *const guest_vendors[] = { "QEMU", "Amazon EC2", "Google", "Alibaba Cloud", "Xen" };

static bool is_guest_flagged(const char *root)
{
    char  path[512], line[8192];
    bool  found = false;
    FILE *f     = snprintf(path, sizeof path, "%s/proc/cpuinfo", root) < (int)sizeof path ? fopen(path, "r") : NULL;
    while (f && !found && fgets(line, sizeof line, f))
        found = !strncmp(line, "flags", 5) && strstr(line, " hypervisor");
    if (f)
        fclose(f);
    return found;
}

/* Is this a virtual machine? */
static bool is_guest(const char *root)
{
    char line[128];
    if (is_guest_flagged(root) || read_file_line(root, "sys/hypervisor/type", line, sizeof line))
        return true;
    const bool known = read_file_line(root, "sys/class/dmi/id/sys_vendor", line, sizeof line);
    for (size_t i = 0; known && i < sizeof guest_vendors / sizeof *guest_vendors; i++)
        if (!strncmp(line, guest_vendors[i], strlen(guest_vendors[i])))
            return true;
    return false;
}

/* The bytes of an L3 that one CPU can count on,
 *
 *     l3 / (CPUs that share it),  in a virtual machine at most MACHINE_GUEST_L3.
 *
 * All CPUs that share it count, not just those that this process may use: the others run other programs. A virtual
 * machine is told the size of the whole L3 of its server, and only its own CPUs: 2 of 64 have the share of 2. */
static int64_t l3_share(const char *root, const Machine *m, int l3_cpus)
{
    const int64_t share = m->l3 / (l3_cpus > 1 ? l3_cpus : 1);
    const int64_t most  = is_guest(root) && share > MACHINE_GUEST_L3 ? MACHINE_GUEST_L3 : share;
    return most < LEAST_L3_SHARE ? LEAST_L3_SHARE : most;
}

Machine machine_detect_in(const char *root)
{
    Machine       m       = machine_usual();
    const Machine usual   = m;
    int           l3_cpus = 1;
    m.cores               = kn_rt_cpu_count();
    m.vector_bits         = host_vector_bits();
    m.datapath            = host_datapath(m.vector_bits);
    m.l3_shared           = m.cores;
    if (!caches_by_files(root, &m, &l3_cpus)) {
        m.l3    = usual.l3;
        l3_cpus = m.cores;
        caches_by_sysconf(&m);
    }
    m.l3_core    = m.l3 ? l3_share(root, &m, l3_cpus) : usual.l3_core;
    m.memory_all = m.memory_rate * (m.cores < 4 ? m.cores : 4);
    return m;
}

Machine machine_detect(void)
{
    return machine_detect_in("");
}
