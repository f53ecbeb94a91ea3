/* The published search on OpenCL devices; the rules are those of agents/solver/backends/reference.py, step by step. Before this
 * come `stream` and `below` of agents/solver/model/random.py, and `UTILFN` in the line below is replaced by the program of the
 * problem at hand. Integers only: every device gives the same answers.
 *
 * agents/solver/backends/session.py defines the sizes, and where things lie: SHARED, constant memory if there is room, has
 * what all lanes read at the same place; OWN, registers (PRIVATE 1) or global memory, has the additions of a lane. TESTED is
 * 1 if UTILFN itself tests all that there is to test of its additions.
 */
#define GLOBAL __global
#define TABLE GLOBAL const long
#define FIXED SHARED const long
#define NONE (-1L)
#define MICRO 1000000L
#define CHANCES (1UL << 32)
#define TURNS (1UL << 33)

static inline long placed(GLOBAL const long *alloc, const long other, const long ball) {
    return other == ball ? NONE : alloc[other];
}

static inline long floor_div(const long left, const long right) {
    const long whole = left / right;
    return whole - ((left % right != 0 && (left < 0) != (right < 0)) ? 1 : 0);
}

static inline long floor_mod(const long left, const long right) { return left - right * floor_div(left, right); }

static inline long qmul(const long left, const long right) {
    const long high = floor_div(left, MICRO), low = floor_mod(left, MICRO);
    return high * right + low * floor_div(right, MICRO) + floor_div(low * floor_mod(right, MICRO), MICRO);
}

static inline long qdiv(const long left, const long right) {
    const long whole = floor_div(left, right);
    const long a = floor_mod(left, right) * 1000, b = floor_mod(a, right) * 1000;
    return whole * MICRO + floor_div(a, right) * 1000 + floor_div(b, right);
}

#define UTILFN

/* What agents/solver/backends/flat.py makes of the problem. */
#define FLAT                                                                                                           \
    TABLE *restrict capacity, TABLE *restrict ceiling, TABLE *restrict elastic,                                        \
        TABLE *restrict soft_group, TABLE *restrict soft_allowed, TABLE *restrict data,                                \
        FIXED *restrict numbers, TABLE *restrict pins, TABLE *restrict units, TABLE *restrict unit_balls,              \
        TABLE *restrict unit_of, TABLE *restrict sets, TABLE *restrict set_balls, TABLE *restrict chance,              \
        TABLE *restrict of, TABLE *restrict of_sets, FIXED *restrict ways, FIXED *restrict groups,                     \
        TABLE *restrict group_bins
#define TABLES                                                                                                         \
    capacity, ceiling, elastic, soft_group, soft_allowed, data, numbers, pins, units, unit_balls, unit_of, sets,       \
        set_balls, chance, of, of_sets

/* What an attempt writes: utilisation [DIMS], ALLOC [BALLS], unplaced and placed units [UNITS], members over their
 * capacity [SOFT] and behind them the elastic dimensions over their ceiling, which sets are imposed [SETS], chains of units
 * that wishes join, by the first one and by the next one [UNITS each]; and for every
 * lane additions, dims [ADDS] and amounts [ADDS]. */
typedef struct {
    TABLE *capacity, *ceiling, *elastic, *soft_group, *soft_allowed, *data;
    FIXED *numbers;
    TABLE *pins, *units, *unit_balls, *unit_of, *sets, *set_balls, *chance, *of, *of_sets;
    GLOBAL long *used, *alloc, *left, *placed, *over, *imposed, *chain, *after;
    OWN long *dims, *amounts;
    long friends;
} Try;

static inline bool allowed(const Try t, const long ball, const long place) {
    if (t.pins[ball] != NONE && t.pins[ball] != place) return false;
    for (long at = t.of[ball]; at < t.of[ball + 1]; at++) {
        const long number = t.of_sets[at];
        if (!t.imposed[number]) continue;
        bool apart = false;
        for (long k = t.sets[number]; k < t.sets[number + 1]; k++) {
            const long other = t.set_balls[k];
            if (other == ball) continue;
            if (number < t.friends && t.alloc[other] != NONE && t.alloc[other] != place) return false;
            apart = apart || t.alloc[other] != place;
        }
        if (number >= t.friends && !apart) return false;
    }
    return true;
}

