/* SPDX-License-Identifier: MIT */
/* kiln devices: what pipelines for a GPU can run on, and how fast it copies. */
#include "cli.h"

static const struct {
    kn_device_kind kind;
    const char    *name; /* as in the runtime's messages */
} kinds[] = { { KN_DEVICE_CUDA, "CUDA" }, { KN_DEVICE_OPENCL, "OpenCL" } };

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
