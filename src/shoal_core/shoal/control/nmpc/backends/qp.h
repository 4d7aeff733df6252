/* The structured QP of a real-time iteration and its solver: a primal-dual interior-point method on a Riccati recursion.
 *
 * min  Σ ½ δxᵀQδx + qᵀδx + ½ δuᵀRδu + rᵀδu + Σ_rows [ l1 s + ½ l2 s² + L1 σ + ½ L2 σ² ]
 * s.t. δx⁺ = Aδx + Bδu + b,   lo ≤ u+δu ≤ hi (hard),
 *      cᵀδx + h + s ≥ 0, s ≥ 0 (soft bound),   cᵀδx + h + gap + σ ≥ 0, σ ≥ 0 ("hard" bound, heavy slack): always feasible.
 */
#include "riccati.h"

static inline double row_value(const Stage *s, int i, const double *x) {
  double y = s->h[i];
  for (int c = 0; c < ROW_STATES; ++c) y += s->C[i][c] * x[c];
  return y;
}

/* Weight and gradient that a slacked row adds to its stage, for complementarity targets m1 = λt-target, m2 = νs-target. */
static inline void row_terms(const Pair *p, Penalty w, double y, double m1, double m2, double *weight, double *grad) {
  const double d1 = p->lam / p->t, d2 = p->nu / p->s, sum = w.l2 + d1 + d2;
  const double rt = y + p->s - p->t, rs = w.l1 + w.l2 * p->s - p->lam - p->nu;
  const double rhs = -rs + m1 / p->t + m2 / p->s;
  *weight = d1 * (w.l2 + d2) / sum;
  *grad = -(p->lam + m1 / p->t - d1 * rt - d1 / sum * (rhs - d1 * rt));
}

static inline void row_step(Pair *p, Penalty w, double y, double dy, double m1, double m2) {
  const double d1 = p->lam / p->t, d2 = p->nu / p->s, sum = w.l2 + d1 + d2;
  const double rt = y + p->s - p->t, rs = w.l1 + w.l2 * p->s - p->lam - p->nu;
  p->ds = (-rs + m1 / p->t + m2 / p->s - d1 * (dy + rt)) / sum;
  p->dt = dy + p->ds + rt;
  p->dlam = (m1 - p->lam * p->dt) / p->t;
  p->dnu = (m2 - p->nu * p->ds) / p->s;
}

static inline double shrink(double v, double d, double a) { return (d < 0 && -v / d < a) ? -v / d : a; }

/* Gradients for targets: m1 = sigma·mu − λt (− ΔtΔλ of the predictor when `corrected`). `matrices`: weights as well. */
static void assemble(Stage *st, int n, const Penalty *pen, double target, int corrected, int matrices) {
  for (int k = 0; k <= n; ++k) {
    Stage *s = st + k;
    if (matrices) memcpy(s->Qt, s->Q, sizeof s->Qt);
    for (int i = 0; i < NXP; ++i) s->qt[i] = s->q[i];
    for (int i = 0; i < NX; ++i)
      for (int c = 0; c < NXP; ++c) s->qt[c] += s->Q[i][c] * s->x[i];
    if (k > 0)
      for (int i = 0; i < NROW; ++i) {
        const double y = row_value(s, i, s->x);
        double weight = 0, grad = 0;
        for (int heavy = 0; heavy < 2; ++heavy) {
          Pair *p = heavy ? &s->hard[i] : &s->soft[i];
          const double m1 = target - p->lam * p->t - (corrected ? p->dt * p->dlam : 0);
          const double m2 = target - p->nu * p->s - (corrected ? p->ds * p->dnu : 0);
          double w, g;
          row_terms(p, pen[PRICES * heavy + price_of_row[i]], heavy ? y + s->gap[i] : y, m1, m2, &w, &g);
          weight += w;
          grad += g;
        }
        for (int c = 0; c < ROW_STATES; ++c) s->qt[c] += grad * s->C[i][c];
        if (matrices)
          for (int a = 0; a < ROW_STATES; ++a)
            for (int c = 0; c < ROW_STATES; ++c) s->Qt[a][c] += weight * s->C[i][a] * s->C[i][c];
      }
    if (k == n) continue;
    for (int i = 0; i < NU; ++i) {
      Pair *a = &s->box_lo[i], *b = &s->box_hi[i];
      const double da = a->lam / a->t, db = b->lam / b->t;
      const double ra = s->u[i] - s->lo[i] - a->t, rb = s->hi[i] - s->u[i] - b->t;
      const double ma = target - a->lam * a->t - (corrected ? a->dt * a->dlam : 0);
      const double mb = target - b->lam * b->t - (corrected ? b->dt * b->dlam : 0);
      if (matrices) s->Rt[i] = s->R[i] + da + db;
      s->rt[i] = s->r[i] + s->R[i] * s->u[i] - (a->lam + ma / a->t - da * ra) + (b->lam + mb / b->t - db * rb);
    }
  }
}

