/*
 * A model of the allocator: what it may do with blocks, streams, events, pages, shared pages and sleep. Spin visits every
 * state that these actions reach, in any order, and checks each assert there. No line of it is shared with the code.
 *
 * STATE. Blocks lie at PLACES, which are addresses, as long as a page. A block takes one of a place's two cells, or all of
 * it if it is weights, which the host writes and streams read. The arena maps PAGES of the device at places, the same one
 * at several places too, and holds at most `limit` of them. Weights with equal contents may share one page, read-only.
 * Weights that sleep keep their place, not their page; the host has a copy. Taking a page, mapping or copying may fail once.
 * ORDER. Streams do work later than it is queued. An event marks a point of a stream; another stream, or the host, waits
 * for it. Whose work is ordered is kept for one byte, X, in bits: one for each stream, and one for the host.
 *   ordered  the truth: all work queued so far that uses X ends before what this stream does next
 *   known    what the arena can tell: this stream has waited for an event recorded after the FREE of X's block
 * X is in cell 0 of page 0. Pages, cells and places are alike, so what holds for X holds for every byte. For other bytes
 * the model lets any stream have what is free, which is more than the arena does.
 * CLAIMS, named at their asserts:
 *   OVERLAP  no two live blocks share a byte, unless they are weights on one read-only page
 *   ORDER    no byte is used again before the work that used it is ordered before the new work
 *   UNMAP    nothing is unmapped or released while work that uses it may still run
 *   LIMIT    never are more pages held than the limit      FAILURE   a call that fails has changed nothing
 *   RELEASE  no page is released twice or while mapped     LOST      after all frees a shrink gives every page back
 *   ALIAS    a page of several weights is written by none  CONTENTS  weights keep place and contents, asleep too
 * BOUNDS: -DSTREAMS -DBLOCKS (live at once) -DPAGES, all or none. FAULTS: -DFAULT= a name below; the claim beside it fails.
 * RUN: spin -a allocator.pml && cc -O2 -w -DSAFETY -DCOLLAPSE -o pan pan.c && ./pan -m100000
 */
#ifndef STREAMS
#define STREAMS 2
#define BLOCKS 3
#define PAGES 2
#endif
#ifndef FAULT
#define FAULT 0
#endif
#define REUSE_WITHOUT_WAIT 1      /* ORDER: a free cell goes to a stream that has not waited */
#define STAMP_AT_ALLOCATION 2     /* ORDER: events count from the allocation on, not from the free */
#define UNMAP_BEFORE_EVENT 3      /* UNMAP: the host has not waited for the work */
#define DOUBLE_RELEASE 4          /* RELEASE: a shrink releases a page twice */
#define ALIAS_WRITABLE 5          /* ALIAS: the first owner of a shared page may still write it */
#define LIMIT_AFTER_MAP 6         /* LIMIT: it is checked when the page has been taken */
#define FAILED_WAKE_KEEPS_PAGES 7 /* FAILURE: the pages that were mapped before the failure stay */
#define FAILED_MAP_KEEPS_PAGE 8   /* FAILURE: the page that could not be mapped stays */
#define TWO_PLACES_IN_USE 9       /* OVERLAP: blocks use a page at two places at once */
#define SHARE_NOT_COUNTED 10      /* LOST: a free of weights on a shared page is not counted */
#define UNMAP_BEFORE_COPY 11      /* CONTENTS: a sleep takes pages away, then copies them */
#define PLACES PAGES
#define HOST STREAMS              /* as a stream: its work is done at once; a block "on" it has no stream */
#define EVERY ((1 << (STREAMS + 1)) - 1)
#define NONE PAGES                /* no page */
#define BIT(x) (1 << (x))
#define SEEN(x) (own[x] != NONE -> own[x] : page[x])
#define CELLS(x) (weights[x] -> 3 : live[x])
#define KEY(x) ((((((page[x] * 8 + own[x]) * 2 + readOnly[x]) * 4 + live[x]) * 2 + weights[x]) * 3 + expected[x]) * 3 + copied[x])
#define when(x) if :: (x) ->
#define end :: else fi
byte limit, heldCount; /* in pages; how many the arena holds, as it counts */
bool held[PAGES];      /* the truth: the arena has this page from the device */
byte users[PAGES];     /* at how many places a page is mapped, as the arena counts */
byte page[PLACES];     /* what the arena has mapped at a place */
byte own[PLACES];      /* the page that the host's system put there instead, when weights on a shared page were written */
bool readOnly[PLACES];
byte live[PLACES];     /* the cells of blocks, a bit for each */
bool weights[PLACES], asleep; /* one block of all cells; whether all weights sleep, or none */
byte expected[PLACES]; /* the contents of weights for their owner, 1 or 2 */
byte contents[PAGES];  /* 0: undefined */
byte copied[PLACES];   /* the host's copy of weights that sleep */
byte owner = HOST;     /* the stream of X's block */
byte ordered = EVERY, known = EVERY; /* known is 0 while X is in use */
byte eventOrdered, eventKnown; /* both for the last event of each stream: what that stream knew */
/* No part of the state. Choices are made before an action, which only reads them: Spin does not restore hidden variables
   that a d_step has changed. The others are set by each action before it reads them. */
