/* SPDX-License-Identifier: MIT */
/* LLVM's side of a target: its machine, and what this computer's CPU is. */
#include "codegen/llvm/llvm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <llvm-c/Support.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char           host_text[4096]; /* "CPU FEATURES"; written once */
static const char    *host_features;   /* in it */

/* Switches of LLVM that nothing else sets; they are the whole process's.
 * - Loop strength reduction took half of the time of code generation, and the addresses are a row's pointer and a
 * counter already. X86DomainReassignment (masks of AVX-512 from general registers into mask registers) takes time in
 * the square of the size of a function. Both are left out.
 * - Pointers into the shared memory of a GPU have 32 bits: the kernels of harris and unsharp need 56 and 40 registers
 *   instead of 72 and 64. */
static void set_switches(void)
{
    const char *arguments[4] = { "kiln", "-disable-lsr" };
    int         count        = 2;
    if (LLVMGetTargetFromName("x86-64"))
        arguments[count++] = "-disable-x86-domain-reassignment";
    if (LLVMGetTargetFromName("nvptx64"))
        arguments[count++] = "-nvptx-short-ptr";
    LLVMParseCommandLineOptions(count, arguments, NULL);
}

static void start(void)
{
    LLVMInitializeAllTargetInfos();
    LLVMInitializeAllTargets();
    LLVMInitializeAllTargetMCs();
    LLVMInitializeAllAsmPrinters();
    LLVMInitializeAllAsmParsers();
    set_switches();
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    snprintf(host_text, sizeof host_text, "%s %s", cpu, features);
    host_features = host_text + strcspn(host_text, " ");
    host_features += *host_features == ' ';
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

Target target_facts(const Target *t)
{
    target_start();
    return target_complete(t, t->is_host ? features_parse(t->arch, host_features) : 0);
}

LLVMTargetMachineRef target_machine(const Target *t, LLVMCodeGenOptLevel level, Emitted *error)
{
    char                *triple   = t->llvm_triple ? LLVMCreateMessage(t->llvm_triple) : LLVMGetDefaultTargetTriple();
    char                *cpu      = t->llvm_cpu ? LLVMCreateMessage(t->llvm_cpu) : LLVMGetHostCPUName();
    char                *features = t->llvm_features ? LLVMCreateMessage(t->llvm_features) : LLVMGetHostCPUFeatures();
    char                *why      = NULL;
    LLVMTargetRef        target   = NULL;
    LLVMTargetMachineRef machine  = NULL;
    if (LLVMGetTargetFromTriple(triple, &target, &why))
        error_set(error, "this LLVM makes no code for %s: %s", triple, why);
    else
        machine = LLVMCreateTargetMachine(target, triple, cpu, features, level, LLVMRelocPIC, LLVMCodeModelSmall);
    if (target && !machine)
        error_set(error, "this LLVM makes no code for %s", triple);
    LLVMDisposeMessage(why);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return machine;
}
