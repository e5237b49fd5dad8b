
static void stages(int n, const float in[restrict n], float A[restrict n], float B[restrict n], float C[restrict n])
{
#pragma scop
    for (int i = 1; i < n; i++)
        A[i] = 0.5f * in[i] + 0.5f * in[i - 1];
    for (int i = 2; i < n - 1; i++)
        B[i] = 0.25f * (A[i - 1] + 2.0f * A[i] + A[i + 1]);
    for (int i = 4; i < n - 3; i++)
        C[i] = 0.125f * (B[i - 2] + 6.0f * B[i] + B[i + 2]);
#pragma endscop
}

int main(int argc, char **argv)
{
    const int n  = argc > 1 ? atoi(argv[1]) : 1000000;
    float    *in = calloc((size_t)n, sizeof *in), *A = calloc((size_t)n, sizeof *A), *B = calloc((size_t)n, sizeof *B),
          *C = calloc((size_t)n, sizeof *C);
    for (int i = 0; i < n; i++)
        in[i] = (float)(i % 100) / 64;
    stages(n, in, A, B, C);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += C[i] * (i % 7 + 1);
    printf("%.17g\n", sum);
    free(in);
    free(A);
    free(B);
    free(C);
    return 0;
}