static inline void change(const Try t, const long dim, const long amount) {
    const long before = t.used[dim], group = t.soft_group[dim];
    t.used[dim] = before + amount;
    if (t.elastic[dim]) t.over[SOFT] += (before + amount > t.ceiling[dim]) - (before > t.ceiling[dim]);
    if (group >= 0) t.over[group] += (before + amount > t.capacity[dim]) - (before > t.capacity[dim]);
}

static inline bool within(const Try t, const long first, const long last) {
    for (long k = first; k < last; k++) {
        const long dim = t.dims[k], group = t.soft_group[dim];
        if (t.used[dim] > t.ceiling[dim] && !t.elastic[dim]) return false;
        if (group >= 0 && t.over[group] > t.soft_allowed[group]) return false;
    }
    return true;
}

static inline long call(const Try t, const long ball, const long place, const long n) {
    return utilfn(ball, place, t.alloc, t.data, t.numbers, t.used, t.ceiling, t.dims, t.amounts, n);
}

static bool put(const Try t, const long unit, const long place) {
    long n = 0, one = unit, leader = unit;
    for (long at = t.units[one];; at++) {
        if (at == t.units[one + 1]) {
            one = t.after[one];
            if (one == NONE) return true;
            at = t.units[one];
        }
        const long ball = t.unit_balls[at];
        bool fits = allowed(t, ball, place);
        if (fits) {
            const long last = call(t, ball, place, n);
            fits = last >= 0;
            if (fits) {
                for (long k = n; k < last; k++) change(t, t.dims[k], t.amounts[k]);
                fits = TESTED ? true : within(t, n, last);
                n = last;
            }
        }
        if (!fits) {
            for (long k = 0; k < n; k++) change(t, t.dims[k], -t.amounts[k]);
            for (; leader != one; leader = t.after[leader])
                for (long other = t.units[leader]; other < t.units[leader + 1]; other++)
                    t.alloc[t.unit_balls[other]] = NONE;
            for (long other = t.units[one]; other < at; other++) t.alloc[t.unit_balls[other]] = NONE;
            return false;
        }
        t.alloc[ball] = place;
    }
}

/* How many additions does a unit of one ball make in a bin, nothing being soft, or NONE if that does not take it? Reads what
 * all lanes share, writes its own additions only. */
static long would_take(const Try t, const long unit, const long place) {
    const long ball = t.unit_balls[t.units[unit]];
    if (!allowed(t, ball, place)) return NONE;
    const long last = call(t, ball, place, 0);
    for (long k = 0; k < (TESTED ? 0 : last); k++) {
        long sum = t.used[t.dims[k]] + t.amounts[k];
        for (long other = 0; other < (DISTINCT ? 0 : last); other++)
            sum += other != k && t.dims[other] == t.dims[k] ? t.amounts[other] : 0;
        if (sum > t.ceiling[t.dims[k]] && !t.elastic[t.dims[k]]) return NONE;
    }
    return last;
}

static int take(const Try t, const long unit) {
    const long place = t.alloc[t.unit_balls[t.units[unit]]];
    long n = 0;
    for (long one = unit; one != NONE; one = t.after[one])
        for (long at = t.units[one + 1] - 1; at >= t.units[one]; at--) {
            const long ball = t.unit_balls[at];
            t.alloc[ball] = NONE;
            n = call(t, ball, place, n);
            if (n < 0) return -1;
        }
    for (long k = 0; k < n; k++)
        if (t.elastic[t.dims[k]] && t.used[t.dims[k]] > t.ceiling[t.dims[k]]) {
            for (long other = 0; other < n; other++) change(t, t.dims[other], -t.amounts[other]);
            return 1;
        }
    for (long one = unit; one != NONE; one = t.after[one])
        for (long at = t.units[one]; at < t.units[one + 1]; at++) t.alloc[t.unit_balls[at]] = place;
    return 0;
}

/* Units out again until nothing is over, to `left` from entry `out` on: where they end, -1 if that cannot be. */
static long trim(const Try t, long *placed, long out) {
    while (t.over[SOFT] > 0) {
        int found = 0;
        for (long at = *placed - 1; at >= 0 && found == 0; at--) {
            found = take(t, t.placed[at]);
            if (found) {
                t.left[out] = t.placed[at];
                for (long k = at; k < *placed - 1; k++) t.placed[k] = t.placed[k + 1];
            }
        }
        if (found <= 0) return -1;
        *placed -= 1;
        out += 1;
    }
    return out;
}