/* Steps of all pairs for the Newton step in dx, du, and the longest fraction of it that keeps them positive. */
static double pair_steps(Stage *st, int n, const Penalty *pen, double target, int corrected) {
  double alpha = 1.0;
  for (int k = 0; k <= n; ++k) {
    Stage *s = st + k;
    if (k > 0)
      for (int i = 0; i < NROW; ++i) {
        const double y = row_value(s, i, s->x);
        double dy = 0;
        for (int c = 0; c < ROW_STATES; ++c) dy += s->C[i][c] * s->dx[c];
        for (int heavy = 0; heavy < 2; ++heavy) {
          Pair *p = heavy ? &s->hard[i] : &s->soft[i];
          const double m1 = target - p->lam * p->t - (corrected ? p->dt * p->dlam : 0);
          const double m2 = target - p->nu * p->s - (corrected ? p->ds * p->dnu : 0);
          row_step(p, pen[PRICES * heavy + price_of_row[i]], heavy ? y + s->gap[i] : y, dy, m1, m2);
          alpha = shrink(p->t, p->dt, alpha);
          alpha = shrink(p->lam, p->dlam, alpha);
          alpha = shrink(p->s, p->ds, alpha);
          alpha = shrink(p->nu, p->dnu, alpha);
        }
      }
    if (k == n) continue;
    for (int i = 0; i < NU; ++i)
      for (int up = 0; up < 2; ++up) {
        Pair *p = up ? &s->box_hi[i] : &s->box_lo[i];
        const double r = up ? s->hi[i] - s->u[i] - p->t : s->u[i] - s->lo[i] - p->t;
        const double m = target - p->lam * p->t - (corrected ? p->dt * p->dlam : 0);
        p->dt = (up ? -s->du[i] : s->du[i]) + r;
        p->dlam = (m - p->lam * p->dt) / p->t;
        alpha = shrink(p->t, p->dt, alpha);
        alpha = shrink(p->lam, p->dlam, alpha);
      }
  }
  return alpha;
}

static double complementarity(const Stage *st, int n, double a, int *count) {
  double sum = 0;
  int m = 0;
  for (int k = 0; k <= n; ++k) {
    const Stage *s = st + k;
    if (k > 0)
      for (int i = 0; i < NROW; ++i)
        for (int heavy = 0; heavy < 2; ++heavy) {
          const Pair *p = heavy ? &s->hard[i] : &s->soft[i];
          sum += (p->t + a * p->dt) * (p->lam + a * p->dlam) + (p->s + a * p->ds) * (p->nu + a * p->dnu);
          m += 2;
        }
    if (k < n)
      for (int i = 0; i < NU; ++i) {
        const Pair *p = &s->box_lo[i], *q = &s->box_hi[i];
        sum += (p->t + a * p->dt) * (p->lam + a * p->dlam) + (q->t + a * q->dt) * (q->lam + a * q->dlam);
        m += 2;
      }
  }
  *count = m;
  return sum / m;
}

static void start_pairs(Stage *st, int n, const Penalty *pen, double mu0) {
  for (int k = 0; k <= n; ++k) {
    Stage *s = st + k;
    if (k > 0)
      for (int i = 0; i < NROW; ++i)
        for (int heavy = 0; heavy < 2; ++heavy) {
          Pair *p = heavy ? &s->hard[i] : &s->soft[i];
          const Penalty w = pen[PRICES * heavy + price_of_row[i]];
          const double y = row_value(s, i, s->x) + (heavy ? s->gap[i] : 0);
          /* the analytic centre of one row: λ t = ν s = mu0 with λ + ν = l1 + l2 s, approximately */
          p->s = y < 0 ? -y + 0.1 : 2 * mu0 / w.l1;
          p->t = y + p->s > 1e-2 ? y + p->s : 1e-2;
          p->lam = fmin(mu0 / p->t, 0.9 * w.l1);
          p->nu = fmax(w.l1 + w.l2 * p->s - p->lam, mu0 / p->s);
        }
    if (k < n)
      for (int i = 0; i < NU; ++i) {
        s->box_lo[i].t = fmax(s->u[i] - s->lo[i], 0.05 * (s->hi[i] - s->lo[i]));
        s->box_hi[i].t = fmax(s->hi[i] - s->u[i], 0.05 * (s->hi[i] - s->lo[i]));
        s->box_lo[i].lam = mu0 / s->box_lo[i].t;
        s->box_hi[i].lam = mu0 / s->box_hi[i].t;
      }
  }
}

static void gaps(const Stage *st, int n, double e[][NXP]) {
  for (int k = 0; k < n; ++k) {
    const Stage *s = st + k;
    for (int i = 0; i < NX; ++i) {
      double v = s->b[i] - s[1].x[i];
      for (int j = 0; j < NX; ++j) v += s->AB[i][j] * s->x[j];
      for (int j = 0; j < NU; ++j) v += s->AB[i][NXP + j] * s->u[j];
      e[k][i] = v;
    }
  }
}

