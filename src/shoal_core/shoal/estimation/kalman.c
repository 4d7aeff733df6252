/* The two steps of the filter as loops. As CasADi's straight-line code they are 400 kB, more than the first-level cache
 * holds: kalman.py has that form for where there is no compiler, and tests hold both against each other.
 *
 * Errors: position, attitude, velocity, rate (12), wrench and current (9); covariances are 21×21, symmetric. */
#include <math.h>
#include <string.h>

#define SIZE 21
#define MEASURED 12

/* P ← T P Tᵀ + diag(process) h, in place; T is `top` (12×21) over [0 I]. */
void kalman_predict(double *covariance, const double *top, const double *process, const double *h) {
  double(*P)[SIZE] = (double(*)[SIZE])covariance, M[MEASURED][SIZE];
  for (int i = 0; i < MEASURED; ++i) {
    double row[SIZE] = {0};
    for (int k = 0; k < SIZE; ++k)
      for (int j = 0; j < SIZE; ++j) row[j] += top[SIZE * i + k] * P[k][j];
    memcpy(M[i], row, sizeof row);
  }
  for (int i = 0; i < MEASURED; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = 0;
      for (int k = 0; k < SIZE; ++k) sum += M[i][k] * top[SIZE * j + k];
      P[i][j] = P[j][i] = sum;
    }
    for (int j = MEASURED; j < SIZE; ++j) P[i][j] = P[j][i] = M[i][j];
  }
  for (int i = 0; i < SIZE; ++i) P[i][i] += process[i] * *h;
}

/* q ⊗ [1, angle/2], to first order. */
static void turn(const double *q, const double *angle, double *out) {
  const double a = angle[0] / 2, b = angle[1] / 2, c = angle[2] / 2;
  out[0] = q[0] - (q[1] * a + q[2] * b + q[3] * c);
  out[1] = q[1] + q[0] * a + (q[2] * c - q[3] * b);
  out[2] = q[2] + q[0] * b + (q[3] * a - q[1] * c);
  out[3] = q[3] + q[0] * c + (q[1] * b - q[2] * a);
}

/* Takes in a measured state. The noise is uncorrelated, so the twelve numbers are taken in one after the other: no
 * matrix to invert. variance (12); x (13), extra (9: wrench, current) and P are replaced; believed (9) bounds extra. */
void kalman_correct(double *covariance, double *x, double *extra, const double *variance, const double *believed,
                    const double *measured) {
  double(*P)[SIZE] = (double(*)[SIZE])covariance, innovation[MEASURED], change[SIZE] = {0}, turned[4], norm = 0;
  const double *q = x + 3, *seen = measured + 3;
  const double sign = q[0] * seen[0] + q[1] * seen[1] + q[2] * seen[2] + q[3] * seen[3] >= 0 ? 2 : -2;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3; /* vector part of q* ⊗ seen */
    innovation[i] = measured[i] - x[i];
    innovation[3 + i] = sign * (q[0] * seen[1 + i] - seen[0] * q[1 + i] - (q[1 + j] * seen[1 + k] - q[1 + k] * seen[1 + j]));
  }
  for (int i = 6; i < MEASURED; ++i) innovation[i] = measured[1 + i] - x[1 + i];
  for (int i = 0; i < MEASURED; ++i) {
    double column[SIZE];
    memcpy(column, P[i], sizeof column);
    const double weight = 1 / (column[i] + variance[i]), gap = innovation[i] - change[i];
    for (int j = 0; j < SIZE; ++j) {
      const double gain = column[j] * weight;
      change[j] += gain * gap;
      for (int k = 0; k < SIZE; ++k) P[j][k] -= gain * column[k];
    }
  }
  for (int i = 0; i < SIZE; ++i)
    for (int j = 0; j < i; ++j) P[i][j] = P[j][i] = (P[i][j] + P[j][i]) / 2;
  turn(q, change + 3, turned);
  for (int i = 0; i < 4; ++i) norm += turned[i] * turned[i];
  for (int i = 0; i < 3; ++i) x[i] += change[i];
  for (int i = 0; i < 4; ++i) x[3 + i] = turned[i] / sqrt(norm);
  for (int i = 6; i < MEASURED; ++i) x[1 + i] += change[i];
  for (int i = 0; i < SIZE - MEASURED; ++i)
    extra[i] = fmin(fmax(extra[i] + change[MEASURED + i], -believed[i]), believed[i]);
}
