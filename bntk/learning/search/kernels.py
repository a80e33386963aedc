"""Inner loops of the searches, compiled: spanning trees, climbing over orders, choosing moves.

They trust their arguments and release the GIL. Nodes are positions; ``-inf`` is an arc that may not be.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit, part
from bntk.learning.moves import REVERSE

NONE = -1
_ZERO = np.uint64(0)
_ONE = np.uint64(1)

# ------------------------------------------------------------------------------------------------ spanning trees


@part
def _is_better_edge(weight, a, b, other_weight, c, d):
    """Whether edge (a, b) goes before (c, d): the heavier first, then by the smaller end, then by the larger one."""
    if weight != other_weight:
        return weight > other_weight
    if min(a, b) != min(c, d):
        return min(a, b) < min(c, d)
    return max(a, b) < max(c, d)


@njit(cache=True, nogil=True, steps=lambda weights: 2 * weights.size)
def spanning_tree(weights):
    """The maximum spanning tree of each component of a symmetric matrix, by Prim's algorithm.

    Returns, for each node, the node that it was joined to, or -1 for the first node of a component. Edges are ordered
    completely, ties by column order, so that the tree is the one that Kruskal's algorithm finds, whatever the start.
    """
    n = weights.shape[0]
    joined = np.full(n, NONE)
    near = np.full(n, NONE)
    inside = np.zeros(n, np.bool_)
    for _ in range(n):
        chosen = NONE
        for v in range(n):
            if inside[v] or near[v] == NONE:
                continue
            if chosen == NONE or _is_better_edge(
                weights[near[v], v], near[v], v, weights[near[chosen], chosen], near[chosen], chosen
            ):
                chosen = v
        if chosen == NONE:  # nothing can be reached: the first node that is left starts a component
            chosen = 0
            while inside[chosen]:
                chosen += 1
        else:
            joined[chosen] = near[chosen]
        inside[chosen] = True
        for v in range(n):
            if inside[v] or weights[chosen, v] == -np.inf:
                continue
            if near[v] == NONE or _is_better_edge(weights[chosen, v], chosen, v, weights[near[v], v], near[v], v):
                near[v] = chosen
    return joined


@njit(cache=True, nogil=True, steps=lambda entering, one_root: 4 * entering.size)
def arborescence(entering, one_root):
    """The tails in the heaviest arborescence from the last node; ``entering[v, u]`` is the weight of the arc u -> v.

    Of equal arcs, the one with the first tail, then the first head is taken. With ``one_root``, arcs from the last node
    are taken only where there are no others, so that there are as few of them as possible. The matrix is overwritten.
    Returns the tails, and whether there is an arborescence.
    """
    size = entering.shape[0]
    n_ids, up, enter_tail, enter_head, _ = contract(entering, one_root)
    if n_ids == 0:
        return np.full(size - 1, NONE), False
    return expand(n_ids, size, up, enter_tail, enter_head), True


@part
def contract(entering, one_root):
    """The cycles that Edmonds' algorithm contracts on its way to the heaviest arborescence from the last node.

    Edmonds' algorithm for dense matrices in O(n^2): walk backwards along the best entering arcs until the last node or
    something already joined to it is met; a cycle met on the way is contracted at once (Tarjan 1977). Tails are never
    merged, only the lines of the heads of a cycle, so that memory is read in order: that is four to ten times faster
    than merging both. The matrix is overwritten; in a line of a contracted cycle, arcs from within it are ``-inf``.
    The last node is never part of a cycle, so that ``one_root`` needs no huge weight, which would cost digits.

    Returns how many nodes and cycles there are, numbered in the order in which they arise, or 0 if there is no
    arborescence; the cycle that each is part of; the tail, the head and the weight of the best arc into each, where the
    weight is less those of the arcs that it replaces. Long because contraction and walk share all their arrays.
    """
    size = entering.shape[0]
    root = size - 1
    head_of = np.empty((size, size), np.int32)
    for v in range(size):
        head_of[v] = v
    slot_of = np.arange(size)  # the line that stands for a node
    ident = np.arange(size)  # the node, or contracted cycle, that a line stands for
    n_ids = size
    up = np.full(2 * size, NONE)
    enter_tail = np.full(2 * size, NONE)
    enter_head = np.full(2 * size, NONE)
    enter_weight = np.zeros(size)
    weight_of = np.zeros(2 * size)
    done = np.zeros(size, np.bool_)
    done[root] = True
    place = np.full(size, NONE)  # position in the path, or -1
    path = np.empty(size, np.int64)
    for start in range(root):
        if done[slot_of[start]]:
            continue
        length = 1
        path[0] = slot_of[start]
        place[path[0]] = 0
        while length:
            v = path[length - 1]
            tail, best = NONE, -np.inf
            for u in range(root):
                if entering[v, u] > best:
                    tail, best = u, entering[v, u]
            if entering[v, root] > best and (tail == NONE or not one_root):
                tail, best = root, entering[v, root]
            if tail == NONE:
                return 0, up, enter_tail, enter_head, weight_of
            enter_tail[ident[v]] = tail
            enter_head[ident[v]] = head_of[v, tail]
            enter_weight[v] = weight_of[ident[v]] = best
            before = slot_of[tail]
            if done[before]:
                for k in range(length):
                    done[path[k]] = True
                    place[path[k]] = NONE
                length = 0
            elif place[before] == NONE:
                place[before] = length
                path[length] = before
                length += 1
            else:
                first = place[before]
                for k in range(first, length):
                    up[ident[path[k]]] = n_ids
                _merge_cycle(path[first:length], entering, head_of, slot_of, place, enter_weight)
                ident[before] = n_ids
                n_ids += 1
                length = first + 1
    return n_ids, up, enter_tail, enter_head, weight_of


@part
def _merge_cycle(cycle, entering, head_of, slot_of, place, enter_weight):
    """The best arc from each node into a cycle, less the arc of the cycle that it replaces, in the first one's line."""
    slot = cycle[0]
    line, heads = entering[slot], head_of[slot]
    less = enter_weight[slot]
    for u in range(line.size):
        line[u] -= less
    for k in range(1, cycle.size):
        other, other_heads, less = entering[cycle[k]], head_of[cycle[k]], enter_weight[cycle[k]]
        for u in range(line.size):
            weight = other[u] - less
            if weight > line[u] or (weight == line[u] and other_heads[u] < heads[u]):
                line[u], heads[u] = weight, other_heads[u]
    first = place[slot]
    for u in range(line.size):
        at = place[slot_of[u]]
        if at >= first:  # the cycle is the end of the path
            slot_of[u] = slot
            line[u] = -np.inf
    for k in range(1, cycle.size):
        place[cycle[k]] = NONE


