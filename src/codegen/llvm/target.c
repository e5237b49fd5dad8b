/* LLVM's side of a target: its machine, and what this computer's CPU is. */
#include "codegen/llvm/llvm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <llvm-c/Support.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char           host_text[4096]; /* "CPU FEATURES"; written once */

/* Two passes of LLVM that cost more than they give, which no other switch turns off; the switches are the whole
 * process's, and only leave something out: X86DomainReassignment (masks of AVX-512 from general registers into mask
 * registers) takes time in the square of the size of a function; loop strength reduction took half of the time of code
 * generation, and the addresses are a row's pointer and a counter already. */
static void leave_out_slow_passes(void)
{
    const char *const arguments[] = { "kiln", "-disable-lsr", "-disable-x86-domain-reassignment" };
    LLVMParseCommandLineOptions(LLVMGetTargetFromName("x86-64") ? 3 : 2, arguments, NULL);
}

static void start(void)
{
    LLVMInitializeAllTargetInfos();
    LLVMInitializeAllTargets();
    LLVMInitializeAllTargetMCs();
    LLVMInitializeAllAsmPrinters();
    LLVMInitializeAllAsmParsers();
    leave_out_slow_passes();
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    snprintf(host_text, sizeof host_text, "%s %s", cpu, features);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
}

void target_start(void)
{
    pthread_once(&once, start);
}

const char *target_host(void)
{
    target_start();
    return host_text;
}

bool target_has_half(const Target *t)
{
    if (!t->triple)
        return strstr(target_host(), "+f16c") || strstr(target_host(), "+neon");
    return !strncmp(t->triple, "aarch64", 7) || !strcmp(t->cpu, "x86-64-v3") || !strcmp(t->cpu, "x86-64-v4");
}

bool target_has_byte_tables(const Target *t)
{
    return !t->triple && strstr(target_host(), "+avx512vbmi,");
}

int target_word_bits(const Target *t)
{
    static const struct {
        const char *feature, *cpu;
        int         bits;
    } rows[] = { { "+avx512bw", "x86-64-v4", 512 }, { "+avx2", "x86-64-v3", 256 }, { "+sse2", "x86-64", 128 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (t->triple ? !strcmp(t->cpu, rows[i].cpu) : strstr(target_host(), rows[i].feature) != NULL)
            return rows[i].bits;
    return 0;
}

LLVMTargetMachineRef target_machine(const Target *t, Emitted *error)
{
    char                *triple   = t->triple ? LLVMCreateMessage(t->triple) : LLVMGetDefaultTargetTriple();
    char                *cpu      = t->triple ? LLVMCreateMessage(t->cpu) : LLVMGetHostCPUName();
    char                *features = t->triple ? LLVMCreateMessage(t->features) : LLVMGetHostCPUFeatures();
    char                *why      = NULL;
    LLVMTargetRef        target   = NULL;
    LLVMTargetMachineRef machine  = NULL;
    if (LLVMGetTargetFromTriple(triple, &target, &why))
        error_set(error, "this LLVM makes no code for %s: %s", triple, why);
    else
        machine = LLVMCreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                          LLVMCodeModelSmall);
    if (target && !machine)
        error_set(error, "this LLVM makes no code for %s", triple);
    LLVMDisposeMessage(why);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return machine;
}
