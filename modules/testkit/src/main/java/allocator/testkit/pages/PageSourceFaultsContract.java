package allocator.testkit.pages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FaultyCalls;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What a page source does when its device or system fails. */
public abstract class PageSourceFaultsContract extends PageSourceContract {
    private static final int PAGES = 5;

    /** The size of the extent whose calls fail. */
    private static final int SIZE = 2;

    /** Room for it twice, and for another page. */
    private static final int RANGE = 2 * SIZE + 1;

    private static final String END = "the end of the extent";

    /** Creates the suite. */
    protected PageSourceFaultsContract() {}

    /**
     * Opens a source on a device or system that fails on demand: the name of each call below the source goes to
     * {@code calls}, which may throw. The suite closes it.
     */
    protected abstract PageSubject open(FaultyCalls calls);

    /** Opens a source on a device or system that has memory for so many pages. The suite closes it. */
    protected abstract PageSubject openLimited(int most);

    /**
     * Returns by name what the calls below the source may throw, lack of memory included; an {@link Error} is what the
     * JVM throws before a call.
     */
    protected abstract Map<String, Supplier<Throwable>> failures();

    @Override
    protected final PageSubject open() {
        return open(new FaultyCalls());
    }

    @Test
    final void pagesRunOutAndComeBack() {
        try (PageSubject limited = openLimited(PAGES)) {
            final PageCalls pages = limited.pages();
            final List<Long> created = new ArrayList<>();
            for (int round = 0; round < 3; round++) {
                while (created.size() < PAGES) {
                    created.add(pages.create());
                }
                assertThrows(OutOfMemoryException.class, pages::create);
                final long range = pages.reserve(PAGES * pages.pageBytes().getAsLong());
                pages.map(range, created.getFirst());
                limited.write(range, text("works"));
                assertText(limited, "works", range);
                pages.unmap(range);
                pages.unreserve(range, PAGES * pages.pageBytes().getAsLong());
                pages.release(created.remove(round));
                created.add(pages.create());
                assertThrows(OutOfMemoryException.class, pages::create);
                created.reversed().forEach(pages::release);
                created.clear();
            }
            assertThrows(OutOfMemoryException.class, () -> pages.create(PAGES + 1));
            pages.release(pages.create(PAGES));
        }
    }

    /** Each call below each call of the source fails in turn, with each failure, once and for good. */
    @TestFactory
    final Stream<DynamicTest> aFailureLeavesTheStateThatIsDocumented() {
        return failures().entrySet().stream()
                .flatMap(failure -> Stream.of(false, true)
                        .flatMap(forGood -> Stream.of(Operation.values())
                                .map(operation -> DynamicTest.dynamicTest(
                                        operation + ", " + failure.getKey() + (forGood ? " for good" : " once"),
                                        () -> failInTurn(operation, forGood, failure.getValue())))));
    }

    private enum Operation {
        RESERVE,
        CREATE,
        MAP,
        UNMAP,
        RELEASE,
        UNRESERVE,
        CLOSE
    }

    private void failInTurn(Operation operation, boolean forGood, Supplier<Throwable> failure) {
        int failed = 0;
        while (failsAt(failed + 1, operation, forGood, failure)) {
            failed++;
        }
        assertTrue(failed > 0, "no call below the source failed");
    }

    /** Returns whether a call failed, and not all succeeded before that one. */
    private boolean failsAt(int call, Operation operation, boolean forGood, Supplier<Throwable> failure) {
        final FaultyCalls calls = new FaultyCalls();
        try (PageSubject failing = open(calls)) {
            final State state = new State(failing);
            if (operation == Operation.RELEASE) {
                state.pages.unmap(state.address);
            } else if (operation == Operation.UNRESERVE) {
                state.pages.unmap(state.address);
                state.pages.unmap(state.bystander);
            }
            calls.failAt(calls.calls() + call, forGood, failure);
            final Throwable thrown = state.attempt(operation);
            calls.stop();
            if (calls.failures() > 0) {
                state.check(operation, thrown, failure.get());
            }
            state.end();
            return calls.failures() > 0;
        }
    }

