kiln_probe 8 __CHAR_UNSIGNED__;
typedef unsigned char u8; typedef struct { double a, b; int n; } P; struct g { int n; double *u; double w[8]; };
enum e { LEFT = 3, RIGHT, FAR = -1 }; static const int K = 5 * 2; extern double sqrt(double); extern int printf(const char *, ...);
static inline double cl(double x, double lo) { if (x < lo) return lo; double y = x > 1 ? 1 : x; return y; }
__attribute__((const)) double ext(double), (*fp)(int, double (*)[3]);
void f(unsigned long n, int m, u8 in[n][m], float *restrict out, P q, struct g *gr, double (*restrict M)[m])
{
    int i, j; const double *const *pp;
#pragma scop
    #pragma kiln temporary(out)
    for (i = 0; i < (int)n - 1; i++) {
        const int k = i + 1;
        for (j = LEFT; j < m && j < K * 100; j += 2) {
            double s = 0;
            s += in[k][j] * q.a + sqrt(M[i][j]);
            out[i * m + j] = (float)cl(s, q.b) + 'a' + 0x10u;
            M[i][j] = M[k][j] = s > 0.5 && !j ? ext(s) : -s;
            *(out + i * m - 2) = 1, gr->w[3] = ~2 % 3 << 1 ^ 7;
        }
    }
    for (long l = m - 1; l >= 0; l -= 3) { M[0][l]++; gr->u[l] -= .5e1f; }
    { double s; s = 1; M[0][0] = s; } { int s = m; if (s != 3 || m) M[0][0] = s; else ; }
#pragma endscop
    for (i = 0; i < 3; i++) ;
}
