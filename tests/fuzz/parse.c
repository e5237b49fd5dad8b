/* The parser, the formatter and the checks, on any bytes: no crash, no leak, no endless loop. */
#include <stddef.h>
#include <stdint.h>

#include "kiln.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kn_context *cx = kn_context_new(&(kn_config){ .memory_limit = (size_t)256 << 20, .quota = 2000000 });
    if (!cx)
        return 0;
    const char  *text = (const char *)data;
    kn_pipeline *p    = kn_parse(cx, "fuzz.kiln", text, (ptrdiff_t)size);
    kn_error_text(cx);
    if (p)
        for (int view = KN_VIEW_FUNCS; view <= KN_VIEW_SCHEDULE; view++)
            kn_show(p, (kn_view)view);
    kn_format(cx, "fuzz.kiln", text, (ptrdiff_t)size);
    kn_context_free(cx);
    return 0;
}
