

static double A[2][100 + 2][100 + 2][100 + 2];

int main(void)
{
    for (int i = 0; i < 100 + 2; i++)
        for (int j = 0; j < 100 + 2; j++)
            for (int k = 0; k < 100 + 2; k++)
                A[0][i][j][k] = A[1][i][j][k] = (double)((3 * i + 5 * j + 7 * k) % 31) / 32;

#pragma scop
    for (int t = 0; t < 20; t++)
        for (int i = 1; i < 100 + 1; i++)
            for (int j = 1; j < 100 + 1; j++)
                for (int k = 1; k < 100 + 1; k++)
                    A[(t + 1) % 2][i][j][k] =
                        (double)0.125 * (A[t % 2][i + 1][j][k] - (double)2.0 * A[t % 2][i][j][k] + A[t % 2][i - 1][j][k]) +
                        (double)0.125 * (A[t % 2][i][j + 1][k] - (double)2.0 * A[t % 2][i][j][k] + A[t % 2][i][j - 1][k]) +
                        (double)0.125 * (A[t % 2][i][j][k - 1] - (double)2.0 * A[t % 2][i][j][k] + A[t % 2][i][j][k + 1]) +
                        A[t % 2][i][j][k];
#pragma endscop

    double sum = 0;
    for (int i = 0; i < 100 + 2; i++)
        for (int j = 0; j < 100 + 2; j++)
            for (int k = 0; k < 100 + 2; k++)
                sum += (double)A[20 % 2][i][j][k] * ((i + 2 * j + 3 * k) % 7 + 1);
    printf("%.17g\n", sum);
    return 0;
}
