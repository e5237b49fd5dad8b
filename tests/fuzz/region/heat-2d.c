

static double A[2][100 + 2][100 + 2];

int main(void)
{
    for (int i = 0; i < 100 + 2; i++)
        for (int j = 0; j < 100 + 2; j++)
            A[0][i][j] = A[1][i][j] = (double)((3 * i + 5 * j) % 31) / 32;

#pragma scop
    for (int t = 0; t < 20; t++)
        for (int i = 1; i < 100 + 1; i++)
            for (int j = 1; j < 100 + 1; j++)
                A[(t + 1) % 2][i][j] =
                    (double)0.125 * (A[t % 2][i + 1][j] - (double)2.0 * A[t % 2][i][j] + A[t % 2][i - 1][j]) +
                    (double)0.125 * (A[t % 2][i][j + 1] - (double)2.0 * A[t % 2][i][j] + A[t % 2][i][j - 1]) +
                    A[t % 2][i][j];
#pragma endscop

    double sum = 0;
    for (int i = 0; i < 100 + 2; i++)
        for (int j = 0; j < 100 + 2; j++)
            sum += (double)A[20 % 2][i][j] * ((i + 2 * j) % 7 + 1);
    printf("%.17g\n", sum);
    return 0;
}
