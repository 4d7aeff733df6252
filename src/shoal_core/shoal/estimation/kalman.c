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

/* rᵀ S⁻¹ r of three residuals with the covariance S = P + diag(variance) of their block. */
static double distance2(double P[SIZE][SIZE], int first, const double *variance, const double *r) {
  const double a = P[first][first] + variance[0], b = P[first][first + 1], c = P[first][first + 2];
  const double d = P[first + 1][first + 1] + variance[1], e = P[first + 1][first + 2];
  const double f = P[first + 2][first + 2] + variance[2];
  const double aa = d * f - e * e, ab = c * e - b * f, ac = b * e - c * d; /* adjugate */
  const double bb = a * f - c * c, bc = b * c - a * e, cc = a * d - b * b;
  const double squares = aa * r[0] * r[0] + bb * r[1] * r[1] + cc * r[2] * r[2];
  return (squares + 2 * (ab * r[0] * r[1] + ac * r[0] * r[2] + bc * r[1] * r[2])) / (a * aa + b * ab + c * ac);
}

/* Takes in a measured state. The noise is uncorrelated, so the twelve numbers are taken in one after the other: no
 * matrix to invert. variance (12); x (13), extra (9: wrench, current) and P are replaced; believed (9) bounds extra.
 *
 * Block by block, rate first and position last, each is judged by what is known once those before it have been taken
 * in: where a vehicle got to is known best from how fast it is. A block further off than gate[4] sigmas (squared) and
 * than its own length gate[0..3] (squared; position, attitude, velocity, rate) is left out. residual (12) is what was
 * judged, taken (4) whether it was taken in. Returns how many blocks were left out. */
int kalman_correct(double *covariance, double *x, double *extra, const double *variance, const double *believed,
                   const double *gate, double *residual, double *taken, const double *measured) {
  double(*P)[SIZE] = (double(*)[SIZE])covariance, innovation[MEASURED], change[SIZE] = {0}, turned[4], norm = 0;
  const double *q = x + 3, *seen = measured + 3;
  const double sign = q[0] * seen[0] + q[1] * seen[1] + q[2] * seen[2] + q[3] * seen[3] >= 0 ? 2 : -2;
  int left_out = 0;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3; /* vector part of q* ⊗ seen */
    innovation[i] = measured[i] - x[i];
    innovation[3 + i] = sign * (q[0] * seen[1 + i] - seen[0] * q[1 + i] - (q[1 + j] * seen[1 + k] - q[1 + k] * seen[1 + j]));
  }
  for (int i = 6; i < MEASURED; ++i) innovation[i] = measured[1 + i] - x[1 + i];
  for (int block = 3; block >= 0; --block) {
    const int first = 3 * block;
    double *r = residual + first;
    for (int i = 0; i < 3; ++i) r[i] = innovation[first + i] - change[first + i];
    const int far = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] > gate[block];
    taken[block] = !(far && distance2(P, first, variance + first, r) > gate[4]);
    if (taken[block] == 0) {
      ++left_out;
      continue;
    }
    for (int i = first; i < first + 3; ++i) {
      double column[SIZE];
      memcpy(column, P[i], sizeof column);
      const double weight = 1 / (column[i] + variance[i]), gap = innovation[i] - change[i];
      for (int j = 0; j < SIZE; ++j) {
        const double gain = column[j] * weight;
        change[j] += gain * gap;
        for (int k = 0; k < SIZE; ++k) P[j][k] -= gain * column[k];
      }
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
  return left_out;
}
