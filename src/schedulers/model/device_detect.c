/* SPDX-License-Identifier: MIT */
/* Which GPU this machine has.
 *
 * Takes   the files of NVIDIA's driver for Linux below a folder: proc/driver/nvidia/gpus/BUS/information is text, with
 *         a line such as "Model:   NVIDIA GeForce RTX 2080 Ti" for each GPU.
 * Gives   its name as that of a file machines/NAME.machine: rtx2080ti.
 * Holds   no driver is loaded and no device opened: that takes a tenth of a second, and a process that has done so
 *         cannot be forked. */
#include "schedulers/model/device.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* "  NVIDIA A100-SXM4-80GB" to "a100", "NVIDIA GeForce RTX 4090" to "rtx4090": what is behind the maker's words, in
 * small letters, up to the form in which the chip is sold. */
static void shorten(const char *model, char *name, size_t size)
{
    static const char *const words[] = { "NVIDIA", "GeForce", "Tesla" };
    size_t                   n       = 0;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        model += strspn(model, " \t");
        if (!strncmp(model, words[w], strlen(words[w])))
            model += strlen(words[w]);
    }
    for (; *model && *model != '-' && *model != '\n' && n + 1 < size; model++)
        if (isalnum((unsigned char)*model))
            name[n++] = (char)tolower((unsigned char)*model);
    name[n] = 0;
}

/* The model that a file of the driver names; false: it names none. */
static bool read_model(const char *path, char *name, size_t size)
{
    char  line[256];
    bool  found = false;
    FILE *file  = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file))
        if (!strncmp(line, "Model:", 6)) {
            shorten(line + 6, name, size);
            found = name[0] != 0;
        }
    if (file)
        fclose(file);
    return found;
}

bool device_name_in(const char *root, char *name, size_t size)
{
    char path[512], folder[256], other[64];
    bool found = false, alike = true;
    snprintf(folder, sizeof folder, "%s/proc/driver/nvidia/gpus", root);
    DIR *gpus = opendir(folder);
    for (struct dirent *bus; gpus && (bus = readdir(gpus));) {
        if (bus->d_name[0] == '.' ||
            snprintf(path, sizeof path, "%s/%s/information", folder, bus->d_name) >= (int)sizeof path)
            continue;
        if (!read_model(path, found ? other : name, found ? sizeof other : size))
            continue;
        alike = alike && (!found || !strcmp(name, other));
        found = true;
    }
    if (gpus)
        closedir(gpus);
    return found && alike;
}
