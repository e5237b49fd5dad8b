/* SPDX-License-Identifier: MIT */
/* Would the compiler take these kernels? What schedulers for devices propose is lowered before it is proposed to users:
 * memory of a kernel has a constant size, which only lowering proves. */
#include "api/schedule.h"

#include "lang/lang.h"
#include "lower/lower.h"
#include "plan/plan.h"

typedef struct Trial {
    kn_pipeline *p;
    const char  *text;
    Arena       *arena;
    bool         fine;
} Trial;

/* Lowers the schedule down to its kernels, whose memory must have a constant size. */
static void try_kernels(void *arg)
{
    Trial             *t        = arg;
    const Schedule    *schedule = lang_schedule(t->p, "gpu.sched", t->text);
    const LowerOptions lowering = { .passes = PASSES_GPU, .device = DEVICE_CUDA, .until = "kernels" };
    Plan              *plan = schedule ? plan_make(t->p, schedule, t->arena, (PlanTarget){ .kind = TARGET_GPU }) : NULL;
    t->fine                 = plan && lower(plan, &lowering);
}

bool schedule_accepts_kernels(kn_pipeline *p, const char *text, Arena *arena)
{
    Trial t = { p, text, arena, false };
    return !*text || (context_attempt(p->cx, try_kernels, &t) && t.fine);
}
