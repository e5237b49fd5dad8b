/* SPDX-License-Identifier: MIT */
/* One compilation: a context, a module, the program in it, verified, optimized, written. Everything is freed whichever
 * way it ends. */
#include "codegen/llvm/llvm.h"

#include <stdlib.h>
#include <string.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>

/* Vectors, row pointers and invariants are there already: what is left is cleaning up. The vectorizers and the unroller
 * of LLVM stay away. */
#define BEFORE_LOOPS "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,sroa,"
#define AFTER_LOOPS  ",early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,dce)"
static const char *const passes_well = BEFORE_LOOPS "loop-mssa(licm)" AFTER_LOOPS;
/* The same, and what decides in a loop whether a row is stored past the cache does so before it. */
static const char *const passes_streams = BEFORE_LOOPS "loop-mssa(licm,simple-loop-unswitch<nontrivial>)" AFTER_LOOPS;
static const char *const passes_fast    = "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,dce)";
/* A thread has no vectors but in memory: lanes become values of their own before anything else is done. Accesses of
 * several elements are one instruction only where they are known to be aligned; they are joined before sums in
 * addresses become chains of pointers, which are followed for a few steps only. Loops that do nothing are removed, also
 * those whose results turn out to be unused at the end: the driver's compiler crashes on some. */
static const char *const passes_device =
    "function(sroa,scalarizer),function(sroa,simplifycfg,early-cse<memssa>,load-store-vectorizer,"
    "instcombine<no-verify-fixpoint>,simplifycfg,sroa,loop-mssa(licm),dse,loop(loop-deletion)" AFTER_LOOPS
    ",function(loop(loop-deletion),simplifycfg,dce,infer-alignment)";

static void note_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    Gen *g = user;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || g->diagnosed)
        return;
    char *text   = LLVMGetDiagInfoDescription(info);
    g->diagnosed = true;
    error_set(g->error, "LLVM: %s", text);
    LLVMDisposeMessage(text);
}

static void verify(Gen *g)
{
    char *why = NULL;
    if (LLVMVerifyModule(g->module, LLVMReturnStatusAction, &why)) {
        error_set(g->error, "the backend made wrong code, which is an error of the compiler; LLVM says: %s", why);
        LLVMDisposeMessage(why);
        longjmp(g->bail, 1);
    }
    LLVMDisposeMessage(why);
}

static void run_passes(Gen *g)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopVectorization(o, false);
    LLVMPassBuilderOptionsSetLoopInterleaving(o, false);
    LLVMPassBuilderOptionsSetSLPVectorization(o, false);
    LLVMPassBuilderOptionsSetLoopUnrolling(o, false);
    LLVMErrorRef e = LLVMRunPasses(g->module,
                                   g->target->arch == ARCH_NVPTX ? passes_device
                                   : g->options->fast            ? passes_fast
                                   : g->streams                  ? passes_streams
                                                                 : passes_well,
                                   g->machine, o);
    LLVMDisposePassBuilderOptions(o);
    if (e) {
        char *why = LLVMGetErrorMessage(e);
        error_set(g->error, "LLVM's passes: %s", why);
        LLVMDisposeErrorMessage(why);
        longjmp(g->bail, 1);
    }
}

static void keep(Gen *g, Emitted *out, const char *bytes, size_t size)
{
    out->bytes = malloc(size + 1);
    if (!out->bytes)
        gen_fail(g, "out of memory");
    memcpy(out->bytes, bytes, size);
    out->bytes[size] = 0;
    out->size        = size;
}

