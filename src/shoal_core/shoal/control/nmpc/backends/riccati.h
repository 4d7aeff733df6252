/* The stages of the QP, and its Newton steps by a Riccati recursion. Matrices are stored row by row, padded to NXP columns
 * so that inner loops fill whole vector registers. NX, NU, NROW (rows per stage), ROW_STATES (the first states, on which
 * rows depend), PRICES (kinds of rows) and ROW_PRICES (which of them each row pays) come from the compiler's command line. */
#include <math.h>
#include <string.h>

#define MAXN 64
#ifdef __AVX512F__ /* numbers in a vector register, and rows of a product that are summed up in registers at a time */
#define VL 8
#define ROWS 4
#else
#define VL 4
#define ROWS 2
#endif
#define PADDED(n) (((n) + VL - 1) / VL * VL)
#define NXP ((NX + 7) / 8 * 8)
#define NUP PADDED(NU)
#define NW (NXP + NUP) /* columns of [A B] */

typedef double vec __attribute__((vector_size(8 * VL), aligned(8)));

typedef struct { /* one inequality with its slack variables; soft rows have s and nu, boxes do not */
  double t, lam, s, nu;
  double dt, dlam, ds, dnu;
} Pair;

typedef struct {
  double l1, l2;
} Penalty;

static const int price_of_row[NROW] = {ROW_PRICES};

typedef struct {
  double AB[NX][NW], b[NXP];               /* dynamics: A in the first NXP columns, B behind it */
  double Q[NX][NXP], q[NXP], R[NU], r[NU]; /* cost */
  double C[NROW][ROW_STATES], h[NROW], gap[NROW];   /* rows on the first states */
  double lo[NU], hi[NU];
  Pair box_lo[NU], box_hi[NU], soft[NROW], hard[NROW];
  /* per factorisation */
  double Qt[NX][NXP], Rt[NU];
  double P[NX][NXP], K[NU][NXP], L[NU][NU];
  /* per solve */
  double qt[NXP], rt[NU], p[NXP], k[NU];
  double x[NXP], u[NU];   /* current δ */
  double dx[NXP], du[NU]; /* Newton step */
} Stage;

typedef struct { /* a plain struct so that Python can read it as eight doubles */
  double iterations, mu, step, slack_soft, slack_hard, residual, cost, status;
} Report;

/* out = init + sign · Mᵀ-or-not · W: out[i][:] = init[i][:] + sign Σ_j a[i·row + j·col] w[j][:], some rows at a time with
 * the sums in registers. Everything but the pointers is a constant at the call, so each call becomes its own unrolled
 * loop. */
static inline __attribute__((always_inline)) void multiply(int rows, int inner, int vectors, const double *a, int row,
                                                           int col, const double *w, int ldw, const double *init,
                                                           int ldi, double sign, double *out, int ldo) {
  for (int i = 0; i < rows; i += ROWS) {
    const int here = rows - i < ROWS ? rows - i : ROWS;
    vec sum[ROWS][NW / VL];
    for (int r = 0; r < here; ++r)
      for (int c = 0; c < vectors; ++c) sum[r][c] = init ? *(const vec *)(init + (i + r) * ldi + VL * c) : (vec){0};
    for (int j = 0; j < inner; ++j)
      for (int r = 0; r < here; ++r) {
        const double x = sign * a[(i + r) * row + j * col];
        for (int c = 0; c < vectors; ++c) sum[r][c] += x * *(const vec *)(w + j * ldw + VL * c);
      }
    for (int r = 0; r < here; ++r)
      for (int c = 0; c < vectors; ++c) *(vec *)(out + (i + r) * ldo + VL * c) = sum[r][c];
  }
}

