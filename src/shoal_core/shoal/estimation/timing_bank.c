/* One step of the bank of timing hypotheses; timing_scores.py has the same in numpy, and tests hold both together. */
#include <math.h>

#define AXES 3
#define EDGE 1e-9 /* seconds */
#define MOST_PIECES 64
#define MOST_THRUSTERS 256

struct bank {
  int hypotheses, thrusters;
  double gyro_variance, spread_variance; /* of the gyro; spread of the predictions that counts half */
  double slow_s, fast_s;                 /* memories of the two scores */
  double apart_s;                        /* totals that differ by more are rivals */
  const double *lag_s, *delay_s, *prior; /* (H) sorted by delay; the last one is that thrust does nothing */
  const double *thrust_to_rate;          /* (3,n) rad/s² per newton */
  const double *ratio;                   /* (n) each thruster's lag to the hypothesis's; the first below 0: all alike */
  const double *wander;                  /* (3) variance of the angular acceleration, per second */
  double *force;                         /* (H,n) newtons */
  double *rate, *accel;                  /* (H,3) filtered, and what the model misses */
  double *slow, *fast;                   /* (H,3) mean squared innovations */
  double *covariance;                    /* (3,3): of rate; rate and acceleration; acceleration */
  double *informative;                   /* (1) samples, weighted by what they tell */
  const double *command_s, *command;     /* (C), (C,n) oldest first */
};

enum { BEST_SLOW, GAIN_SLOW, IDLE_SLOW, BEST_FAST, GAIN_FAST, IDLE_FAST, MARGIN, WEIGHT };

/* Force and impulse of one hypothesis over the pieces of the interval. */
static void lag_over(int n, int pieces, const double *lasting, const double *const *commands, double lag,
                     const double *ratio, double *force, double *impulse) {
  for (int i = 0; i < n; ++i) impulse[i] = 0;
  if (ratio[0] >= 0) {
    for (int p = 0; p < pieces; ++p)
      for (int i = 0; i < n; ++i) {
        const double own = lag * ratio[i], decay = own > 1e-6 ? exp(-lasting[p] / own) : 0;
        const double command = commands[p] ? commands[p][i] : 0, gap = force[i] - command;
        impulse[i] += command * lasting[p] + (own > 1e-6 ? own * (1 - decay) : 0) * gap;
        force[i] = command + decay * gap;
      }
    return;
  }
  for (int p = 0; p < pieces; ++p) {
    const double decay = lag > 1e-6 ? exp(-lasting[p] / lag) : 0, left = lag > 1e-6 ? lag * (1 - decay) : 0;
    for (int i = 0; i < n; ++i) {
      const double command = commands[p] ? commands[p][i] : 0, gap = force[i] - command;
      impulse[i] += command * lasting[p] + left * gap;
      force[i] = command + decay * gap;
    }
  }
}

/* The commands in effect over [begin, end], in the time they were given. */
static int split(const struct bank *b, int given, double begin, double end, double *lasting, const double **commands) {
  int k = given - 1, pieces = 0;
  while (k >= 0 && b->command_s[k] > begin + EDGE) --k;
  while (pieces < MOST_PIECES) {
    double until = k + 1 < given && b->command_s[k + 1] < end && pieces < MOST_PIECES - 1 ? b->command_s[k + 1] : end;
    if (until - begin > EDGE) {
      lasting[pieces] = until - begin;
      commands[pieces++] = k < 0 ? 0 : b->command + (long)k * b->thrusters;
      begin = until;
    }
    if (until >= end) break;
    ++k;
  }
  return pieces;
}

static double score(const double *squares, double floor, double prior) {
  return log((squares[0] + floor) * (squares[1] + floor) * (squares[2] + floor)) + prior;
}

/* given: commands; current: hypothesis in use; from, to: the interval; measured, drift (3): gyro, and the angular
 * acceleration without thrust; earliest: smallest delay that can be told from others. */