hidden byte place, other, cell, first, from, who, failing;
hidden byte each, at, to, fresh, count, calls, failed, isFound;
hidden byte oldHeld[PAGES], oldUsers[PAGES], oldBytes[PAGES], oldCount;
hidden short oldKey[PLACES];
/* ---- The device: what it does, and what must hold when it does. */
inline call() { calls++; failed = (calls == failing) }
/* Sets fresh to a page that the device has left, the next one from the chosen one on; NONE if there is none. */
inline findFreePage() {
    fresh = NONE;
    for (to : 0 .. PAGES - 1) {
        count = (first + to) % PAGES; isFound = (fresh == NONE && !held[count]);
        for (at : 0 .. PLACES - 1) { isFound = isFound && own[at] != count }
        when(isFound) fresh = count end
    }
}
inline take(x) {
    held[x] = true; heldCount++; count = 0;
    for (at : 0 .. PAGES - 1) { count = count + held[at] } assert(count <= limit) /* LIMIT */
}
inline release(x) {
    assert(held[x]); /* RELEASE */
    for (at : 0 .. PLACES - 1) { assert(page[at] != x) } /* RELEASE */
    assert(x != 0 || (ordered & BIT(HOST))); /* UNMAP */
    held[x] = false; heldCount--; contents[x] = 0
}
inline map(x, y) { page[x] = y; users[y]++ }
inline unmap(x) {
    assert(page[x] != 0 || (ordered & BIT(HOST))); /* UNMAP */
    users[page[x]]--; page[x] = NONE
}
/* by the host */ inline awaitDevice() { when(FAULT != UNMAP_BEFORE_EVENT) ordered = EVERY; known = (known -> EVERY : 0) end }
inline remember() {
    oldCount = heldCount;
    for (at : 0 .. PAGES - 1) { oldHeld[at] = held[at]; oldUsers[at] = users[at]; oldBytes[at] = contents[at]; oldKey[at] = KEY(at) }
}
inline requireUnchanged() {
    isFound = (oldCount == heldCount);
    for (at : 0 .. PAGES - 1) {
        isFound = isFound && oldHeld[at] == held[at] && oldUsers[at] == users[at] && oldBytes[at] == contents[at] && oldKey[at] == KEY(at)
    }
    assert(isFound) /* FAILURE */
}
/* Is there a page at the chosen place, in which no block lives at another place, and may one more block live? */
inline findRoom() {
    count = 0; fresh = page[place]; isFound = (fresh != NONE);
    for (at : 0 .. PLACES - 1) {
        count = count + (weights[at] -> 1 : (live[at] & 1) + (live[at] >> 1));
        when(at != place && page[at] == fresh && CELLS(at) && FAULT != TWO_PLACES_IN_USE) isFound = false end
    }
    isFound = isFound && count < BLOCKS
}
/* A stream, or the host, gets a free cell, and X only if the arena knows that its work is ordered. */
inline allocate() {
    findRoom(); isFound = isFound && !(CELLS(place) & BIT(cell));
    assert(!isFound || !(CELLS(place) & BIT(cell))); /* OVERLAP */
    if :: isFound && (fresh != 0 || cell != 0) && who == 0 -> live[place] = live[place] | BIT(cell) /* of any stream */
    :: isFound && fresh == 0 && cell == 0 && ((known & BIT(who)) || FAULT == REUSE_WITHOUT_WAIT) ->
        assert(ordered & BIT(who)); /* ORDER */
        live[place] = live[place] | 1; owner = who; eventKnown = 0;
        known = (FAULT == STAMP_AT_ALLOCATION -> BIT(who) : 0)
    :: else fi
}
inline free() {
    when(!weights[place] && (live[place] & BIT(cell)))
        live[place] = live[place] & ~BIT(cell);
        when(page[place] == 0 && cell == 0)
            when(FAULT != STAMP_AT_ALLOCATION) known = (owner == HOST -> EVERY : BIT(owner)); eventKnown = 0 end;
            owner = HOST end end
}
/* If X is of a live block, work that uses it is queued on the block's stream, or the host uses it. */
inline use() {
    isFound = false;
    for (at : 0 .. PLACES - 1) { isFound = isFound || (page[at] == 0 && !weights[at] && (live[at] & 1)) }
    assert(!isFound || (ordered & BIT(owner))); /* ORDER */
    when(isFound && owner != HOST) ordered = BIT(owner); eventOrdered = 0 end
}
/* Weights are read by any stream, also by several at once. */
inline read() {
    for (at : 0 .. PLACES - 1) { when(weights[at] && SEEN(at) == 0) ordered = ordered & BIT(who); eventOrdered = 0 end }
}
inline record() {
    eventOrdered = (eventOrdered & ~BIT(who)) | (ordered & BIT(who));
    eventKnown = (eventKnown & ~BIT(who)) | (known & BIT(who))
}
/* A stream, or the host, waits for an event. All that comes later is ordered after what the host has waited for. */
inline wait() {
    when(eventOrdered & BIT(from)) ordered = (who == HOST -> EVERY : ordered | BIT(who)) end;
    when(eventKnown & BIT(from)) known = (who == HOST -> EVERY : known | BIT(who)) end
}
/* Takes a page of the device and maps it. */
inline grow(x) {
    findFreePage(); failed = (fresh == NONE || (heldCount >= limit && FAULT != LIMIT_AFTER_MAP));
    when(!failed) call() end;
    when(!failed)
        take(fresh); call();
        if :: failed -> when(FAULT != FAILED_MAP_KEEPS_PAGE) release(fresh) end
        :: else -> map(x, fresh); when(fresh == 0) known = EVERY; eventKnown = 0 end
        fi end
}
inline extend() {
    when(page[place] == NONE && !weights[place]) remember(); grow(place); when(failed) requireUnchanged() end end
}
/* Maps a page that no block uses at a further place. */
inline mapAgain() {
    isFound = (held[first] && page[place] == NONE && !weights[place]);
    for (at : 0 .. PLACES - 1) { isFound = isFound && !(page[at] == first && CELLS(at)) }
    when(isFound) map(place, first) end
}
/* Ends a mapping if nothing there is live and, as far as the arena knows, the host has waited for the work. */
inline unmapUnused(x) {
    isFound = (page[x] != 0 || (known & BIT(HOST)) || (known && FAULT == UNMAP_BEFORE_EVENT));
    when(isFound && page[x] != NONE && !CELLS(x)) unmap(x) end
}
inline releaseIdle(x) { when(held[x] && users[x] == 0) release(x); when(FAULT == DOUBLE_RELEASE) release(x) end end }
inline shrink() {
    calls = 0; /* cells in use; X is released when the host has waited for its work */
    for (each : 0 .. PLACES - 1) { unmapUnused(each); calls = calls + CELLS(each) }
    for (each : 0 .. PAGES - 1) { releaseIdle(each); assert(calls || !held[each] || !(known & BIT(HOST))) } /* LOST */
}
inline load() {
    findRoom(); isFound = isFound && !asleep && !CELLS(place);
    when(isFound) isFound = (users[fresh] == 1 && (fresh != 0 || (known & BIT(HOST)))) end;
    when(isFound)
        when(fresh == 0) assert(ordered & BIT(HOST)); known = 0 end; /* ORDER */
        weights[place] = true; expected[place] = cell + 1; contents[fresh] = cell + 1 end
}
/* Weights lose the page at their place, which is released with its last user, and what the host's system put there. */
inline vacate(x) {
    assert(own[x] != 0 || (ordered & BIT(HOST))); /* UNMAP */
    when(own[x] != NONE) contents[own[x]] = 0; own[x] = NONE end;
    readOnly[x] = false; fresh = page[x];
    when(fresh != NONE)
        when(fresh == 0 && users[0] == 1) known = EVERY; eventKnown = 0 end;
        unmap(x); when(users[fresh] == 0) release(fresh) end end
}
/* Weights get the page of equal ones, which neither may write any more. */
inline share() {
    when(place != other && weights[place] && weights[other] && page[place] != page[other]) remember();
        call(); isFound = (own[place] == NONE && own[other] == NONE && !failed);
        if :: isFound && contents[page[place]] == contents[page[other]] ->
            awaitDevice(); vacate(place); map(place, page[other]); readOnly[place] = true;
            readOnly[other] = readOnly[other] || FAULT != ALIAS_WRITABLE
        :: else -> requireUnchanged()
        fi end
}
/* The host writes weights. Its system copies a shared page, which no limit counts; a device rejects the write. */
inline write() {
    when(weights[place])
        findFreePage(); call(); awaitDevice();
        when(readOnly[place] && own[place] == NONE && fresh != NONE && !failed) own[place] = fresh end;
        when(!readOnly[place] || own[place] != NONE)
            expected[place] = 3 - expected[place]; contents[SEEN(place)] = expected[place] end end
}
inline freeWeights() {
    when(weights[place])
        awaitDevice();
        when(readOnly[place] && FAULT == SHARE_NOT_COUNTED) users[page[place]]++ end;
        vacate(place); weights[place] = false; expected[place] = 0; copied[place] = 0; isFound = false;
        for (each : 0 .. PLACES - 1) { isFound = isFound || weights[each] }
        asleep = asleep && isFound end
}
/* Copies all weights to the host and takes their pages away. A copy that fails comes before any change. */
inline sleep() {
    remember(); call(); isFound = false;
    if :: failed -> requireUnchanged()
    :: else -> awaitDevice();
        for (each : 0 .. PLACES - 1) {
            when(weights[each]) isFound = true; to = SEEN(each);
                when(FAULT == UNMAP_BEFORE_COPY) vacate(each) end;
                copied[each] = contents[to]; vacate(each) end
        }
        asleep = isFound
    fi
}
/* Gives all weights pages of their own and copies them back, or none. */
inline wake() {
    remember(); failed = false;
    for (each : 0 .. PLACES - 1) {
        when(weights[each] && !failed) grow(each);
            when(!failed) call(); contents[page[each]] = copied[each]; when(page[each] == 0) known = 0 end end end
    }
    asleep = failed;
    when(failed) awaitDevice() end;
    for (each : 0 .. PLACES - 1) {
        when(weights[each] && failed && FAULT != FAILED_WAKE_KEEPS_PAGES) vacate(each) end;
        when(!failed) copied[each] = 0 end
    }
    when(failed) requireUnchanged() end
}
#define swap(x) to = x[at]; x[at] = x[at + 1]; x[at + 1] = to
/* Then puts the places in one order: as they are alike, states that differ only in their order are one. */
inline check() {
    for (at : 0 .. PLACES - 1) {
        assert(page[at] == NONE || held[page[at]]); /* RELEASE */
        assert(!weights[at] || asleep || contents[SEEN(at)] == expected[at]); /* CONTENTS */
        for (to : at + 1 .. PLACES - 1) { when(SEEN(at) != NONE && SEEN(at) == SEEN(to))
                assert(!(CELLS(at) & CELLS(to)) || (weights[at] && weights[to])); /* OVERLAP */
                assert(!weights[at] || !weights[to] || (readOnly[at] && readOnly[to])) /* ALIAS */ end }
    }
    for (each : 1 .. PLACES - 1) { for (at : 0 .. PLACES - 2) { when(KEY(at) > KEY(at + 1))
        swap(page); swap(own); swap(readOnly); swap(live); swap(weights); swap(expected); swap(copied) end } }
    skip
}
#define anyPlace() select(place : 0 .. PLACES - 1)
#define anyCell() select(cell : 0 .. 1)
#define anyPage() select(first : 0 .. PAGES - 1)
#define anyStream() select(who : 0 .. STREAMS - 1)
#define anyone() select(who : 0 .. STREAMS) /* a stream, or the host */
#define anyFailure(most) select(failing : 0 .. most) /* which call of the device fails, 0 for none */
init {
    atomic { select(limit : PAGES - 1 .. PAGES); d_step { for (at : 0 .. PLACES - 1) { page[at] = NONE; own[at] = NONE } skip } }
    do
    :: atomic { anyPlace(); anyCell(); anyone(); d_step { allocate(); check() } }
    :: atomic { anyPlace(); anyCell(); d_step { free(); check() } }
    :: d_step { use(); check() }
    :: atomic { anyStream(); d_step { read(); check() } }
    :: atomic { anyStream(); d_step { record(); check() } }
    :: atomic { anyone(); select(from : 0 .. STREAMS - 1); d_step { wait(); check() } }
    :: atomic { anyPlace(); anyPage(); anyFailure(2); d_step { calls = 0; extend(); check() } }
    :: atomic { anyPlace(); anyPage(); d_step { mapAgain(); check() } }
    :: atomic { anyPlace(); d_step { unmapUnused(place); check() } }
    :: atomic { anyPage(); d_step { releaseIdle(first); check() } }
    :: d_step { shrink(); check() }
    :: atomic { anyPlace(); anyCell(); d_step { load(); check() } }
    :: atomic { !asleep; anyPlace(); select(other : 0 .. PLACES - 1); anyFailure(1); d_step { calls = 0; share(); check() } }
    :: atomic { !asleep; anyPlace(); anyPage(); anyFailure(1); d_step { calls = 0; write(); check() } }
    :: atomic { anyPlace(); d_step { freeWeights(); check() } }
    :: atomic { !asleep; anyFailure(1); d_step { calls = 0; sleep(); check() } }
    :: atomic { asleep; anyPage(); anyFailure(3 * PLACES); d_step { calls = 0; wake(); check() } }
    od
}
