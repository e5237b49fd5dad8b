

static double A[100][100], B[100][100], C[100][100];

int main(void)
{
    for (int i = 0; i < 100; i++)
        for (int j = 0; j < 100; j++) {
            A[i][j] = (i * j + 1) % 100 / (double)100;
            B[i][j] = (i * (j + 1)) % 100 / (double)100;
        }

#pragma scop
    for (int i = 0; i < 100; i++)
        for (int j = 0; j < 100; j++) {
            C[i][j] = 0;
            for (int k = 0; k < 100; k++)
                C[i][j] += A[i][k] * B[k][j];
        }
#pragma endscop

    double sum = 0;
    for (int i = 0; i < 100; i++)
        for (int j = 0; j < 100; j++)
            sum += C[i][j] * ((i + 2 * j) % 7 + 1);
    printf("%.17g\n", sum);
    return 0;
}