@part
def expand(n_ids, size, up, enter_tail, enter_head):
    """Open the contracted cycles, the last first: the arc into a cycle replaces the one of the node that it enters."""
    root = size - 1
    tails = np.full(root, NONE)
    replaced = np.zeros(n_ids, np.bool_)
    for ident in range(n_ids - 1, -1, -1):
        if ident == root or replaced[ident]:
            continue
        node = enter_head[ident]
        tails[node] = enter_tail[ident]
        while node != ident:
            replaced[node] = True
            node = up[node]
    return tails


# ------------------------------------------------------------------------------------------------ orders
#
# Parent sets are bit masks over the candidate parents of their child: bit ``bits[child, parent]``, or -1 for a node
# that is no candidate. Those of child x are ``masks[offsets[x]:offsets[x + 1]]``, the best first; the last resort, the
# required parents alone, is among them and always fits. ``available[x]`` holds the candidates that come before x.


@part
def first_fit(masks, start, stop, available):
    """The first parent set that is available, or ``stop``."""
    outside = ~available
    for k in range(start, stop):
        if masks[k] & outside == _ZERO:
            return k
    return stop


@part
def _draw(state, below):
    """A random number below a limit, by splitmix64; the state is an array of one word."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.int64((z >> np.uint64(11)) % np.uint64(below))


@njit(cache=True, nogil=True)
def settle(order, bits, masks, offsets, available, choice):
    """The best parent set of every node in an order."""
    n = order.size
    for i in range(n):
        x = order[i]
        before = _ZERO
        for j in range(i):
            bit = bits[x, order[j]]
            if bit >= 0:
                before |= _ONE << np.uint64(bit)
        available[x] = before
        choice[x] = first_fit(masks, offsets[x], offsets[x + 1], before)


@part
def _best_insertion(i, order, bits, masks, scores, offsets, required, available, choice):
    """The place where the node at place ``i`` gains most, and the gain.

    The node is swapped with its neighbours one after the other; each swap changes what is available to two nodes, and
    most leave the parents of both as they are. So all places together cost little more than one evaluation of an order.
    """
    x = order[i]
    at, best = i, 0.0
    mine, mine_open, others = choice[x], available[x], 0.0
    for j in range(i - 1, -1, -1):
        y = order[j]
        if required[y, x]:
            break
        bit = bits[x, y]
        if bit >= 0:
            mine_open &= ~(_ONE << np.uint64(bit))
            if masks[mine] & ~mine_open != _ZERO:
                mine = first_fit(masks, mine + 1, offsets[x + 1], mine_open)
        bit = bits[y, x]
        if bit >= 0:
            found = first_fit(masks, offsets[y], choice[y], available[y] | (_ONE << np.uint64(bit)))
            others += scores[found] - scores[choice[y]]
        gain = others + scores[mine] - scores[choice[x]]
        if gain > best:
            at, best = j, gain
    mine, mine_open, others = choice[x], available[x], 0.0
    for j in range(i + 1, order.size):
        y = order[j]
        if required[x, y]:
            break
        bit = bits[x, y]
        if bit >= 0:
            mine_open |= _ONE << np.uint64(bit)
            mine = first_fit(masks, offsets[x], mine, mine_open)
        bit = bits[y, x]
        if bit >= 0:
            rest = available[y] & ~(_ONE << np.uint64(bit))
            if masks[choice[y]] & ~rest != _ZERO:
                found = first_fit(masks, choice[y] + 1, offsets[y + 1], rest)
                others += scores[found] - scores[choice[y]]
        gain = others + scores[mine] - scores[choice[x]]
        if gain > best:
            at, best = j, gain
    return at, best


@part
def _insert(i, at, order, bits, masks, offsets, available, choice):
    """Move the node at place ``i`` to place ``at``; what is available and chosen follows."""
    x = order[i]
    step = 1 if at > i else -1
    j = i
    while j != at:
        y = order[j + step]
        order[j] = y
        bit = bits[x, y]
        if bit >= 0:
            available[x] ^= _ONE << np.uint64(bit)
        bit = bits[y, x]
        if bit >= 0:
            available[y] ^= _ONE << np.uint64(bit)
            choice[y] = first_fit(masks, offsets[y], offsets[y + 1], available[y])
        j += step
    order[at] = x
    choice[x] = first_fit(masks, offsets[x], offsets[x + 1], available[x])


@part
def _descend(order, bits, masks, scores, offsets, required, available, choice, tolerance, state):
    """Insert every node, in random turn, where it gains most, until none gains anything."""
    n = order.size
    turn = order.copy()
    idle = 0
    while idle < n:
        for k in range(n - 1, 0, -1):
            other = _draw(state, k + 1)
            turn[k], turn[other] = turn[other], turn[k]
        for k in range(n):
            i = 0
            while order[i] != turn[k]:
                i += 1
            at, gain = _best_insertion(i, order, bits, masks, scores, offsets, required, available, choice)
            if gain > tolerance:
                _insert(i, at, order, bits, masks, offsets, available, choice)
                idle = 0
            else:
                idle += 1
            if idle >= n:
                break


@part
def _shake(order, bits, masks, offsets, required, available, choice, n_moves, state):
    """Insert some nodes at random places, no further than their required parents and children allow."""
    n = order.size
    for _ in range(n_moves):
        i = _draw(state, n)
        goal = _draw(state, n)
        x = order[i]
        at = i
        while at > goal and not required[order[at - 1], x]:
            at -= 1
        while at < goal and not required[x, order[at + 1]]:
            at += 1
        _insert(i, at, order, bits, masks, offsets, available, choice)


@part
def _total_score(scores, choice):
    """Score of the structure that is chosen."""
    total = 0.0
    for x in range(choice.size):
        total += scores[choice[x]]
    return total


@part
def _copy(order, available, choice, to_order, to_available, to_choice):
    """One state of a search into another; a plain loop compiles faster than slices."""
    for i in range(order.size):
        to_order[i] = order[i]
        to_available[i] = available[i]
        to_choice[i] = choice[i]


@njit(cache=True, nogil=True)
def climb_orders(order, bits, masks, scores, offsets, required, tolerance, n_rounds, n_moves, state):
    """Iterated local search: descend, then shake and descend again, back to the order before if that is worse.

    Changes ``order`` to the best one found; returns its score and how many rounds have passed since it last rose.
    """
    n = order.size
    available = np.zeros(n, np.uint64)
    choice = np.zeros(n, np.int64)
    settle(order, bits, masks, offsets, available, choice)
    _descend(order, bits, masks, scores, offsets, required, available, choice, tolerance, state)
    best = _total_score(scores, choice)
    idle = 0
    kept_order, kept_available, kept_choice = np.empty_like(order), np.empty_like(available), np.empty_like(choice)
    _copy(order, available, choice, kept_order, kept_available, kept_choice)
    for _ in range(n_rounds):
        _shake(order, bits, masks, offsets, required, available, choice, 1 + _draw(state, n_moves), state)
        _descend(order, bits, masks, scores, offsets, required, available, choice, tolerance, state)
        total = _total_score(scores, choice)
        idle = 0 if total > best + tolerance else idle + 1
        if total >= best - tolerance:  # equals too: to drift along plateaus finds ways that a climb does not
            best = max(best, total)
            _copy(order, available, choice, kept_order, kept_available, kept_choice)
        else:
            _copy(kept_order, kept_available, kept_choice, order, available, choice)
    return best, idle


# ------------------------------------------------------------------------------------------------ moves


@njit(cache=True, nogil=True, steps=lambda moves, *rest: (1 + rest[-1].size) * moves.shape[0] / 4)
def first_best(moves, gains, slack, numbers, key, recent):
    """Position of the first move whose gain is within ``slack`` of the largest, or -1 when there is none.

    A structure is known by the exclusive or of the ``numbers`` of its arcs (row: tail, column: head); ``key`` is that
    of the structure held. Moves to one of the ``recent`` structures are left out.
    """
    allowed = np.ones(gains.size, np.bool_)
    best = -np.inf
    for m in range(gains.size):
        if recent.size:
            kind, tail, head = moves[m, 0], moves[m, 1], moves[m, 2]
            after = key ^ numbers[tail, head]
            if kind == REVERSE:
                after ^= numbers[head, tail]
            for k in range(recent.size):
                if after == recent[k]:
                    allowed[m] = False
        if allowed[m] and gains[m] > best:
            best = gains[m]
    for m in range(gains.size):
        if allowed[m] and gains[m] >= best - slack:
            return m
    return -1