void timing_bank_step(const struct bank *b, int given, int current, const double *span, const double *measured,
                      const double *drift, double *report) {
  const double from = span[0], to = span[1], earliest = span[2], h = to - from, floor = b->gyro_variance / 4;
  const int n = b->thrusters, count = b->hypotheses;
  double lasting[MOST_PIECES], impulse[MOST_THRUSTERS], first[AXES], second[AXES], spread = 0, weight, share[2];
  const double *commands[MOST_PIECES];
  int pieces = 0;
  for (int a = 0; a < AXES; ++a) {
    double *P = b->covariance + 3 * a;
    const double p00 = P[0] + h * (2 * P[1] + h * P[2]) + h * h * h / 3 * b->wander[a];
    const double p01 = P[1] + h * P[2] + h * h / 2 * b->wander[a], p11 = P[2] + h * b->wander[a];
    const double inverse = 1 / (p00 + b->gyro_variance);
    first[a] = p00 * inverse, second[a] = p01 * inverse;
    P[0] = p00 - first[a] * p00, P[1] = p01 - first[a] * p01, P[2] = p11 - second[a] * p01;
  }
  for (int k = 0; k < count; ++k) { /* predictions, into rate */
    if (k == 0 || b->delay_s[k] != b->delay_s[k - 1])
      pieces = split(b, given, from - b->delay_s[k], to - b->delay_s[k], lasting, commands);
    lag_over(n, pieces, lasting, commands, b->lag_s[k], b->ratio, b->force + (long)n * k, impulse);
    for (int a = 0; a < AXES; ++a) {
      double pushed = 0;
      for (int i = 0; i < n; ++i) pushed += b->thrust_to_rate[n * a + i] * impulse[i];
      b->rate[AXES * k + a] += (drift[a] + b->accel[AXES * k + a]) * h + pushed;
    }
  }
  for (int k = 0; k < count - 1; ++k) {
    double gap = 0;
    if (b->delay_s[k] < earliest) continue;
    for (int a = 0; a < AXES; ++a) {
      const double one = b->rate[AXES * k + a] - b->rate[AXES * current + a];
      gap += one * one;
    }
    if (gap > spread) spread = gap;
  }
  weight = spread / (spread + b->spread_variance);
  *b->informative += weight;
  for (int m = 0; m < 2; ++m) /* the memory; while it is not full, the mean of all so far */
    share[m] = weight > 0 ? fmax(weight * (1 - exp(-h / (m ? b->fast_s : b->slow_s))), weight / *b->informative) : 0;
  const double total = b->lag_s[current] + b->delay_s[current];
  double best[2] = {HUGE_VAL, HUGE_VAL}, now[2] = {0}, idle[2] = {0}, rival = HUGE_VAL;
  int which[2] = {current, current};
  for (int k = 0; k < count; ++k) {
    double *slow = b->slow + AXES * k, *fast = b->fast + AXES * k;
    for (int a = 0; a < AXES; ++a) {
      const double e = measured[a] - b->rate[AXES * k + a];
      b->rate[AXES * k + a] += first[a] * e;
      b->accel[AXES * k + a] += second[a] * e;
      slow[a] += share[0] * (e * e - slow[a]);
      fast[a] += share[1] * (e * e - fast[a]);
    }
    if (b->delay_s[k] < earliest && k != current) continue;
    if (k == count - 1) {
      idle[0] = score(slow, floor, b->prior[k]), idle[1] = score(fast, floor, b->prior[k]);
      continue;
    }
    const double scores[2] = {score(slow, floor, b->prior[k]), score(fast, floor, b->prior[k])};
    for (int m = 0; m < 2; ++m) {
      if (k == current) now[m] = scores[m];
      if (scores[m] < best[m]) best[m] = scores[m], which[m] = k;
    }
    if (fabs(b->lag_s[k] + b->delay_s[k] - total) > b->apart_s && scores[0] < rival) rival = scores[0];
  }
  report[BEST_SLOW] = which[0], report[GAIN_SLOW] = now[0] - best[0], report[IDLE_SLOW] = now[0] - idle[0];
  report[BEST_FAST] = which[1], report[GAIN_FAST] = now[1] - best[1], report[IDLE_FAST] = now[1] - idle[1];
  report[MARGIN] = rival - now[0], report[WEIGHT] = weight;
}
