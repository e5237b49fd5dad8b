/* SPDX-License-Identifier: MIT */
/* What is detected of machines whose files of Linux are imitated in a folder: caches, the part of the L3 that a core
 * counts on, and GPUs. */
#include "check.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schedulers/model/machine.h"

enum { KIB = 1 << 10, CACHES = 4, PATH = 256 };

typedef struct Cache {
    const char *level, *type, *size, *shared;
} Cache;

typedef struct System {
    const char *name;
    Cache       caches[CACHES];
    const char *flags, *hypervisor, *vendor; /* of proc/cpuinfo, sys/hypervisor/type, sys/class/dmi/id/sys_vendor */
    int64_t     l1, l2, l3, l3_core;         /* expected, KiB */
} System;

#define DATA(size)                                                                                                     \
    {                                                                                                                  \
        "1", "Data", size, "0"                                                                                         \
    }
#define CODE(size)                                                                                                     \
    {                                                                                                                  \
        "1", "Instruction", size, "0"                                                                                  \
    }
#define PLAIN "fpu vme avx2"
#define GUEST "fpu vme hypervisor avx2"
/* clang-format off */
static const System systems[] = {
    { "2 of the 64 CPUs of an EPYC 7763",
      { DATA("32K"), CODE("32K"), { "2", "Unified", "512K", "0" }, { "3", "Unified", "32768K", "0-1" } },
      GUEST, NULL, "QEMU", 32, 512, 32768, 4096 },
    { "2 CPUs that are told the 260 MiB of a Xeon",
      { DATA("48K"), CODE("32K"), { "2", "Unified", "2048K", "0" }, { "3", "Unified", "266240K", "0-1" } },
      GUEST, NULL, NULL, 48, 2048, 266240, 4096 },
    { "all 96 CPUs of a server's part, as a guest",
      { DATA("48K"), CODE("32K"), { "2", "Unified", "2048K", "0,48" }, { "3", "Unified", "107520K", "0-95" } },
      GUEST, NULL, NULL, 48, 2048, 107520, 1120 },
    { "a Ryzen 5800X without SMT",
      { DATA("32K"), CODE("32K"), { "2", "Unified", "512K", "0" }, { "3", "Unified", "32768K", "0-7" } },
      PLAIN, NULL, "ASUS", 32, 512, 32768, 4096 },
    { "the same with SMT: a CPU is a thread",
      { DATA("32K"), CODE("32K"), { "2", "Unified", "512K", "0,8" }, { "3", "Unified", "32768K", "0-15" } },
      PLAIN, NULL, NULL, 32, 512, 32768, 2048 },
    { "a stacked cache, which no other guest fills",
      { DATA("32K"), CODE("32K"), { "2", "Unified", "512K", "0" }, { "3", "Unified", "98304K", "0-7" } },
      PLAIN, NULL, NULL, 32, 512, 98304, 12288 },
    { "2 CPUs of a Graviton, which has no flags",
      { DATA("64K"), CODE("64K"), { "2", "Unified", "1024K", "0" }, { "3", "Unified", "32M", "0-1" } },
      NULL, NULL, "Amazon EC2", 64, 1024, 32768, 4096 },
    { "a guest of Xen",
      { DATA("32K"), CODE("32K"), { "2", "Unified", "1M", "0" }, { "3", "Unified", "32M", "0" } },
      PLAIN, "xen", NULL, 32, 1024, 32768, 4096 },
    { "no third cache",
      { DATA("32K"), CODE("32K"), { "2", "Unified", "1024K", "0-3" } }, NULL, NULL, NULL, 32, 1024, 0, 4096 },
    { "lists that are malformed: one CPU",
      { DATA("32K"), { "2", "Unified", "1M", "0-" }, { "3", "Unified", "8M", "x" } }, PLAIN, NULL, NULL, 32, 1024, 8192,
      8192 },
    { "hundreds of CPUs",
      { DATA("32K"), { "2", "Unified", "1M", "0" }, { "3", "Unified", "8M", "0-1023" } }, PLAIN, NULL, NULL, 32, 1024,
      8192, 64 },
};
/* clang-format on */

