/* SPDX-License-Identifier: MIT */
/* Machines: the text reads back to the same machine, odd texts are read as meant, wrong ones are refused with a remedy;
 * detection and measuring give something sensible. */
#include "schedulers/model/machine.h"
#include "check.h"

static const char *printed(kn_context *cx, const Machine *m)
{
    Text t;
    text_init(&t, &cx->call);
    machine_print(&t, m);
    return text_string(&t);
}

/* What the text makes of the usual machine, in its own print; or the errors. */
static const char *parsed(kn_context *cx, const char *text)
{
    Machine m = machine_usual();
    context_begin(cx);
    return machine_parse(cx, "machine", text, &m) ? printed(cx, &m) : kn_error_text(cx);
}

typedef struct Case {
    const char *text, *shown; /* what stands in the result */
} Case;

static const Case cases[] = {
    { "", "cores=8\n" },
    { " \n,, ,\n// nothing\n", "cores=8\n" },
    { "cores=3", "cores=3\n" },
    { "cores = 3 , l1=48k", "l1=48k\n" },
    { "l1=48K,l2=1280k // ours\nl3=48M", "l2=1280k\nl3=48M\n" },
    { "l1=1000k", "l1=1000k\n" },
    { "l1=1025", "l1=1025\n" },
    { "l1=1.5k", "l1=1536\n" },
    { "l3=2G", "l3=2G\n" },
    { "l3=0", "l3=0\n" },
    { "op=.125\r\nrow=1e1", "op=0.125\n" },
    { "cores=1,cores=2", "cores=2\n" },
    { "memory_all=15.000000001", "memory_all=15.000000001\n" },
    { "vector_bits=512,datapath=256", "vector_bits=512\ndatapath=256\n" },
    { "datapath=256,vector_bits=512", "vector_bits=512\ndatapath=0\n" },
    /* refused */
    { "core=3", "machine:1:1: error: a machine has no property 'core'\n    core=3\n    ^^^^\n    = did you mean "
                "`cores`?\n" },
    { "bogus=3", "the names are cores, vector_bits, datapath, line, l1," },
    { "=3", "the name of a property of a machine was expected" },
    { "l1", "'=' and a value was expected after l1" },
    { "l1 32k", "for example l1=32k" },
    { "l1=", "l1 has no value" },
    { "l1=,l2=1M", "l1 has no value" },
    { "l1=-5", "'-5' is no value of l1" },
    { "l1=nan", "'nan' is no value of l1" },
    { "op=inf", "'inf' is no value of op" },
    { "l1=32kB", "'32kB' is no value of l1" },
    { "cores=2k", "'2k' is no value of cores\n    cores=2k\n          ^^\n    = cores: threads that run at a time, "
                  "for example cores=8\n" },
    { "cores=0", "cores is at least 1 and at most 4096" },
    { "cores=1e99", "cores is at least 1 and at most 4096" },
    { "cores=2.5", "cores is a whole number" },
    { "cores=2 l1=32k", "machine:1:9: error: a comma was expected after the value of cores" },
    { "l1=32k;l2=1M", "a comma was expected" },
    { "line=48", "a cache line has a power of two of bytes, and not 48" },
    { "l2=16k", "each cache is at least as large as the one before it: l1 has 32768 bytes, l2 16384" },
    { "\xc3\xa4=3", "the name of a property" },
};

static void texts(kn_context *cx)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(strstr(parsed(cx, cases[i].text), cases[i].shown), "%s gives %s", cases[i].text,
              parsed(cx, cases[i].text));
}

/* A text that is refused changes nothing. */
static void unchanged(kn_context *cx)
{
    Machine m = machine_usual();
    CHECK(!machine_parse(cx, "machine", "cores=3, l1=?", &m) && m.cores == 8, "%d cores", m.cores);
}

static void round_trip(kn_context *cx, const char *which, const Machine *m)
{
    Machine again = machine_usual();
    context_begin(cx);
    const char *first = printed(cx, m);
    CHECK(machine_parse(cx, "machine", first, &again) && !strcmp(first, printed(cx, &again)), "%s: %s %s", which, first,
          kn_error_text(cx));
}

static void host(kn_context *cx)
{
    Machine m = machine_detect();
    CHECK(m.cores >= 1 && m.vector_bits >= 128 && m.l1 >= 4096 && m.l2 >= m.l1 && m.line >= 16, "%s", printed(cx, &m));
    round_trip(cx, "detected", &m);
    machine_measure(&m);
    CHECK(m.op > 0.001 && m.op < 1000 && m.task >= 1, "%s", printed(cx, &m));
    round_trip(cx, "measured", &m);
    printf("%s", printed(cx, &m));
}

int main(void)
{
    kn_context *cx    = kn_context_new(NULL);
    Machine     usual = machine_usual();
    round_trip(cx, "usual", &usual);
    texts(cx);
    unchanged(cx);
    host(cx);
    kn_context_free(cx);
    return check_done();
}