static inline long pinned(const Try t, const long unit) {
    long pin = NONE;
    for (long at = t.units[unit]; at < t.units[unit + 1]; at++) pin = max(pin, t.pins[t.unit_balls[at]]);
    return pin;
}

/* What is left on leaving a group, after `still` units that found no bin; -1 if trimming cannot be. */
static long leave(const Try t, const long still, long *placed, long *lost) {
    const long out = trim(t, placed, still);
    long count = still;
    for (long at = still; at < out; at++) {
        if (pinned(t, t.left[at]) == NONE) t.left[count++] = t.left[at];
        else *lost += 1;
    }
    return out < 0 ? -1 : count;
}

/* Impose sets with a chance below one that pinned balls do not break, and chain units that friends join. */
static void wish(const Try t, const ulong start) {
    for (long i = 0; i < CHOSEN; i++) {
        if (t.chance[i] == MICRO || below(start, CHANCES + i, MICRO) >= t.chance[i]) continue;
        long place = NONE, before = NONE;
        bool empty = false, apart = false;
        for (long k = t.sets[i]; k < t.sets[i + 1]; k++) {
            const long here = t.alloc[t.set_balls[k]];
            empty = empty || here == NONE;
            apart = apart || (place != NONE && here != NONE && here != place);
            place = max(place, here);
        }
        if (i < t.friends ? apart : !(empty || apart)) continue;
        t.imposed[i] = 1;
        for (long k = t.sets[i]; k < t.sets[i + 1] && i < t.friends; k++) {
            const long unit = t.unit_of[t.set_balls[k]];
            if (pinned(t, unit) != NONE) continue;
            if (before != NONE && t.chain[before] != t.chain[unit]) {
                const long first = min(t.chain[before], t.chain[unit]);
                long second = max(t.chain[before], t.chain[unit]), last = first;
                while (t.after[last] != NONE) last = t.after[last];
                t.after[last] = second;
                for (; second != NONE; second = t.after[second]) t.chain[second] = first;
            }
            before = unit;
        }
    }
}

static inline long members_of(const Try t, const long unit) {
    long count = 0;
    for (long one = unit; one != NONE; one = t.after[one]) count++;
    return count;
}

/* The units left fall apart, and no wish is imposed on them: how many are left then, NONE if there was no wish. */
static long lift(const Try t, const long count) {
    bool lifted = false;
    long total = 0;
    for (long i = 0; i < count; i++) {
        total += members_of(t, t.left[i]);
        for (long one = t.left[i]; one != NONE; one = t.after[one])
            for (long at = t.units[one]; at < t.units[one + 1]; at++)
                for (long k = t.of[t.unit_balls[at]]; k < t.of[t.unit_balls[at] + 1]; k++)
                    if (t.chance[t.of_sets[k]] < MICRO && t.imposed[t.of_sets[k]]) {
                        t.imposed[t.of_sets[k]] = 0;
                        lifted = true;
                    }
    }
    if (!lifted) return NONE;
    long at = total;
    for (long i = count - 1; i >= 0; i--) {
        long one = t.left[i];
        at -= members_of(t, one);
        for (long place = at; one != NONE; place++) {
            const long next = t.after[one];
            t.left[place] = one;
            t.after[one] = NONE;
            one = next;
        }
    }
    return total;
}

#define ROOM (DIMS + BALLS + 4 * UNITS + SOFT + 1 + SETS)

/* The additions of a lane, of all that there are. */
#if PRIVATE
#define ADDITIONS(lane)                                                                                                \
    long own[2 * ADDS];                                                                                                \
    (void)additions
#else
#define ADDITIONS(lane) GLOBAL long *own = additions + (lane) * 2 * ADDS
#endif

static inline Try laid_out(FLAT, GLOBAL long *rooms, OWN long *own, const ulong attempt) {
    GLOBAL long *room = rooms + attempt * ROOM;
    GLOBAL long *over = room + DIMS + BALLS + 4 * UNITS;
    const Try t = {TABLES, room, room + DIMS, room + DIMS + BALLS, room + DIMS + BALLS + UNITS, over, over + SOFT + 1,
                   room + DIMS + BALLS + 2 * UNITS, room + DIMS + BALLS + 3 * UNITS, own, own + ADDS, FRIENDS};
    return t;
}