static void write_out(Gen *g, EmitKind kind, Emitted *out)
{
    if (kind == EMIT_LLVM || kind == EMIT_DEVICE_LLVM) {
        char *text = LLVMPrintModuleToString(g->module);
        keep(g, out, text, strlen(text));
        LLVMDisposeMessage(text);
        return;
    }
    char               *why = NULL;
    LLVMMemoryBufferRef buffer;
    if (LLVMTargetMachineEmitToMemoryBuffer(g->machine, g->module,
                                            kind == EMIT_OBJECT ? LLVMObjectFile : LLVMAssemblyFile, &why, &buffer)) {
        error_set(g->error, "LLVM: %s", why);
        LLVMDisposeMessage(why);
        longjmp(g->bail, 1);
    }
    if (!g->diagnosed && kind == EMIT_PTX) {
        const char *text = order_minima(g, LLVMGetBufferStart(buffer));
        keep(g, out, text, strlen(text));
    } else if (!g->diagnosed) {
        keep(g, out, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    }
    LLVMDisposeMemoryBuffer(buffer);
}

static bool is_of_device(EmitKind kind)
{
    return kind == EMIT_PTX || kind == EMIT_DEVICE_LLVM;
}

/* The work, up to the first error. */
static bool emit_guarded(Gen *g, EmitKind kind, Emitted *out)
{
    if (setjmp(g->bail))
        return false;
    if (is_of_device(kind))
        gen_device_module(g);
    else
        gen_module(g);
    verify(g);
    run_passes(g);
    if (kind == EMIT_PTX) {
        store_by_words(g);
        avoid_faults(g);
    }
    write_out(g, kind, out);
    return !g->diagnosed;
}

/* In an object for several targets the one without AVX is there so that the object runs everywhere: LLVM generates its
 * code without optimizing, from the same IR. Built alone, that target is optimized.
 * Processor time of `kiln build` with the schedule by hand, relative to AVX-512 alone, with that target optimized and
 * not: local_laplacian 3.4 and 2.7, vdsr 3.8 and 2.8, camera_pipe 3.2 and 2.5; the bar is 3, 1.5 on two cores. Its code
 * takes 1.0 to 1.5 times as long to run in seven of nine apps, 1.6 in vdsr, 3 in mat_mul. Optimized strips of one
 * register instead compiled in 2.9 and ran up to 2.2 times as long. */
static LLVMCodeGenOptLevel codegen_level(const CodegenOptions *options, int first, int last)
{
    const bool is_fallback =
        options->target_count > 1 && last - first == 1 && !target_has(&options->targets[first], FEATURE_AVX);
    return is_fallback ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
}

bool emit_module(const Program *program, const CodegenOptions *options, int first, int last, EmitKind kind,
                 Emitted *out, Emitted *error)
{
    *out   = (Emitted){ 0 };
    *error = (Emitted){ 0 };
    target_start();
    Gen g     = { .program = program,
                  .options = options,
                  .target  = is_of_device(kind) ? &ptx_target : &options->targets[first],
                  .suffix  = "",
                  .first   = first,
                  .last    = last,
                  .error   = error };
    g.machine = target_machine(g.target, codegen_level(options, first, last), error);
    if (!g.machine)
        return false;
    g.cx = LLVMContextCreate();
    LLVMContextSetDiscardValueNames(g.cx, kind != EMIT_LLVM && kind != EMIT_DEVICE_LLVM);
    LLVMContextSetDiagnosticHandler(g.cx, note_diagnostic, &g);
    g.module     = LLVMModuleCreateWithNameInContext(program->name, g.cx);
    g.layout     = LLVMCreateTargetDataLayout(g.machine);
    char *triple = LLVMGetTargetMachineTriple(g.machine);
    LLVMSetTarget(g.module, triple);
    LLVMDisposeMessage(triple);
    LLVMSetModuleDataLayout(g.module, g.layout);
    g.b           = LLVMCreateBuilderInContext(g.cx);
    const bool ok = emit_guarded(&g, kind, out);
    LLVMDisposeBuilder(g.b);
    LLVMDisposeTargetData(g.layout);
    LLVMDisposeModule(g.module);
    LLVMContextDispose(g.cx);
    LLVMDisposeTargetMachine(g.machine);
    for (size_t i = 0; i < g.block_count; i++)
        free(g.blocks[i]);
    free(g.blocks);
    return ok;
}

static void complete_targets(const Target *from, int count, Target *to)
{
    for (int i = 0; i < count; i++)
        to[i] = target_facts(&from[i]);
}

/* Text for several targets is one module, to be read or assembled as one. */
bool llvm_emit(const Program *program, const CodegenOptions *options, EmitKind kind, Emitted *out, Emitted *error)
{
    Target         targets[MOST_TARGETS], host_targets[MOST_TARGETS];
    CodegenOptions with = *options;
    *error = *out = (Emitted){ 0 };
    if (options->target_count > MOST_TARGETS || options->host_target_count > MOST_TARGETS)
        return error_set(error, "%d targets are more than one object can be for",
                         options->target_count + options->host_target_count);
    complete_targets(options->targets, options->target_count, targets);
    complete_targets(options->host_targets, options->host_target_count, host_targets);
    with.targets      = targets;
    with.host_targets = host_targets;
    if (kind == EMIT_OBJECT && (with.target_count > 1 || program->host))
        return emit_variants(program, &with, out, error);
    return emit_module(program, &with, 0, with.target_count, kind, out, error);
}