    /** Two mapped extents in a range, of which the second is not touched, and what a failing call left behind. */
    private static final class State {
        private final PageSubject subject;
        private final PageCalls pages;
        private final long pageBytes;
        private final long extent;
        private final long otherExtent;
        private final List<Long> created = new ArrayList<>();
        private final List<Long> ranges = new ArrayList<>();
        private final long range;
        private final long address;
        private final long bystander;

        /** An address at which nothing is mapped. */
        private final long target;

        private boolean isGivenBack;
        private boolean isClosed;

        State(PageSubject subject) {
            this.subject = subject;
            pages = subject.pages();
            pageBytes = pages.pageBytes().getAsLong();
            range = pages.reserve(RANGE * pageBytes);
            address = range;
            bystander = address + SIZE * pageBytes;
            target = bystander + pageBytes;
            extent = pages.create(SIZE);
            otherExtent = pages.create();
            created.add(extent);
            created.add(otherExtent);
            pages.map(address, extent);
            pages.map(bystander, otherExtent);
            writeAtEnd(address);
            subject.write(bystander, text("other"));
        }

        /** Makes the call, and returns what it throws, or {@code null}. */
        Throwable attempt(Operation operation) {
            try {
                make(operation);
                return null;
            } catch (Throwable thrown) {
                return thrown;
            }
        }

        private void make(Operation operation) {
            switch (operation) {
                case RESERVE -> ranges.add(pages.reserve(2 * pageBytes));
                case CREATE -> created.add(pages.create(SIZE));
                case MAP -> pages.map(target, extent);
                case UNMAP -> pages.unmap(address);
                case RELEASE -> {
                    pages.release(extent);
                    created.remove(extent);
                }
                case UNRESERVE -> {
                    pages.unreserve(range, RANGE * pageBytes);
                    isGivenBack = true;
                }
                case CLOSE -> {
                    isClosed = true;
                    pages.close();
                }
            }
        }

        /** Checks what was thrown, and that the call can be made again. */
        void check(Operation operation, Throwable thrown, Throwable injected) {
            if (thrown == null) {
                return; // the source overcame the failure
            }
            if (injected instanceof Error) {
                assertEquals(injected.getClass(), thrown.getClass(), thrown::toString);
            } else if (!(thrown instanceof OutOfMemoryException)) {
                assertTrue(thrown instanceof DeviceException, thrown::toString);
                assertNotNull(thrown.getMessage());
            } else {
                assertTrue(operation.compareTo(Operation.MAP) <= 0, "documented as a failure of the device: " + thrown);
            }
            if (operation != Operation.UNRESERVE && operation != Operation.CLOSE) {
                assertText(subject, "other", bystander);
            }
            switch (operation) {
                case RESERVE, CREATE -> make(operation);
                case MAP -> mapAgain(thrown instanceof OutOfMemoryException);
                case UNMAP -> {
                    make(operation);
                    pages.map(address, extent);
                    assertExtentAt(address);
                }
                case RELEASE -> {
                    pages.map(address, extent);
                    assertExtentAt(address);
                    pages.unmap(address);
                    make(operation);
                    created.add(pages.create(SIZE));
                }
                case UNRESERVE -> {
                    pages.map(target, extent);
                    assertExtentAt(target);
                    pages.unmap(target);
                    make(operation);
                }
                case CLOSE -> make(operation);
            }
        }

        private void writeAtEnd(long start) {
            subject.write(start + SIZE * pageBytes - END.length(), text(END));
        }

        private void assertExtentAt(long start) {
            assertText(subject, END, start + SIZE * pageBytes - END.length());
        }

        /** An extent that found no room is not mapped; otherwise it may be, and one call ends that. */
        private void mapAgain(boolean isSurelyNotMapped) {
            if (!isSurelyNotMapped) {
                pages.unmap(target);
            }
            make(Operation.MAP);
            assertExtentAt(target);
            assertExtentAt(address);
            pages.unmap(target);
        }

        /** Gives everything back. */
        void end() {
            if (isClosed) {
                return;
            }
            if (!isGivenBack) {
                assertText(subject, "other", bystander);
                pages.unmap(address);
                pages.unmap(bystander);
                pages.unmap(target);
                pages.unreserve(range, RANGE * pageBytes);
            }
            created.forEach(pages::release);
            ranges.forEach(start -> pages.unreserve(start, 2 * pageBytes));
        }
    }
}