static void advance(Stage *st, int n, double a) {
  for (int k = 0; k <= n; ++k) {
    Stage *s = st + k;
    for (int i = 0; i < NX; ++i) s->x[i] += a * s->dx[i];
    if (k > 0)
      for (int i = 0; i < NROW; ++i)
        for (int heavy = 0; heavy < 2; ++heavy) {
          Pair *p = heavy ? &s->hard[i] : &s->soft[i];
          p->t += a * p->dt;
          p->lam += a * p->dlam;
          p->s += a * p->ds;
          p->nu += a * p->dnu;
        }
    if (k < n)
      for (int i = 0; i < NU; ++i) {
        s->u[i] += a * s->du[i];
        s->box_lo[i].t += a * s->box_lo[i].dt;
        s->box_lo[i].lam += a * s->box_lo[i].dlam;
        s->box_hi[i].t += a * s->box_hi[i].dt;
        s->box_hi[i].lam += a * s->box_hi[i].dlam;
      }
  }
}

/* The QP without its inequalities: one factorisation. Most steps of a calm run end here, exactly solved; returns 1 then. */
static int unconstrained(Stage *st, int n, Report *rep) {
  static __thread double e[MAXN][NXP];
  const double zero[NXP] = {0};
  for (int k = 0; k <= n; ++k) {
    memcpy(st[k].Qt, st[k].Q, sizeof st[k].Qt);
    memcpy(st[k].qt, st[k].q, sizeof st[k].qt);
    if (k == n) continue;
    memcpy(st[k].Rt, st[k].R, sizeof st[k].Rt);
    memcpy(st[k].rt, st[k].r, sizeof st[k].rt);
    memcpy(e[k], st[k].b, sizeof e[k]);
  }
  factorise(st, n);
  solve(st, n, e, zero);
  for (int k = 0; k <= n; ++k) {
    const Stage *s = st + k;
    for (int i = 0; k < n && i < NU; ++i)
      if (!(s->du[i] >= s->lo[i] && s->du[i] <= s->hi[i])) return 0; /* also when not a number */
    for (int i = 0; k > 0 && i < NROW; ++i)
      if (!(row_value(s, i, s->dx) >= 0)) return 0;
  }
  for (int k = 0; k <= n; ++k) {
    memcpy(st[k].x, st[k].dx, sizeof st[k].x);
    if (k < n) memcpy(st[k].u, st[k].du, sizeof st[k].u);
  }
  rep->iterations = rep->mu = rep->residual = 0;
  return 1;
}

/* Mehrotra's predictor-corrector; returns 0 when the tolerance is met, 1 at the iteration limit, 2 when not finite. */
static int interior_point(Stage *st, int n, const Penalty *pen, int max_iter, double tol, Report *rep) {
  static __thread double e[MAXN][NXP];
  const double zero[NXP] = {0};
  int count = 0, it = 0;
  start_pairs(st, n, pen, 1.0);
  double mu = 0, residual = 1.0;
  for (int k = 0; k <= n; ++k) { /* no step yet: complementarity() reads the deltas */
    Stage *s = st + k;
    for (int i = 0; i < NROW; ++i) s->soft[i].dt = s->soft[i].dlam = s->soft[i].ds = s->soft[i].dnu = 0;
    for (int i = 0; i < NROW; ++i) s->hard[i].dt = s->hard[i].dlam = s->hard[i].ds = s->hard[i].dnu = 0;
    for (int i = 0; i < NU; ++i) s->box_lo[i].dt = s->box_lo[i].dlam = s->box_hi[i].dt = s->box_hi[i].dlam = 0;
  }
  mu = complementarity(st, n, 0.0, &count);
  for (; it < max_iter && (mu > tol || residual > 1e-2); ++it) {
    gaps(st, n, e);
    assemble(st, n, pen, 0.0, 0, 1);
    factorise(st, n);
    solve(st, n, e, zero);
    double alpha = pair_steps(st, n, pen, 0.0, 0);
    const double mu_aff = complementarity(st, n, alpha, &count);
    const double ratio = mu_aff / mu, sigma = ratio * ratio * ratio;
    if (!isfinite(mu_aff)) return 2;
    assemble(st, n, pen, sigma * mu, 1, 0);
    solve(st, n, e, zero);
    alpha = pair_steps(st, n, pen, sigma * mu, 1);
    alpha = fmin(1.0, 0.995 * alpha);
    advance(st, n, alpha);
    residual *= 1.0 - alpha; /* all linear residuals shrink by 1 − α */
    mu = complementarity(st, n, 0.0, &count);
    if (!isfinite(mu)) return 2;
  }
  rep->iterations = it;
  rep->mu = mu;
  rep->residual = residual;
  return mu > tol || residual > 1e-2;
}
