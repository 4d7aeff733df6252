/* One real-time iteration in one call: linearise every stage, solve the QP, take the step.
 *
 * NX, NU, NROW (rows per stage), NS, NG (lengths of the stage and the global parameters) and FIRST (the first state that the
 * motion depends on) come from the compiler's command line. The states 3 to 6 are a unit quaternion, the three before it a
 * position, whatever comes behind it velocities. */
#include "qp.h"

#include "linearise.h"

/* weights: input, proximal, rate (stage 0). limits: lo, hi, previous command, rate limit of stage 0: 4×NU.
 * free, n×NU: the inputs that cost nothing. * max_step: position, quaternion, velocity. x (n+1)×NX and u n×NU are read as the guess and overwritten. */
int rti_step(int n, double *x, double *u, const double *dt, const double *sp, const double *g, const double *weights,
             const double *limits, const double *free, const double *penalties, const double *max_step, int max_iter,
             double tol, Stage *st, casadi_int *iw, double *w, Report *rep) {
  const double *lo = limits, *hi = limits + NU, *prev = limits + 2 * NU, *rate = limits + 3 * NU;
  Penalty pen[2 * PRICES]; /* soft ones, then hard ones */
  if (n >= MAXN) return 3;
  for (int i = 0; i < 2 * PRICES; ++i) {
    pen[i].l1 = penalties[2 * i];
    pen[i].l2 = penalties[2 * i + 1];
  }
  linearise(st, n, x, u, dt, sp, g, iw, w, &rep->cost);
  for (int k = 0; k <= n; ++k) {
    Stage *s = st + k;
    memset(s->x, 0, sizeof s->x);
    memset(s->u, 0, sizeof s->u);
    memset(s->dx, 0, sizeof s->dx);
    if (k == n) continue;
    const double scale = dt[k] / 0.1;
    for (int i = 0; i < NU; ++i) {
      const double ui = u[NU * k + i], off = ui - free[NU * k + i];
      const double wr = k ? 0 : weights[2];
      s->R[i] = scale * (weights[0] + weights[1]) + wr;
      s->r[i] = scale * weights[0] * off + wr * (ui - prev[i]);
      rep->cost += 0.5 * (scale * weights[0] * off * off + wr * (ui - prev[i]) * (ui - prev[i]));
      s->lo[i] = (k ? lo[i] : fmax(lo[i], fmin(hi[i] - 1e-3, prev[i] - rate[i]))) - ui;
      s->hi[i] = (k ? hi[i] : fmin(hi[i], fmax(lo[i] + 1e-3, prev[i] + rate[i]))) - ui;
    }
  }
  int status = unconstrained(st, n, rep) ? 0 : interior_point(st, n, pen, max_iter, tol, rep);
  double a = 1.0;
  rep->slack_soft = rep->slack_hard = 0;
  for (int k = 1; k <= n && status < 2; ++k) {
    double dp = 0, dq = 0, dv = 0;
    for (int i = 0; i < 3; ++i) dp += st[k].x[i] * st[k].x[i];
    for (int i = 3; i < 7; ++i) dq += st[k].x[i] * st[k].x[i];
    for (int i = 7; i < NX; ++i) dv += st[k].x[i] * st[k].x[i];
    if (!isfinite(dp + dq + dv)) status = 2;
    a = fmin(a, fmin(max_step[0] / sqrt(dp + 1e-12), fmin(max_step[1] / sqrt(dq + 1e-12), max_step[2] / sqrt(dv + 1e-12))));
    for (int i = 0; i < NROW; ++i) {
      const double y = row_value(&st[k], i, st[k].x);
      rep->slack_soft = fmax(rep->slack_soft, -y);
      rep->slack_hard = fmax(rep->slack_hard, -(y + st[k].gap[i]));
    }
  }
  rep->step = a;
  rep->status = status;
  if (status >= 2) return status;
  for (int k = 0; k <= n; ++k) {
    double norm = 0;
    for (int i = 0; i < NX; ++i) x[NX * k + i] += a * st[k].x[i];
    for (int i = 3; i < 7; ++i) norm += x[NX * k + i] * x[NX * k + i];
    norm = 1.0 / sqrt(norm + 1e-300);
    for (int i = 3; i < 7; ++i) x[NX * k + i] *= norm;
    if (k < n)
      for (int i = 0; i < NU; ++i) {
        const double l = st[k].lo[i] + u[NU * k + i], h = st[k].hi[i] + u[NU * k + i];
        u[NU * k + i] = fmin(h, fmax(l, u[NU * k + i] + a * st[k].u[i]));
      }
  }
  return status;
}

int stage_bytes(void) { return (int)sizeof(Stage); }
