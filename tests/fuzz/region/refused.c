int g(void);
void f(int n, double *A, double **B, volatile double *C)
{
#pragma scop
    while (n) n--;
    for (int i = 0; i != n; i++) A[i] = g();
    for (int i = 0; i < n; i--) B[i][0] = C[i];
    A[A[0]] = (A[0] = 1); break; goto x; x: switch (n) { case 1: ; } asm("nop");
    { typedef int T; static T y; T z[3] = { 1, 2 }; struct q { int a : 3; } w; w.a = 1; }
#pragma endscop
}
