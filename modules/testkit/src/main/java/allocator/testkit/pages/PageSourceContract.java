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

    /** Opens a source of its own for a test; the suite closes it. */
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

    @Test
    final void anExtentIsMappedAsAWhole() {
        final int size = 5;
        final long range = pages().reserve(2 * size * pageBytes());
        final long extent = pages().create(size);
        pages().map(range + pageBytes(), extent);
        for (int page = 0; page < size; page++) {
            write(range + (1 + page) * pageBytes(), "page " + page);
            write(range + (2 + page) * pageBytes() - 4, "end" + page);
        }
        write(range + 2 * pageBytes() - 2, "across");
        assertText("across", range + 2 * pageBytes() - 2);
        pages().unmap(range + pageBytes());
        final long other = pages().create(1);
        pages().map(range, other);
        pages().map(range + size * pageBytes(), extent);
        for (int page = 1; page < size; page++) {
            assertText("end" + page, range + (size + 1 + page) * pageBytes() - 4);
        }
        assertText("page 0", range + size * pageBytes());
        assertText("ross", range + (size + 1) * pageBytes());
        unmapAll(range, range + size * pageBytes());
        pages().release(extent);
        pages().release(other);
        pages().unreserve(range, 2 * size * pageBytes());
    }

    @Test
    final void anExtentHasTheSameBytesAtAllItsAddresses() {
        final long range = pages().reserve(7 * pageBytes());
        final long extent = pages().create(3);
        pages().map(range, extent);
        pages().map(range + 4 * pageBytes(), extent);
        write(range + 2 * pageBytes() + 8, "first");
        assertText("first", range + 6 * pageBytes() + 8);
        write(range + 5 * pageBytes(), "second");
        pages().unmap(range + 4 * pageBytes());
        assertText("second", range + pageBytes());
        pages().unmap(range);
        pages().release(extent);
        pages().unreserve(range, 7 * pageBytes());
    }

    @Test
    final void closeGivesBackWhatIsLeft() {
        final long range = pages().reserve(4 * pageBytes());
        pages().reserve(pageBytes());
        final long extent = pages().create(2);
        pages().create(3);
        pages().map(range, extent);
        pages().map(range + 2 * pageBytes(), extent);
        pages().close();
        pages().close();
    }

    /** A shuffle of mappings, with several of each extent, against a model. */
    @Test
    final void mappingsFollowAModel() {
        final Random random = new Random(2);
        final int slots = MANY;
        final long range = pages().reserve(slots * pageBytes());
        final long[] created = new long[MANY / 4];
        final int[] sizes = new int[created.length];
        for (int i = 0; i < created.length; i++) {
            sizes[i] = 1 + random.nextInt(3);
            created[i] = pages().create(sizes[i]);
            pages().map(range, created[i]);
            for (int page = 0; page < sizes[i]; page++) {
                write(range + page * pageBytes(), text(i, page));
            }
            pages().unmap(range);
        }
        final int[] firsts = new int[slots];
        final int[] mapped = new int[slots];
        Arrays.fill(mapped, -1);
        for (int step = 0; step < 20 * MANY; step++) {
            final int slot = random.nextInt(slots);
            if (mapped[slot] >= 0) {
                final int first = firsts[slot];
                final int extent = mapped[slot];
                assertText(text(extent, slot - first), range + slot * pageBytes());
                pages().unmap(range + first * pageBytes());
                Arrays.fill(mapped, first, first + sizes[extent], -1);
            } else {
                final int extent = random.nextInt(created.length);
                if (isFree(mapped, slot, sizes[extent])) {
                    pages().map(range + slot * pageBytes(), created[extent]);
                    Arrays.fill(mapped, slot, slot + sizes[extent], extent);
                    Arrays.fill(firsts, slot, slot + sizes[extent], slot);
                }
            }
        }
        for (int slot = 0; slot < slots; slot++) {
            if (mapped[slot] >= 0 && firsts[slot] == slot) {
                pages().unmap(range + slot * pageBytes());
            }
        }
        for (long extent : created) {
            pages().release(extent);
        }
        pages().unreserve(range, slots * pageBytes());
    }

    private static String text(int extent, int page) {
        return "extent %3d, page %d".formatted(extent, page);
    }

    private static boolean isFree(int[] mapped, int slot, int size) {
        return slot + size <= mapped.length
                && Arrays.stream(mapped, slot, slot + size).allMatch(extent -> extent < 0);
    }
}