/* Riccati recursion. K holds L⁻¹S with G = L Lᵀ, so that P −= KᵀK costs half and stays symmetric. */
static void factorise(Stage *st, int n) {
  memcpy(st[n].P, st[n].Qt, sizeof st[n].P);
  for (int k = n - 1; k >= 0; --k) {
    Stage *s = st + k;
    double PAB[NX][NW], SG[NUP][NW], inverse[NU];
    multiply(NX, NX, NW / VL, &s[1].P[0][0], NXP, 1, &s->AB[0][0], NW, 0, 0, 1.0, &PAB[0][0], NW);
    multiply(NU, NX, NW / VL, &s->AB[0][NXP], 1, NW, &PAB[0][0], NW, 0, 0, 1.0, &SG[0][0], NW);
    for (int i = 0; i < NU; ++i) {
      for (int j = 0; j <= i; ++j) {
        double v = SG[i][NXP + j] + (i == j ? s->Rt[i] : 0);
        for (int c = 0; c < j; ++c) v -= s->L[i][c] * s->L[j][c];
        s->L[i][j] = i == j ? sqrt(v > 1e-12 ? v : 1e-12) : v * inverse[j];
      }
      inverse[i] = 1.0 / s->L[i][i];
      vec sum[NXP / VL];
      for (int c = 0; c < NXP / VL; ++c) sum[c] = *(const vec *)&SG[i][VL * c];
      for (int j = 0; j < i; ++j)
        for (int c = 0; c < NXP / VL; ++c) sum[c] -= s->L[i][j] * *(const vec *)&s->K[j][VL * c];
      for (int c = 0; c < NXP / VL; ++c) *(vec *)&s->K[i][VL * c] = sum[c] * inverse[i];
    }
    multiply(NX, NX, NXP / VL, &s->AB[0][0], 1, NW, &PAB[0][0], NW, &s->Qt[0][0], NXP, 1.0, &s->P[0][0], NXP);
    multiply(NX, NU, NXP / VL, &s->K[0][0], 1, NXP, &s->K[0][0], NXP, &s->P[0][0], NXP, -1.0, &s->P[0][0], NXP);
  }
}

/* Newton step for the gradients qt, rt and the gaps e (dynamics residual of the current δ). */
static void solve(Stage *st, int n, double e[][NXP], const double *dx0) {
  for (int k = n; k >= 0; --k) {
    Stage *s = st + k;
    memcpy(s->p, s->qt, sizeof s->p);
    if (k == n) continue;
    Stage *nx = s + 1;
    double pb[NXP];
    for (int i = 0; i < NX; ++i) {
      double v = nx->p[i];
      for (int j = 0; j < NX; ++j) v += nx->P[i][j] * e[k][j];
      pb[i] = v;
    }
    double g[NU];
    for (int i = 0; i < NU; ++i) {
      double v = s->rt[i];
      for (int j = 0; j < NX; ++j) v += s->AB[j][NXP + i] * pb[j];
      g[i] = v;
    }
    for (int i = 0; i < NU; ++i) { /* k = L⁻¹ g */
      double v = g[i];
      for (int j = 0; j < i; ++j) v -= s->L[i][j] * s->k[j];
      s->k[i] = v / s->L[i][i];
    }
    for (int j = 0; j < NX; ++j) {
      const double v = pb[j];
      for (int c = 0; c < NXP; ++c) s->p[c] += v * s->AB[j][c];
    }
    for (int m = 0; m < NU; ++m) {
      const double v = s->k[m];
      for (int c = 0; c < NXP; ++c) s->p[c] -= v * s->K[m][c];
    }
  }
  memcpy(st[0].dx, dx0, sizeof st[0].dx);
  for (int k = 0; k < n; ++k) {
    Stage *s = st + k;
    double v[NU];
    for (int i = 0; i < NU; ++i) {
      double a = s->k[i];
      for (int j = 0; j < NX; ++j) a += s->K[i][j] * s->dx[j];
      v[i] = a;
    }
    for (int i = NU - 1; i >= 0; --i) { /* du = −L⁻ᵀ (k + K dx) */
      double a = v[i];
      for (int j = i + 1; j < NU; ++j) a -= s->L[j][i] * v[j];
      v[i] = a / s->L[i][i];
    }
    for (int i = 0; i < NU; ++i) s->du[i] = -v[i];
    Stage *nx = s + 1;
    for (int i = 0; i < NX; ++i) {
      double a = e[k][i];
      for (int j = 0; j < NX; ++j) a += s->AB[i][j] * s->dx[j];
      for (int j = 0; j < NU; ++j) a += s->AB[i][NXP + j] * s->du[j];
      nx->dx[i] = a;
    }
  }
}