/* An empty allocation with the pinned units; returns how many are `left` to place, or -1 if trimming cannot be. */
static inline long begin(const Try t, const ulong start, long *placed, long *lost) {
    for (long i = 0; i < DIMS; i++) t.used[i] = 0;
    for (long i = 0; i < BALLS; i++) t.alloc[i] = NONE;
    for (long i = 0; i <= SOFT; i++) t.over[i] = 0;
    for (long i = 0; i < CHOSEN; i++) t.imposed[i] = t.chance[i] == MICRO;
    for (long i = 0; i < UNITS; i++) t.chain[i] = i, t.after[i] = NONE;
    long count = 0, still = 0;
    *placed = *lost = 0;
    for (long unit = 0; unit < UNITS; unit++) {
        const long pin = pinned(t, unit);
        if (pin == NONE) t.left[count++] = unit;
        else if (put(t, unit, pin)) t.placed[(*placed)++] = unit;
        else *lost += 1;
    }
    const long out = trim(t, placed, count);
    *lost += out - count;
    if (out < 0) return -1;
    wish(t, start);
    for (long i = 0; i < count; i++)
        if (t.chain[t.left[i]] == t.left[i]) t.left[still++] = t.left[i];
    return still;
}

static inline long outcome_of(const Try t, const long count, const long lost) {
    for (long i = 0; i < BALLS && count < 0; i++) t.alloc[i] = NONE;
    long left = count < 0 ? UNITS : lost;
    for (long i = 0; i < count; i++) left += members_of(t, t.left[i]);
    return left;
}

/* Where an attempt is that goes on in the next launch: group (NONE: it is over), entry of `left`, units left at the
 * beginning of the group, of these tried in vain, placed, lost, draws, are wishes lifted. */
#define STATE 8
#define LAUNCH                                                                                                         \
    FLAT, GLOBAL long *rooms, GLOBAL long *additions, GLOBAL long *outcome, GLOBAL long *states, const ulong seed,     \
        const ulong first, const ulong many, const int fresh, const long budget, const int cut

/* One attempt per work-item, without a barrier. Attempts are begun if `fresh`, and go on for `budget` units; if `cut`,
 * all others are left. The outcome of one that is not over is NONE. Lanes beyond `many` attempts have none. Neighbours
 * are of the same grouping where that can be: so they do alike. */
__kernel void lanes(LAUNCH) {
    const ulong lane = get_global_id(0);
    if (lane >= many) return;
    const ulong id = first % WAYS || many % WAYS ? lane : lane % (many / WAYS) * WAYS + lane / (many / WAYS);
    const ulong number = first + id, way = number % WAYS, start = stream(seed, way, number / WAYS);
    const bool odd = number / WAYS % 2;
    ADDITIONS(id);
    const Try t = laid_out(TABLES, ways, groups, group_bins, rooms, own, id);
    GLOBAL long *state = states + id * STATE;
    long group = ways[way], i = 0, still = 0, todo = budget, lifted = 0, count, placed, lost;
    ulong draws = 0;
    if (fresh) {
        count = begin(t, start, &placed, &lost);
    } else {
        group = state[0], i = state[1], count = state[2], still = state[3], placed = state[4], lost = state[5];
        draws = state[6], lifted = state[7];
        if (group == NONE) return;
    }
    bool over = count < 0;
    while (!over && group < ways[way + 1]) {
        for (; i < count && todo > 0; i++, todo--) {
            const long chosen = i + below(start, draws, count - i), unit = t.left[chosen];
            const long low = groups[group], size = groups[group + 1] - low;
            const long turn = below(start, TURNS + (odd ? group - ways[way] : draws), size);
            draws++;
            t.left[chosen] = t.left[i];
            bool taken = false;
            for (long at = turn; at < turn + size && !taken; at++)
                taken = put(t, unit, group_bins[low + (at < size ? at : at - size)]);
            if (taken) t.placed[placed++] = unit;
            else t.left[still++] = unit;
        }
        for (; i < count && cut; i++) t.left[still++] = t.left[i];
        if (i < count) break;
        count = leave(t, still, &placed, &lost);
        over = cut || count < 0;
        group++;
        i = still = 0;
        if (!over && group == ways[way + 1] && !lifted) {
            const long more = lift(t, count);
            lifted = 1;
            if (more >= 0) count = more, group = ways[way];
        }
    }
    over = over || group == ways[way + 1];
    outcome[id] = over ? outcome_of(t, count, lost) : NONE;
    state[0] = over ? NONE : group, state[1] = i, state[2] = count, state[3] = still, state[4] = placed;
    state[5] = lost, state[6] = draws, state[7] = lifted;
}

