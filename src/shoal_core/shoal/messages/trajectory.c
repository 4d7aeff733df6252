/* Sampled motion read between its samples: the sums of trajectory.py in the same order, so that both agree bit by bit.
 *
 * A table has a row [time, n values, n slopes] for each sample, and one before them for what comes earlier. */

/* rows (count+1, 1+2n) from times (count), values (count, n) and the slopes outside the samples (n). */
void trajectory_prepare(int count, int n, const double *times, const double *values, const double *before,
                        const double *after, double *rows) {
  const int width = 1 + 2 * n;
  for (int k = 0; k <= count; ++k) {
    const int sample = k ? k - 1 : 0;
    const double *here = values + n * sample;
    double *row = rows + width * k;
    row[0] = times[sample];
    for (int i = 0; i < n; ++i) {
      row[1 + i] = here[i];
      row[1 + n + i] = k == 0       ? before[i]
                       : k == count ? after[i]
                                    : (here[n + i] - here[i]) / (times[sample + 1] - times[sample]);
    }
  }
}

typedef struct {
  const double *rows;
  long long count; /* samples */
} Table;

/* out (tables, points, n): every table at the same instants, which may come in any order. */
void trajectory_read(int tables, const Table *table, int n, int points, const double *at, double *out) {
  const int width = 1 + 2 * n;
  for (int t = 0; t < tables; ++t) {
    const double *rows = table[t].rows;
    const int count = (int)table[t].count;
    int k = 0;
    for (int m = 0; m < points; ++m, out += n) {
      if (m && at[m] < at[m - 1]) k = 0;
      while (k < count && rows[width * (k + 1)] <= at[m]) ++k;
      const double *row = rows + width * k, since = at[m] - row[0];
      for (int i = 0; i < n; ++i) out[i] = row[1 + i] + since * row[1 + n + i];
    }
  }
}

/* Whether a plan can be computed with: times (count) in order, all numbers finite, positions and velocities (count,3). */
int trajectory_valid(int count, const double *times, const double *positions, const double *velocities) {
  double sum = 0;
  for (int k = 0; k < count; ++k) {
    if (k && !(times[k] > times[k - 1])) return 0;
    sum += times[k];
  }
  for (int i = 0; i < 3 * count; ++i) sum += positions[i] + velocities[i]; /* one that is not finite spoils the sum */
  return count > 0 && sum - sum == 0;
}

/* Velocities (count,3) from one sample (count,3) to the next, the last of which goes on, and the table of such a motion. */
void trajectory_along(int count, const double *times, const double *positions, double *velocities, double *rows) {
  for (int k = 0; k < count; ++k)
    for (int i = 0; i < 3; ++i) {
      const double *p = positions + 3 * k + i;
      velocities[3 * k + i] = k < count - 1 ? (p[3] - *p) / (times[k + 1] - times[k]) : velocities[3 * k - 3 + i];
    }
  trajectory_prepare(count, 3, times, positions, velocities, velocities + 3 * count - 3, rows);
}

/* Smallest squared distance of `own` (points,3) from `others` (count,points,3), each at the same instant. */
double trajectory_closest(int count, int points, const double *others, const double *own) {
  double best = 1.0 / 0.0;
  for (int v = 0; v < count; ++v)
    for (int m = 0; m < points; ++m, others += 3) {
      const double *p = own + 3 * m, x = others[0] - p[0], y = others[1] - p[1], z = others[2] - p[2];
      const double square = x * x + y * y + z * z;
      best = square < best ? square : best;
    }
  return best;
}
