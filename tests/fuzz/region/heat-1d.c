

static double A[2][100 + 2];

int main(void)
{
    for (int i = 0; i < 100 + 2; i++)
        A[0][i] = A[1][i] = (double)(i % 17) / 16;

#pragma scop
    for (int t = 0; t < 20; t++)
        for (int i = 1; i < 100 + 1; i++)
            A[(t + 1) % 2][i] = (double)0.125 * (A[t % 2][i + 1] - (double)2.0 * A[t % 2][i] + A[t % 2][i - 1]) + A[t % 2][i];
#pragma endscop

    double sum = 0;
    for (int i = 0; i < 100 + 2; i++)
        sum += (double)A[20 % 2][i] * (i % 7 + 1);
    printf("%.17g\n", sum);
    return 0;
}
