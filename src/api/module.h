/* A module: a pipeline that is ready to run, and how. */
#ifndef KILN_API_MODULE_H
#define KILN_API_MODULE_H

#include "pipeline/pipeline.h"

struct kn_module {
    kn_pipeline *pipeline;      /* finished; the module lives in its arena */
    kn_options   options;       /* scheduler and target are the names in the tables of module.c */
};

#endif
