/* SPDX-License-Identifier: MIT */
/* CUDA's driver by dlopen: neither its headers nor its library are needed to build this. */
#include "cuda.h"
#include "device.h"
#include "program.h"

#include <dlfcn.h>
#include <stdio.h>

enum { ATTRIBUTE_MULTIPROCESSORS = 16, ATTRIBUTE_CACHE = 38, ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };

typedef int Result;

static struct {
    Result (*init)(unsigned flags);
    Result (*driver_version)(int *version);
    Result (*device_get)(int *device, int index);
    Result (*device_name)(char *name, int size, int device);
    Result (*device_memory)(size_t *bytes, int device);
    Result (*device_attribute)(int *value, int attribute, int device);
    Result (*retain)(void **context, int device);
    Result (*set_current)(void *context);
    Result (*alloc)(uint64_t *address, size_t bytes);
    Result (*free)(uint64_t address);
    Result (*upload)(uint64_t to, const void *from, size_t bytes);
    Result (*download)(void *to, uint64_t from, size_t bytes);
    Result (*copy)(uint64_t to, uint64_t from, size_t bytes, void *stream);
    Result (*fill)(uint64_t at, unsigned char value, size_t bytes);
    Result (*sync)(void);
    Result (*error_text)(Result result, const char **text);
} driver;

static const struct {
    const char *name;
    void       *at;
} functions[] = {
    { "cuInit", &driver.init },
    { "cuDriverGetVersion", &driver.driver_version },
    { "cuDeviceGet", &driver.device_get },
    { "cuDeviceGetName", &driver.device_name },
    { "cuDeviceTotalMem_v2", &driver.device_memory },
    { "cuDeviceGetAttribute", &driver.device_attribute },
    { "cuDevicePrimaryCtxRetain", &driver.retain },
    { "cuCtxSetCurrent", &driver.set_current },
    { "cuMemAlloc_v2", &driver.alloc },
    { "cuMemFree_v2", &driver.free },
    { "cuMemcpyHtoD_v2", &driver.upload },
    { "cuMemcpyDtoH_v2", &driver.download },
    { "cuMemcpyDtoDAsync_v2", &driver.copy },
    { "cuMemsetD8_v2", &driver.fill },
    { "cuCtxSynchronize", &driver.sync },
    { "cuGetErrorString", &driver.error_text },
};

static const char *error_text(Result result)
{
    const char *text = NULL;
    if (driver.error_text)
        driver.error_text(result, &text);
    return text ? text : "an unknown error";
}

static void check(Result result, const char *what)
{
    if (result)
        fail("%s: %s", what, error_text(result));
}

void *cuda_open(CudaDevice *about)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        fail("there is no CUDA driver here: %s", dlerror());
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        void *symbol = dlsym(library, functions[k].name);
        if (!symbol)
            fail("the driver has no %s", functions[k].name);
        *(void **)functions[k].at = symbol;
    }
    int    device, version = 0, major = 0, minor = 0;
    void  *context;
    size_t memory = 0;
    check(driver.init(0), "cuInit");
    check(driver.device_get(&device, 0), "cuDeviceGet");
    check(driver.retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(driver.set_current(context), "cuCtxSetCurrent");
    driver.driver_version(&version);
    driver.device_name(about->name, sizeof about->name, device);
    driver.device_memory(&memory, device);
    driver.device_attribute(&about->multiprocessors, ATTRIBUTE_MULTIPROCESSORS, device);
    driver.device_attribute(&about->cache_kb, ATTRIBUTE_CACHE, device);
    driver.device_attribute(&major, ATTRIBUTE_MAJOR, device);
    driver.device_attribute(&minor, ATTRIBUTE_MINOR, device);
    about->memory = memory;
    about->cache_kb /= 1024;
    snprintf(about->capability, sizeof about->capability, "%d.%d", major, minor);
    snprintf(about->driver, sizeof about->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    return context;
}

uint64_t cuda_alloc(size_t bytes)
{
    uint64_t address = 0;
    check(driver.alloc(&address, bytes), "cuMemAlloc");
    return address;
}

void cuda_free(uint64_t address)
{
    check(driver.free(address), "cuMemFree");
}

void cuda_upload(uint64_t to, const void *from, size_t bytes)
{
    check(driver.upload(to, from, bytes), "cuMemcpyHtoD");
}

void cuda_download(void *to, uint64_t from, size_t bytes)
{
    check(driver.download(to, from, bytes), "cuMemcpyDtoH");
}

void cuda_copy(uint64_t to, uint64_t from, size_t bytes)
{
    check(driver.copy(to, from, bytes, NULL), "cuMemcpyDtoDAsync");
}

void cuda_fill(uint64_t at, unsigned char value, size_t bytes)
{
    check(driver.fill(at, value, bytes), "cuMemsetD8");
}

const char *cuda_sync(void)
{
    const Result result = driver.sync();
    return result ? error_text(result) : NULL;
}
