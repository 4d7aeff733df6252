/* What a control step fills into the optimisation, in one call instead of some forty on small arrays: which neighbours
 * count, where to go, where to look, and the last solution shifted as the first guess. aim.py calls it; the same in
 * numpy, by which it is tested, is in others.py, nmpc.py, guidance/give_way.py and frames.py. */
#include <math.h>
#include <string.h>

#define NX 13
#define MOST 32 /* places for neighbours */
#define FAR_M 1e3

typedef struct {
  int points, places, thrusters, width, on_ring, spare; /* width: of a row of `stages` */
  double soft_m, hard_m;                                /* distances to keep */
  double approach_mps, top_mps;                         /* speed from afar above the reference's; the vehicle's own */
  double turn_rad, range_m, least_way_m;                /* give-way rule */
  const double *reach_m, *fastest_m, *turns_rad;        /* (points) how far the reference may be ahead, and get away */
  double *x, *u;                                        /* the guess: (points,13), (points-1,thrusters) */
  double *stages;                                       /* (points,width): position, velocity, attitude, neighbours */
  double *sight;                                        /* (places) 1: must be seen */
} Aim;

static double square(const double *a, const double *b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/* First those that must be seen, then the nearest over the horizon; how many were chosen. */
static int choose(const Aim *a, const double *own, int known, const double *positions, const char *must_see, int *best) {
  double nearest[MOST];
  int count = 0;
  for (int v = 0; v < known; ++v) {
    double d = INFINITY;
    for (int m = 0; m < a->points; ++m) d = fmin(d, square(positions + 3 * (a->points * v + m), own, 3));
    int k = count;
    while (k > 0 && (must_see[v] > must_see[best[k - 1]] || (must_see[v] == must_see[best[k - 1]] && d < nearest[k - 1])))
      --k;
    if (k == a->places) continue;
    if (count < a->places) ++count;
    for (int i = count - 1; i > k; --i) best[i] = best[i - 1], nearest[i] = nearest[i - 1];
    best[k] = v, nearest[k] = d;
  }
  return count;
}

static void place_neighbours(const Aim *a, int count, const int *best, const double *positions, const double *margins,
                             const char *must_see) {
  const int k = a->places;
  for (int j = 0; j < k; ++j) {
    const int used = j < count;
    const double margin = used ? margins[best[j]] : 0;
    a->sight[j] = used && must_see[best[j]];
    for (int m = 0; m < a->points; ++m) {
      double *row = a->stages + a->width * m + 10;
      for (int i = 0; i < 3; ++i) row[3 * j + i] = used ? positions[3 * (a->points * best[j] + m) + i] : FAR_M;
      row[3 * k + j] = used ? a->soft_m + margin : 1;
      row[4 * k + j] = used ? a->hard_m + margin : 1;
    }
  }
}

/* Towards those that must be seen; two on opposite sides give no direction, then `otherwise`. */
static double heading(const Aim *a, int m, const double *from, int seen, const int *best, const double *positions,
                      double otherwise) {
  double north = 0, east = 0;
  for (int j = 0; j < seen; ++j) {
    const double *to = positions + 3 * (a->points * best[j] + m);
    const double n = to[0] - from[0], e = to[1] - from[1];
    const double length = seen > 1 ? fmax(sqrt(n * n + e * e), 1e-3) : 1;
    north += n / length;
    east += e / length;
  }
  const double blurred = seen > 1 ? 1e-2 : 1e-5;
  return north * north + east * east > blurred * blurred ? atan2(east, north) : otherwise;
}

/* Angle by which the way to go is turned to starboard, while somebody is in the way. */
static double give_way(const Aim *a, const double *own, const double *goal, int known, const double *positions) {
  const double north = goal[0] - own[0], east = goal[1] - own[1], length = hypot(north, east);
  double turn = 0;
  if (length < a->least_way_m) return 0;
  for (int v = 0; v < known; ++v) {
    const double *p = positions + 3 * a->points * v, *last = p + 3 * (a->points - 1);
    const double n = last[0] - p[0], e = last[1] - p[1]; /* its own motion */
    const double distance = sqrt(square(p, own, 3)), ahead = north * (p[0] - own[0]) + east * (p[1] - own[1]);
    if (ahead <= 0 || distance - a->soft_m > fmin(a->range_m, length)) continue;
    if (hypot(north - n, east - e) < a->least_way_m) continue; /* it goes our way */
    const double facing = ahead / length / fmax(distance, 1e-6);
    const double closing = fmin(1, 1 - (n * (p[0] - own[0]) + e * (p[1] - own[1])) / ahead);
    turn = fmax(turn, facing * closing * fmin(1, 1 - (distance - a->soft_m) / a->range_m));
  }
  return a->turn_rad * turn;
}

/* From attitude `q` towards the level one of that heading, by at most the allowed angle. */
static void turn_towards(const double *q, double yaw, double allowed, double *out) {
  double c = cos(yaw / 2), s = sin(yaw / 2), dot = c * q[0] + s * q[3];
  if (dot < 0) c = -c, s = -s, dot = -dot;
  const double half = acos(fmin(dot, 1)), share = fmin(1, allowed / fmax(2 * half, 1e-9)), sine = sin(half);
  const double goal[4] = {c, 0, 0, s};
  memcpy(out, goal, sizeof goal);
  if (share >= 1) return;
  const double from = sine < 1e-6 ? 1 - share : sin((1 - share) * half) / sine;
  const double to = sine < 1e-6 ? share : sin(share * half) / sine;
  double norm = 0;
  for (int i = 0; i < 4; ++i) out[i] = from * q[i] + to * goal[i], norm += out[i] * out[i];
  for (int i = 0; i < 4; ++i) out[i] /= sqrt(norm);
}

/* The reference of point m, not further ahead than the reach allows and no faster than the vehicle is. */
static void hold(const Aim *a, int m, const double *state, const double *behind, double distance, double *row) {
  const double over = distance - a->reach_m[m];
  if (over > 0)
    for (int i = 0; i < 3; ++i) {
      row[i] -= over * (behind[i] / distance);
      row[3 + i] += a->approach_mps * (behind[i] / distance);
    }
  const double length = sqrt(square(row, state, 3)), most = a->fastest_m[m];
  if (length > most)
    for (int i = 0; i < 3; ++i) {
      const double gap = row[i] - state[i];
      row[i] = state[i] + gap * (most / length);
      row[3 + i] = a->top_mps * gap / length;
    }
}

/* wanted (points,columns): position, velocity and, with seven columns, heading. positions (known,points,3). 0:
 * the reference is not finite, nothing was done. */
int aim(const Aim *a, const double *state, const double *wanted, int columns, int known, const double *positions,
        const double *margins, const char *must_see, int cold) {
  double sum = 0;
  for (int m = 0; m < a->points; ++m) sum += wanted[columns * m] + wanted[columns * m + 1] + wanted[columns * m + 2];
  if (!isfinite(sum)) return 0;
  const double *q = state + 3;
  const double yaw = atan2(2 * (q[0] * q[3] + q[1] * q[2]), 1 - 2 * (q[2] * q[2] + q[3] * q[3]));
  int best[MOST], seen = 0;
  const int count = choose(a, state, known, positions, must_see, best);
  place_neighbours(a, count, best, positions, margins, must_see);
  while (seen < count && must_see[best[seen]]) ++seen;
  const double turn = give_way(a, state, wanted + columns * (a->points - 1), known, positions);
  const double c = cos(turn), s = sin(turn);
  double behind[3], distance = 0; /* now; held within reach, while the reference's own motion is kept */
  for (int m = 0; m < a->points; ++m) {
    const double *goal = wanted + columns * m;
    double *row = a->stages + a->width * m, way[3] = {goal[0] - state[0], goal[1] - state[1], goal[2] - state[2]};
    memcpy(row, goal, 6 * sizeof *row);
    if (turn != 0) { /* NED: a positive turn is to starboard */
      const double north = way[0];
      way[0] = c * north - s * way[1];
      way[1] = s * north + c * way[1];
      row[0] = state[0] + way[0];
      row[1] = state[1] + way[1];
    }
    if (m == 0) memcpy(behind, way, sizeof way), distance = sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
    if (!a->on_ring) hold(a, m, state, behind, distance, row);
    const double *from = cold ? state : a->x + NX * m;
    const double otherwise = !seen && columns > 6 ? goal[6] : yaw;
    const double look = seen ? heading(a, m, from, seen, best, positions, otherwise) : otherwise;
    turn_towards(q, look, a->turns_rad[m], row + 6);
  }
  return 1;
}

/* The guess moved on along the grid, begun at `state`. Point m lies `share` of the way from `index` to the next; the
 * thrust is that of `index`. fastest: velocities beyond which a guess makes the integration unstable (6). */
void shift(const Aim *a, const double *state, const int *index, const double *share, const double *fastest) {
  for (int m = 0; m < a->points; ++m) { /* in place: nothing moves towards the end */
    const double *here = a->x + NX * index[m], *next = here + NX, p = share[m];
    double *x = a->x + NX * m, facing = 0, norm = 0;
    if (m == 0)
      memcpy(x, state, NX * sizeof *x);
    else
      for (int i = 0; i < NX; ++i) x[i] = (1 - p) * here[i] + p * next[i];
    for (int i = 0; m > 0 && i < 6; ++i) x[7 + i] = fmin(fmax(x[7 + i], -fastest[i]), fastest[i]);
    for (int i = 3; i < 7; ++i) facing += x[i] * state[i], norm += x[i] * x[i];
    norm = facing < 0 ? -sqrt(norm) : sqrt(norm);
    for (int i = 3; i < 7; ++i) x[i] /= norm;
    if (m < a->points - 1)
      memmove(a->u + a->thrusters * m, a->u + a->thrusters * index[m], a->thrusters * sizeof *a->u);
  }
}
