/* SPDX-License-Identifier: MIT */
/* This machine. kiln calibrate fits its speeds, and keeps them where every command looks for them. kiln devices tells
 * what GPUs there are and how fast they copy; kiln bench puts data on them. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Speeds ---- */

/* $XDG_CONFIG_HOME/kiln/machine, or ~/.config/kiln/machine; NULL if there is no home. */
static char *machine_path(Cli *cli)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const bool  use_xdg = xdg && xdg[0] == '/';
    const char *base    = use_xdg ? xdg : home;
    if (!base || base[0] != '/')
        return NULL;
    const size_t n    = strlen(base) + sizeof "/.config/kiln/machine";
    char        *path = cli_alloc(cli, n);
    snprintf(path, n, "%s%s/kiln/machine", base, use_xdg ? "" : "/.config");
    return path;
}

const char *machine_calibrated(Cli *cli)
{
    const char *path = machine_path(cli), *text;
    size_t      length;
    return path && access(path, R_OK) == 0 && file_read(cli, path, &text, &length) == DONE ? text : NULL;
}

/* Makes the folders of a path; those that are there are fine. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
}

/* As a whole or not at all: a command that reads it at this moment finds the former one. */
static int write_machine(Cli *cli, char *path, const char *text)
{
    const size_t n    = strlen(path) + sizeof ".new";
    char        *next = cli_alloc(cli, n);
    snprintf(next, n, "%s.new", path);
    make_folders(path);
    FILE      *file = fopen(next, "w");
    const bool fine = file && fputs(text, file) >= 0;
    if (!file || fclose(file) || !fine || rename(next, path))
        return failed("%s: cannot be written: %s", path, strerror(errno));
    say("wrote %s", path);
    return DONE;
}

static int count_measured(void *user, int done, int all)
{
    progress_count(user, done, all);
    return true;
}

/* What was found, beside the figures: the comments of a machine's text, without their slashes. */
static void print_comments(const char *text)
{
    for (size_t n; !strncmp(text, "//", 2); text += n + (text[n] == '\n')) {
        n               = strcspn(text, "\n");
        const int slash = text[2] == ' ' ? 3 : 2;
        printf("%.*s\n", (int)n - slash, text + slash);
    }
}

/* Is this line of a machine's text about its device? */
static bool is_device_line(const char *line)
{
    return !strncmp(line, "gpu_", 4);
}

/* The text, behind the lines of the former one that are about the device, or about all but the device. */
static const char *keep_other_half(Cli *cli, const char *before, const char *text, bool device)
{
    char *both = cli_alloc(cli, (before ? strlen(before) : 0) + strlen(text) + 1), *at = both;
    for (size_t n; before && *before; before += n) {
        n = strcspn(before, "\n");
        n += before[n] == '\n';
        if (is_device_line(before) == !device && strncmp(before, "//", 2)) {
            memcpy(at, before, n);
            at += n;
        }
    }
    strcpy(at, text);
    return both;
}

int command_calibrate(Cli *cli)
{
    const char *given = option_value(cli, OPTION_CALIBRATE_OUTPUT, 0), *before = machine_calibrated(cli);
    const char *target = option_value(cli, OPTION_CALIBRATE_TARGET, 0);
    char       *path   = given ? cli_strndup(cli, given, strlen(given)) : machine_path(cli);
    if (cli->operand_count)
        return usage(cli, "`%s`: calibrate takes no program", cli->operands[0]);
    if (!path)
        return failed("there is no home folder to keep the machine in; say where: kiln calibrate -o FILE");
    Progress progress;
    progress_begin(&progress, "measuring", target ? "the device" : "this machine");
    const char *text = target ? kn_calibrate_device(cli->cx, target, count_measured, &progress)
                              : kn_calibrate(cli->cx, before, count_measured, &progress);
    progress_end(&progress);
    if (!text)
        return report(cli);
    print_comments(text);
    return write_machine(cli, path, given ? text : keep_other_half(cli, before, text, target != NULL));
}

/* ---- Devices ---- */

static const struct {
    kn_device_kind kind;
    const char    *name; /* as in the runtime's messages */
} kinds[] = { { KN_DEVICE_CUDA, "CUDA" }, { KN_DEVICE_OPENCL, "OpenCL" } };

int device_of_target(const char *target, kn_device **device)
{
    const kn_device_kind kind = (kn_device_kind)kn_target_device(target);
    *device                   = kind ? kn_device_default(kind) : NULL;
    return kind && !*device ? failed("%s", kn_rt_last_error()) : DONE;
}

int bindings_to_device(const Bindings *b, kn_device *device)
{
    for (int i = 0; i < b->count; i++) {
        kn_buffer *buffer = &b->at[i].buffer;
        if (b->at[i].port.kind == KN_PARAM)
            continue;
        const kn_status status = b->at[i].port.kind == KN_OUTPUT ? kn_buffer_alloc_device(buffer, device)
                                                                 : kn_copy_to_device(device, buffer);
        if (status != KN_OK)
            return failed("%s: %s", b->at[i].port.name, kn_rt_last_error());
    }
    return DONE;
}

void bindings_from_device(const Bindings *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->at[i].port.kind != KN_PARAM)
            kn_buffer_free_device(&b->at[i].buffer);
}

static double gigabytes(uint64_t bytes)
{
    return (double)bytes / (1 << 30);
}

/* One device on two lines. */
static int show_device(const char *kind, kn_device *d)
{
    const kn_device_info *info = kn_device_describe(d);
    kn_device_speed       speed;
    uint64_t              left;
    printf("%s %d: %s%s\n", kind, info->index, info->name, info->is_gpu ? "" : " (no GPU)");
    printf("    capability %s, driver %s, %d multiprocessor%s, %.1f GiB\n", info->capability, info->driver,
           (int)info->multiprocessors, info->multiprocessors == 1 ? "" : "s", gigabytes(info->memory));
    fflush(stdout);
    if (kn_device_free_memory(d, &left) || kn_device_measure(d, &speed))
        return failed("%s", kn_rt_last_error());
    printf("    %.1f GiB free; copies %.1f GB/s to the device, %.1f GB/s to the host, %.1f GB/s inside\n",
           gigabytes(left), speed.to_device * 1e-9, speed.to_host * 1e-9, speed.inside * 1e-9);
    return DONE;
}

static int show_kind(kn_device_kind kind, const char *name, int count)
{
    int status = DONE;
    for (int i = 0; i < count; i++) {
        kn_device *d     = kn_device_open(kind, i);
        const int  shown = d ? show_device(name, d) : failed("%s", kn_rt_last_error());
        status           = status ? status : shown;
        kn_device_close(d);
    }
    return status;
}

int command_devices(Cli *cli)
{
    int status = DONE, all = 0;
    if (cli->operand_count)
        return usage(cli, "`%s`: devices takes no program", cli->operands[0]);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const int count = kn_device_count(kinds[i].kind);
        if (count == 0)
            say("%s", kn_rt_last_error());
        const int shown = show_kind(kinds[i].kind, kinds[i].name, count);
        status          = status ? status : shown;
        all += count;
    }
    return all ? status : FAILED;
}
