/* SPDX-License-Identifier: MIT */
/* The table of errors. */
#include "base/context.h"

const ErrorInfo error_table[ERROR_COUNT] = {
#define ERROR_ROW(id, name, summary) { name, summary },
    ERRORS(ERROR_ROW)
};

ErrorId error_of_status(kn_status status)
{
    switch (status) {
    case KN_ERROR_ARGUMENT: return ERROR_ARGUMENT;
    case KN_ERROR_BOUNDS: return ERROR_BOUNDS;
    case KN_ERROR_FILE: return ERROR_FILE;
    case KN_ERROR_LIMIT: return ERROR_LIMIT;
    case KN_ERROR_DEVICE: return ERROR_DEVICE;
    default: return ERROR_PROGRAM;
    }
}

kn_pass kn_error_get(int index)
{
    if (index < 0 || index >= ERROR_COUNT)
        return (kn_pass){ 0 };
    return (kn_pass){ error_table[index].name, error_table[index].summary };
}
