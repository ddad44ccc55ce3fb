package exam.fit;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * One simulated memory: a range of addresses, reserved at the first use, of which it hands out spans by first fit. Safe
 * for use by several threads.
 */
final class Device {
    /** Every span starts at a multiple of this. */
    static final long GRANULE = 256;

    private static final long PAGE = 4096;
    private static final int READ_WRITE = 3;
    private static final int PRIVATE_ANONYMOUS_NORESERVE = 0x4022;
    private static final int DONT_NEED = 4;

    private final long capacity;

    /** Heads the list of the spans that are handed out, by address. */
    private final Span head = new Span(0);

    private long base;
    private long used;

    /** Memory handed out. Made by the user, so that a return needs no Java heap. */
    static final class Span {
        long address;
        long byteSize;
        private Span next;

        Span(long byteSize) {
            this.byteSize = byteSize;
        }
    }

    /** The calls of the operating system; loaded when the first memory is used. */
    private static final class Kernel {
        static final MethodHandle MAP = handle("mmap", FunctionDescriptor.of(
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_LONG));
        static final MethodHandle UNMAP = handle("munmap", FunctionDescriptor.of(
                ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
        static final MethodHandle ADVISE = handle("madvise", FunctionDescriptor.of(
                ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));

        private static MethodHandle handle(String name, FunctionDescriptor type) {
            final Linker linker = Linker.nativeLinker();
            return linker.downcallHandle(linker.defaultLookup().find(name).orElseThrow(), type);
        }
    }

    Device(long capacity) {
        this.capacity = capacity;
    }

    /** Reserves the range of addresses, unless that was done before; returns whether there is one. */
    synchronized boolean open() {
        if (base != 0) {
            return true;
        }
        try {
            final long address =
                    (long) Kernel.MAP.invokeExact(0L, capacity, READ_WRITE, PRIVATE_ANONYMOUS_NORESERVE, -1, 0L);
            base = address == -1 ? 0 : address;
            return base != 0;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Gives the range of addresses back. Nothing is in use. */
    synchronized void close() {
        if (base != 0) {
            call(Kernel.UNMAP, base, capacity);
            base = 0;
        }
    }

    /**
     * Hands a span out where it first fits. If it fits nowhere it is made smaller, down to a least size.
     *
     * @return false if there is no room
     */
    synchronized boolean take(Span span, long least) {
        Span before = find(span.byteSize);
        if (before == null) {
            before = head;
            for (Span at = head; at != null; at = at.next) {
                before = gapAfter(at) > gapAfter(before) ? at : before;
            }
            if (base == 0 || gapAfter(before) < least) {
                return false;
            }
            span.byteSize = gapAfter(before);
        }
        span.address = endOf(before);
        span.next = before.next;
        before.next = span;
        used += roundUp(span.byteSize);
        return true;
    }

    private Span find(long byteSize) {
        for (Span at = head; at != null && base != 0; at = at.next) {
            if (gapAfter(at) >= byteSize) {
                return at;
            }
        }
        return null;
    }

    private long endOf(Span span) {
        return span == head ? base : span.address + roundUp(span.byteSize);
    }

    private long gapAfter(Span span) {
        return (span.next == null ? base + capacity : span.next.address) - endOf(span);
    }

    /** Takes a span back; its contents are lost. */
    synchronized void give(Span span) {
        Span before = head;
        while (before.next != span) {
            before = before.next;
        }
        before.next = span.next;
        span.next = null;
        used -= roundUp(span.byteSize);
        final long first = (span.address + PAGE - 1) & -PAGE;
        final long last = (span.address + span.byteSize) & -PAGE;
        if (last > first) {
            try {
                final int result = (int) Kernel.ADVISE.invokeExact(first, last - first, DONT_NEED);
                assert result == 0 : first;
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Returns the bytes that are not handed out. */
    synchronized long free() {
        return capacity - used;
    }

    static long roundUp(long byteSize) {
        return (byteSize + GRANULE - 1) & -GRANULE;
    }

    /** Copies bytes from one address to another. */
    static void copy(long source, long target, long byteSize) {
        segment(target, byteSize).copyFrom(segment(source, byteSize));
    }

    static MemorySegment segment(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize, Arena.global(), null);
    }

    private static void call(MethodHandle function, long address, long byteSize) {
        try {
            final int result = (int) function.invokeExact(address, byteSize);
            assert result == 0 : address;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
