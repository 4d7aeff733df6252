/* Bounded least squares by a primal active set: min ½ uᵀHu − (Gw)ᵀu, lower ≤ u ≤ upper, H positive definite.
 *
 * allocation.py has the same in numpy for where there is no compiler, and tests hold both against scipy's solvers. */
#include <math.h>

#define MOST 160 /* inputs */

/* x of L Lᵀ x = b in place, with the lower triangle of A (stride MOST) overwritten by L. */
static void solve(int n, double (*A)[MOST], double *x) {
  for (int j = 0; j < n; ++j) {
    double d = A[j][j];
    for (int k = 0; k < j; ++k) d -= A[j][k] * A[j][k];
    A[j][j] = d = sqrt(d > 1e-300 ? d : 1e-300);
    for (int i = j + 1; i < n; ++i) {
      double sum = A[i][j];
      for (int k = 0; k < j; ++k) sum -= A[i][k] * A[j][k];
      A[i][j] = sum / d;
    }
    double sum = x[j];
    for (int k = 0; k < j; ++k) sum -= A[j][k] * x[k];
    x[j] = sum / d;
  }
  for (int j = n - 1; j >= 0; --j) {
    double sum = x[j];
    for (int k = j + 1; k < n; ++k) sum -= A[k][j] * x[k];
    x[j] = sum / A[j][j];
  }
}

/* `free_gain` (n×6) gives the answer as long as that is within the bounds. Returns the number of factorisations. */
int allocation_solve(int n, const double *H, const double *G, const double *free_gain, const double *lower,
                     const double *upper, const double *wrench, double *u) {
  double g[MOST], x[MOST], A[MOST][MOST];
  int side[MOST], index[MOST], saturated = 0;
  for (int i = 0; i < n; ++i) {
    double sum = 0, pull = 0;
    for (int k = 0; k < 6; ++k) sum += free_gain[6 * i + k] * wrench[k], pull += G[6 * i + k] * wrench[k];
    g[i] = pull;
    side[i] = sum < lower[i] ? -1 : sum > upper[i] ? 1 : 0;
    u[i] = side[i] < 0 ? lower[i] : side[i] > 0 ? upper[i] : sum;
    saturated |= side[i];
  }
  if (!saturated) return 0;
  double largest = 0;
  for (int i = 0; i < n; ++i) largest = fabs(g[i]) > largest ? fabs(g[i]) : largest;
  int rounds = 0;
  for (; rounds < 10 * n + 20; ++rounds) {
    int m = 0;
    for (int i = 0; i < n; ++i)
      if (!side[i]) index[m++] = i;
    for (int a = 0; a < m; ++a) {
      const double *row = H + n * index[a];
      double sum = g[index[a]];
      for (int j = 0; j < n; ++j)
        if (side[j]) sum -= row[j] * u[j];
      x[a] = sum;
      for (int b = 0; b <= a; ++b) A[a][b] = row[index[b]];
    }
    solve(m, A, x);
    double step = 1;
    int blocks = -1;
    for (int a = 0; a < m; ++a) {
      const int i = index[a];
      const double bound = x[a] < lower[i] ? lower[i] : upper[i];
      if (x[a] >= lower[i] && x[a] <= upper[i]) continue;
      const double share = (bound - u[i]) / (x[a] - u[i]);
      if (blocks < 0 || share < step) step = share, blocks = i;
    }
    for (int a = 0; a < m; ++a) u[index[a]] = blocks < 0 ? x[a] : u[index[a]] + step * (x[a] - u[index[a]]);
    if (blocks >= 0) { /* as far as the first bound; that input stays there */
      double there = 0;
      for (int a = 0; a < m; ++a)
        if (index[a] == blocks) there = x[a];
      side[blocks] = there < lower[blocks] ? -1 : 1;
      u[blocks] = side[blocks] < 0 ? lower[blocks] : upper[blocks];
      continue;
    }
    double worst = 1e-12 * largest;
    int release = -1;
    for (int i = 0; i < n; ++i) {
      if (!side[i] || lower[i] == upper[i]) continue;
      double slope = -g[i];
      for (int j = 0; j < n; ++j) slope += H[n * i + j] * u[j];
      if (side[i] * slope > worst) worst = side[i] * slope, release = i;
    }
    if (release < 0) return rounds + 1;
    side[release] = 0;
  }
  return rounds; /* within the bounds all the same */
}

/* As often as asked for, to be timed without Python. */
void allocation_repeat(int times, int n, const double *H, const double *G, const double *free_gain, const double *lower,
                       const double *upper, int count, const double *wrenches, double *u) {
  for (int i = 0; i < times; ++i) allocation_solve(n, H, G, free_gain, lower, upper, wrenches + 6 * (i % count), u);
}