/* Writes a file and the folders that it is in. */
static void write_file(const char *root, const char *path, const char *text)
{
    char whole[PATH];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(whole, 0777);
        *slash = '/';
    }
    FILE *f = fopen(whole, "w");
    CHECK(f && fprintf(f, "%s\n", text) > 0, "%s cannot be written", whole);
    if (f)
        fclose(f);
}

static void write_cache(const char *root, int i, const Cache *c)
{
    const struct {
        const char *file, *text;
    } files[] = { { "level", c->level }, { "type", c->type }, { "size", c->size }, { "shared_cpu_list", c->shared } };
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        char path[PATH / 2];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu0/cache/index%d/%s", i, files[k].file);
        write_file(root, path, files[k].text);
    }
}

static void write_system(const char *root, const System *s)
{
    char flags[PATH];
    for (int i = 0; i < CACHES && s->caches[i].level; i++)
        write_cache(root, i, &s->caches[i]);
    snprintf(flags, sizeof flags, "processor\t: 0\nflags\t\t: %s\nprocessor\t: 1", s->flags ? s->flags : "");
    if (s->flags)
        write_file(root, "proc/cpuinfo", flags);
    if (s->hypervisor)
        write_file(root, "sys/hypervisor/type", s->hypervisor);
    if (s->vendor)
        write_file(root, "sys/class/dmi/id/sys_vendor", s->vendor);
}

static void detect(const System *s)
{
    char root[] = "/tmp/kiln-machine-XXXXXX", remove[PATH];
    CHECK(mkdtemp(root), "no folder for the files");
    write_system(root, s);
    const Machine m = machine_detect_in(root);
    CHECK(m.l1 == s->l1 * KIB && m.l2 == s->l2 * KIB && m.l3 == s->l3 * KIB, "%s: %lld, %lld, %lld", s->name,
          (long long)m.l1, (long long)m.l2, (long long)m.l3);
    CHECK(m.l3_core == s->l3_core * KIB, "%s: a core counts on %lld", s->name, (long long)m.l3_core);
    CHECK(m.l2_shared <= m.cores && m.l3_shared <= m.cores, "%s: shared by %d, %d", s->name, m.l2_shared, m.l3_shared);
    snprintf(remove, sizeof remove, "rm -r %s", root);
    CHECK(system(remove) == 0, "%s", remove);
}

/* Models of up to two GPUs, as the driver writes them; the name, or none. */
static const struct {
    const char *models[2], *name;
} gpus[] = {
    { { "NVIDIA H200" }, "h200" },
    { { "NVIDIA A100-SXM4-80GB" }, "a100" },
    { { "NVIDIA GeForce RTX 2080 Ti", "NVIDIA GeForce RTX 2080 Ti" }, "rtx2080ti" },
    { { "GeForce RTX 2070" }, "rtx2070" },
    { { "Tesla V100-PCIE-16GB", "NVIDIA GeForce RTX 4090" }, NULL },
    { { "NVIDIA" }, NULL },
    { { NULL }, NULL },
};

static void detect_gpus(const char *const *models, const char *name)
{
    char root[] = "/tmp/kiln-machine-XXXXXX", remove[PATH], found[64] = "";
    CHECK(mkdtemp(root), "no folder for the files");
    for (int i = 0; i < 2 && models[i]; i++) {
        char path[PATH / 2], text[PATH];
        snprintf(path, sizeof path, "proc/driver/nvidia/gpus/0000:0%d:00.0/information", i);
        snprintf(text, sizeof text, "Model: \t\t %s\nIRQ:   \t\t 255\n", models[i]);
        write_file(root, path, text);
    }
    const bool is_there = device_name_in(root, found, sizeof found);
    CHECK(is_there == (name != NULL) && (!name || !strcmp(found, name)), "%s: %s", name ? name : "none", found);
    snprintf(remove, sizeof remove, "rm -r %s", root);
    CHECK(system(remove) == 0, "%s", remove);
}

int main(void)
{
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        detect_gpus(gpus[i].models, gpus[i].name);
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        detect(&systems[i]);
    const Machine none = machine_detect_in("/nonexistent");
    CHECK(none.l1 > 0 && none.l2 >= none.l1 && none.l3_core > 0, "without files");
    return check_done();
}