/* One attempt per work-group, whose lanes speculate: they try as many bins at once for a unit, and where the group has
 * fewer bins than there are lanes, the units that are drawn next at the same time. What stands before the first one that
 * is taken is decided, as nothing has changed for it; what stands behind it is tried again. The lane that was first has
 * the additions, and applies them. The answer is that of `lanes`. No barrier is passed by some paths only: not every
 * compiler takes well to that. */
__kernel void squads(LAUNCH) {
    __local long shared_count, shared_placed;
    __local int found[2], picks[WIDEST];
    const long lane = get_local_id(0), width = get_local_size(0);
    const ulong id = get_group_id(0), number = first + id, way = number % WAYS, start = stream(seed, way, number / WAYS);
    const bool odd = number / WAYS % 2;
    ADDITIONS(id * width + lane);
    const Try t = laid_out(TABLES, ways, groups, group_bins, rooms, own, id);
    GLOBAL long *state = states + id * STATE;
    long group = ways[way], i = 0, still = 0, todo = budget, placed = 0;
    long lost = 0; /* known to the first lane only */
    ulong draws = 0;
    int round = 0;
    if (fresh) {
        if (lane == 0) shared_count = begin(t, start, &placed, &lost);
    } else {
        group = state[0], i = state[1], still = state[3], placed = state[4], lost = state[5], draws = state[6];
        if (lane == 0) shared_count = state[2];
    }
    if (lane == 0) shared_placed = placed, found[0] = INT_MAX;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const bool idle = group == NONE;
    long count = shared_count;
    placed = shared_placed;
    bool over = idle || count < 0, paused = false;
    while (!over && !paused && group < ways[way + 1]) {
        const long low = groups[group], size = groups[group + 1] - low, across = min(size, width), deep = width / across;
        const long ahead = lane / across, beside = lane % across, end = i + min(count - i, todo);
        /* Drawn and not decided are entries i, ..., drawn - 1 of `left`: none the first time. */
        long drawn = i, base = 0;
        while (i < end) {
            const bool mine = ahead < deep && i + ahead < drawn && base + beside < size;
            const long unit = mine ? t.left[i + ahead] : NONE;
            const long turn = below(start, TURNS + (odd ? group - ways[way] : draws + ahead), size);
            const long at = turn + base + beside, place = mine ? group_bins[low + (at < size ? at : at - size)] : NONE;
            const long last = mine ? would_take(t, unit, place) : NONE;
            if (last >= 0) atomic_min(&found[round % 2], (int)lane);
            if (drawn + lane < end)
                picks[lane] = drawn + lane + below(start, draws + (drawn + lane - i), count - drawn - lane);
            barrier(CLK_LOCAL_MEM_FENCE);
            const long winner = found[round % 2];
            const bool taken = winner < width, more = !taken && drawn > i && base + across < size;
            const long rejected = taken ? winner / across : more ? 0 : drawn - i, decided = rejected + (taken ? 1 : 0);
            if (beside == 0 && ahead < rejected) t.left[still + ahead] = unit;
            if (lane == winner) {
                for (long k = 0; k < last; k++) change(t, t.dims[k], t.amounts[k]);
                t.alloc[t.unit_balls[t.units[unit]]] = place;
                t.placed[placed] = unit;
            }
            i += decided, still += rejected, placed += taken ? 1 : 0, todo -= decided, draws += decided;
            base = more ? base + across : 0;
            const long wanted = min(end, i + deep);
            for (long k = drawn; k < wanted && lane == 0; k++) {
                const long chosen = picks[k - drawn], next = t.left[chosen];
                t.left[chosen] = t.left[k];
                t.left[k] = next;
            }
            drawn = max(drawn, wanted);
            round++;
            if (lane == 0) found[round % 2] = INT_MAX;
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
        for (; i < count && cut; i++, still++)
            if (lane == 0) t.left[still] = t.left[i];
        paused = i < count;
        if (lane == 0 && !paused) {
            shared_count = leave(t, still, &placed, &lost);
            shared_placed = placed;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (!paused) {
            count = shared_count;
            placed = shared_placed;
            over = cut || count < 0;
            group++;
            i = still = 0;
        }
    }
    if (lane == 0 && !idle) {
        over = over || group == ways[way + 1];
        outcome[id] = over ? outcome_of(t, count, lost) : NONE;
        state[0] = over ? NONE : group, state[1] = i, state[2] = count, state[3] = still, state[4] = placed;
        state[5] = lost, state[6] = draws;
    }
}
