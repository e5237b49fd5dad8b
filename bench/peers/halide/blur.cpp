/* blur: strips of rows in parallel; the rows of bx that a strip still needs stay in a ring of rows. */
#include "app.h"

Func blur(App &app)
{
    ImageParam in = app.input("in", "u16", 2);
    app.output("u16", { app.size("in", 0) - 2, app.size("in", 1) - 2 });

    Var x("x"), y("y"), strip("strip");
    Func bx("bx"), out("out");
    bx(x, y)  = (in(x, y) + in(x + 1, y) + in(x + 2, y)) / 3;
    out(x, y) = (bx(x, y) + bx(x, y + 1) + bx(x, y + 2)) / 3;

    if (app.manual) {
        const int v = app.lanes<uint16_t>();
        out.split(y, strip, y, 32).parallel(strip).vectorize(x, v);
        bx.store_at(out, strip).compute_at(out, x).vectorize(x, v);
    }
    return out;
}
