package allocator.testkit.pages;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.spi.OutOfMemoryException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What every page source does. */
public abstract class PageSourceContract {
    private static final int MANY = 50;

    private PageSubject subject;

    /** Creates the suite. */
    protected PageSourceContract() {}

    /**
     * Opens a source of its own for a test.
     *
     * @return the source, which the suite closes
     */
    protected abstract PageSubject open();

    @BeforeEach
    final void openSubject() {
        subject = open();
    }

    @AfterEach
    final void closeSubject() {
        if (subject != null) {
            subject.close();
        }
    }

    private PageCalls pages() {
        return subject.pages();
    }

    private long pageBytes() {
        return pages().pageBytes().getAsLong();
    }

    static byte[] text(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    static void assertText(PageSubject subject, String text, long address) {
        assertArrayEquals(text(text), subject.read(address, text.length()), text);
    }

    private void write(long address, String text) {
        subject.write(address, text(text));
    }

    private void assertText(String text, long address) {
        assertText(subject, text, address);
    }

    /** Ends the mappings at the addresses. */
    private void unmapAll(long... addresses) {
        for (long address : addresses) {
            pages().unmap(address);
        }
    }

    @Test
    final void aPageIsAPowerOfTwoOfAtLeast4096Bytes() {
        assertEquals(1, Long.bitCount(pageBytes()));
        assertTrue(pageBytes() >= 4096, () -> "a page has " + pageBytes() + " bytes");
        assertEquals(pageBytes(), pageBytes());
    }

    @Test
    final void rangesAreAlignedAndDisjoint() {
        final List<Long> ranges = new ArrayList<>();
        for (int i = 1; i <= MANY; i++) {
            final long address = pages().reserve(i * pageBytes());
            assertTrue(address > 0);
            assertEquals(0, address % pageBytes());
            for (int other = 0; other < ranges.size(); other++) {
                final long start = ranges.get(other);
                assertTrue(address >= start + (other + 1) * pageBytes() || start >= address + i * pageBytes());
            }
            ranges.add(address);
        }
        for (int i = MANY; i >= 1; i--) {
            pages().unreserve(ranges.get(i - 1), i * pageBytes());
        }
    }

    @Test
    final void rangesCanBeReservedAndGivenBackAgainAndAgain() {
        for (int i = 0; i < 4 * MANY; i++) {
            pages().unreserve(pages().reserve(MANY * pageBytes()), MANY * pageBytes());
        }
    }

    @Test
    final void aRangeThatNoSystemHasIsRefused() {
        assertThrows(OutOfMemoryException.class, () -> pages().reserve(1L << 60));
        final long most = Long.MAX_VALUE / pageBytes() * pageBytes();
        assertThrows(OutOfMemoryException.class, () -> pages().reserve(most));
        pages().unreserve(pages().reserve(pageBytes()), pageBytes());
    }

    @Test
    final void aWholePageCanBeUsed() {
        final long range = pages().reserve(pageBytes());
        final long page = pages().create();
        pages().map(range, page);
        write(range, "first");
        write(range + pageBytes() - 4, "last");
        assertText("first", range);
        assertText("last", range + pageBytes() - 4);
        pages().unmap(range);
        pages().release(page);
        pages().unreserve(range, pageBytes());
    }

    @Test
    final void aPageHasTheSameBytesAtAllItsAddresses() {
        final long range = pages().reserve(3 * pageBytes());
        final long other = pages().reserve(pageBytes());
        final long page = pages().create();
        pages().map(range, page);
        write(range + 100, "before");
        pages().map(range + 2 * pageBytes(), page);
        pages().map(other, page);
        assertText("before", range + 2 * pageBytes() + 100);
        write(other + 200, "through another");
        assertText("through another", range + 200);
        assertText("through another", range + 2 * pageBytes() + 200);
        pages().unmap(range);
        write(range + 2 * pageBytes() + 300, "one is gone");
        assertText("one is gone", other + 300);
        unmapAll(other, range + 2 * pageBytes());
        pages().release(page);
        pages().unreserve(other, pageBytes());
        pages().unreserve(range, 3 * pageBytes());
    }

    @Test
    final void pagesSideBySideAreDistinct() {
        final long range = pages().reserve(3 * pageBytes());
        final long[] created = {pages().create(), pages().create(), pages().create()};
        for (int i = 0; i < 3; i++) {
            pages().map(range + i * pageBytes(), created[2 - i]);
            write(range + i * pageBytes(), "page " + i);
            write(range + (i + 1) * pageBytes() - 6, "page " + i);
        }
        for (int i = 0; i < 3; i++) {
            assertText("page " + i, range + i * pageBytes());
            assertText("page " + i, range + (i + 1) * pageBytes() - 6);
            pages().unmap(range + i * pageBytes());
        }
        for (long page : created) {
            pages().release(page);
        }
        pages().unreserve(range, 3 * pageBytes());
    }

    @Test
    final void theBytesStayWhileAPageIsMappedNowhere() {
        final long range = pages().reserve(2 * pageBytes());
        final long page = pages().create();
        final long other = pages().create();
        pages().map(range, page);
        write(range, "kept");
        pages().unmap(range);
        pages().map(range, other);
        write(range, "the other page");
        pages().map(range + pageBytes(), page);
        assertText("kept", range + pageBytes());
        assertText("the other page", range);
        unmapAll(range, range + pageBytes());
        pages().release(page);
        pages().release(other);
        pages().unreserve(range, 2 * pageBytes());
    }

    @Test
    final void theBytesStayWhileOtherPagesAreReleased() {
        final long range = pages().reserve(2 * pageBytes());
        final long first = pages().create();
        final long kept = pages().create();
        final long last = pages().create();
        pages().map(range, kept);
        write(range, "kept");
        pages().release(last);
        pages().release(first);
        assertText("kept", range);
        final long again = pages().create();
        pages().map(range + pageBytes(), again);
        write(range + pageBytes(), "again");
        assertText("kept", range);
        unmapAll(range, range + pageBytes());
        pages().release(kept);
        pages().release(again);
        pages().unreserve(range, 2 * pageBytes());
    }

    @Test
    final void unmapDoesNothingWhereNothingIsMapped() {
        final long range = pages().reserve(3 * pageBytes());
        final long page = pages().create();
        pages().unmap(range + pageBytes());
        pages().map(range, page);
        write(range, "mapped");
        pages().unmap(range + pageBytes());
        assertText("mapped", range);
        unmapAll(range, range);
        pages().map(range + pageBytes(), page);
        assertText("mapped", range + pageBytes());
        unmapAll(range, range + pageBytes(), range + 2 * pageBytes(), range + pageBytes());
        pages().release(page);
        pages().unreserve(range, 3 * pageBytes());
    }

    @Test
    final void livePagesHaveDistinctNumbers() {
        final Random random = new Random(1);
        final Set<Long> live = new HashSet<>();
        for (int round = 0; round < 4; round++) {
            while (live.size() < MANY) {
                final long page = pages().create();
                assertTrue(page >= 0, () -> "page " + page);
                assertTrue(live.add(page), () -> "page " + page + " exists twice");
            }
            final List<Long> released = new ArrayList<>(live);
            Collections.sort(released);
            Collections.shuffle(released, random);
            released.subList(0, MANY / 2).forEach(page -> {
                pages().release(page);
                live.remove(page);
            });
        }
        live.forEach(pages()::release);
        assertFalse(live.isEmpty());
    }

    /** A shuffle of mappings, with several of each page, against a model. */
    @Test
    final void mappingsFollowAModel() {
        final Random random = new Random(2);
        final int slots = MANY;
        final long range = pages().reserve(slots * pageBytes());
        final long[] created = new long[MANY / 4];
        for (int i = 0; i < created.length; i++) {
            created[i] = pages().create();
            pages().map(range, created[i]);
            write(range, "page %3d".formatted(i));
            pages().unmap(range);
        }
        final int[] mapped = new int[slots];
        Arrays.fill(mapped, -1);
        for (int step = 0; step < 20 * MANY; step++) {
            final int slot = random.nextInt(slots);
            final long address = range + slot * pageBytes();
            if (mapped[slot] >= 0) {
                assertText("page %3d".formatted(mapped[slot]), address);
                pages().unmap(address);
                mapped[slot] = -1;
            } else {
                mapped[slot] = random.nextInt(created.length);
                pages().map(address, created[mapped[slot]]);
            }
        }
        for (int slot = 0; slot < slots; slot++) {
            pages().unmap(range + slot * pageBytes());
        }
        for (long page : created) {
            pages().release(page);
        }
        pages().unreserve(range, slots * pageBytes());
    }
}
