/* SPDX-License-Identifier: MIT */
/* Polynomials for math.c, lowest power first; made by scripts/minimax.py, which says of what. */
/* error 2^-27.6 */
static const double exp_rest_f32[] = {
    0x1.000000p-1, 0x1.555486p-3, 0x1.555452p-5, 0x1.124148p-7, 0x1.6dbe6ep-10,
};
/* error 2^-61.8 */
static const double exp_rest_f64[] = {
    0x1.000000p-1,         0x1.555555555555cp-3,  0x1.555555555555ep-5,  0x1.111111110e8a6p-7,
    0x1.6c16c16c13105p-10, 0x1.a01a01b4ec046p-13, 0x1.a01a01b59bee4p-16, 0x1.71ddec94e6b46p-19,
    0x1.27e4bca50660ap-22, 0x1.af720cf008296p-26, 0x1.1fa1a7fea0942p-29,
};
/* error 2^-22.6 */
static const double log_rest_f32[] = {
    0x1.9999a4p-2,
    0x1.247a06p-2,
    0x1.d813fap-3,
};
/* error 2^-55.1 */
static const double log_rest_f64[] = {
    0x1.999999999999ap-2, 0x1.2492492492524p-2, 0x1.c71c71c6e9f38p-3, 0x1.745d177b266f6p-3,
    0x1.3b139598fbdcep-3, 0x1.1118d37799539p-3, 0x1.df7a766f361a5p-4, 0x1.e045d4712d5fcp-4,
};
/* error 2^-27.3 */
static const double sin_rest_f32[] = {
    -0x1.555544p-3,
    0x1.110696p-7,
    -0x1.990926p-13,
};
/* error 2^-56.2 */
static const double sin_rest_f64[] = {
    -0x1.5555555555546p-3, 0x1.111111110f322p-7,   -0x1.a01a019b61ad8p-13,
    0x1.71de34dbbcfdfp-19, -0x1.ae5de9eee2902p-26, 0x1.5d6e755817fb8p-33,
};
/* error 2^-30.6 */
static const double cos_rest_f32[] = {
    0x1.55554ap-5,
    -0x1.6c0bb6p-10,
    0x1.99c414p-16,
};
/* error 2^-61.6 */
static const double cos_rest_f64[] = {
    0x1.5555555555549p-5,   -0x1.6c16c16c14bb7p-10, 0x1.a01a019c1d404p-16,
    -0x1.27e4f79c2c0f8p-22, 0x1.1ee99fdde8058p-29,  -0x1.8f869cc5d3cacp-37,
};
/* error 2^-25.5 */
static const double atan_rest_f32[] = {
    -0x1.5554e6p-2, 0x1.997adep-3, -0x1.231b70p-3, 0x1.b56930p-4,
    -0x1.3680fcp-4, 0x1.64cc7cp-5, -0x1.0fad26p-6, 0x1.85e7f6p-9,
};
/* error 2^-56.9 */
static const double atan_rest_f64[] = {
    -0x1.555555555552ap-2, 0x1.9999999995ae0p-3,  -0x1.24924923921f0p-3, 0x1.c71c7184220b4p-4,   -0x1.745d11fad4c07p-4,
    0x1.3b136a1394c59p-4,  -0x1.110e6d76096acp-4, 0x1.e1bcf669ad525p-5,  -0x1.ae64479ac88dap-5,  0x1.82ee9c6f7952fp-5,
    -0x1.59d7c1fe19874p-5, 0x1.2c97badab8b7ap-5,  -0x1.eb48050583c1dp-6, 0x1.69d7190548f65p-6,   -0x1.ca95099cdc1eap-7,
    0x1.dc00e655fcc42p-8,  -0x1.7ea2cc1680d38p-9, 0x1.ba37b8e4f006ap-11, -0x1.449f9b2e42275p-13, 0x1.c49c3b242312fp-17,
};
/* error 2^-27.5 */
static const double tanh_rest_f32[] = {
    -0x1.55554cp-2, 0x1.110d3ap-3, -0x1.b92b84p-5, 0x1.5954a6p-6, -0x1.9baf24p-8,
};
/* error 2^-55.4 */
static const double tanh_rest_f64[] = {
    -0x1.55555555554a4p-2, 0x1.1111111102fd6p-3,   -0x1.ba1ba1adb9982p-5, 0x1.664f45cf5c118p-6,   -0x1.226dde8215137p-7,
    0x1.d6c642e734617p-9,  -0x1.7cf518f951723p-10, 0x1.2faa2ad705ff6p-11, -0x1.b93926a4c46b6p-13, 0x1.ac7e1223d7365p-15,
};
/* error 2^-26.0 */
static const double erf_rest_f32[] = {
    0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2d20p-4, -0x1.b7fbb4p-6, 0x1.5419f2p-8, -0x1.a485d6p-11, 0x1.4ae490p-14,
};
/* error 2^-54.8 */
static const double erf_rest_f64[] = {
    0x1.06eba8214db68p-3,  -0x1.812746b0379c2p-2,  0x1.ce2f21a041018p-4,  -0x1.b82ce312062bcp-6,
    0x1.565bccfa9a825p-8,  -0x1.c02db072f3fe0p-11, 0x1.f9a2bf73f0c68p-14, -0x1.f4ca94990cb86p-17,
    0x1.b9827b1885f9bp-20, -0x1.5c16e30fb0d45p-23, 0x1.d784936618cc2p-27, -0x1.acdff90b8ebd8p-31,
};
/* error 2^-26.9 */
static const double erfc_log_f32[] = {
    -0x1.d97fc0p+0, -0x1.51c9aap+1, -0x1.afad34p-1, -0x1.53f946p-5, 0x1.441adap-7, -0x1.deb75ep-10, 0x1.852bb0p-13,
};
/* error 2^-57.5 */
static const double erfc_log_f64[] = {
    -0x1.d97fbf27aa2a1p+0,  -0x1.51c9b0006c236p+1,  -0x1.afabc11a295f5p-1,  -0x1.5477f09c034e6p-5,
    0x1.48c9d3eb1988bp-7,   -0x1.033f65af9b3a9p-9,  0x1.f1b3896043f90p-13,  0x1.b8de9fb0d7a8fp-16,
    -0x1.c7a784cd9d6b9p-16, 0x1.426be32151e88p-17,  -0x1.1475831b09c78p-19, 0x1.32d667fffca28p-23,
    0x1.a2f1b5dca97dap-24,  -0x1.befc287389512p-25, 0x1.002a62b21dfadp-26,  -0x1.899c2277ae5afp-29,
    0x1.94de12ac5a1d9p-32,  -0x1.fae431a3426b1p-36, 0x1.2474c1092e7c8p-40,
};
