package allocator.cuda.simulated.device;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Contents of memory. */
interface Contents {
    void fill(long offset, long byteSize, byte value);

    void read(long offset, byte[] target, int byteSize);

    void write(long offset, byte[] source, int byteSize);

    static void copy(Contents source, long sourceOffset, Contents target, long targetOffset, long byteSize) {
        final byte[] buffer = new byte[(int) Math.min(byteSize, Sparse.PAGE)];
        for (long done = 0; done < byteSize; done += buffer.length) {
            final int part = (int) Math.min(byteSize - done, buffer.length);
            source.read(sourceOffset + done, buffer, part);
            target.write(targetOffset + done, buffer, part);
        }
    }

    /**
     * Part of some contents.
     *
     * @param contents the whole
     * @param offset where the part begins
     * @param byteSize size of the part
     */
    record Slice(Contents contents, long offset, long byteSize) {
        void fill(byte value) {
            contents.fill(offset, byteSize, value);
        }

        /** Copies from slices to slices, which need not be of the same sizes. */
        static void copy(List<Slice> source, List<Slice> target, long byteSize) {
            int from = 0;
            int to = 0;
            long fromDone = 0;
            long toDone = 0;
            for (long done = 0; done < byteSize; ) {
                final Slice read = source.get(from);
                final Slice written = target.get(to);
                final long part = Math.min(read.byteSize - fromDone, written.byteSize - toDone);
                Contents.copy(read.contents, read.offset + fromDone, written.contents, written.offset + toDone, part);
                done += part;
                fromDone += part;
                toDone += part;
                if (fromDone == read.byteSize) {
                    from++;
                    fromDone = 0;
                }
                if (toDone == written.byteSize) {
                    to++;
                    toDone = 0;
                }
            }
        }
    }

    /** Stores nothing, for speed. */
    enum None implements Contents {
        INSTANCE;

        @Override
        public void fill(long offset, long byteSize, byte value) {}

        @Override
        public void read(long offset, byte[] target, int byteSize) {}

        @Override
        public void write(long offset, byte[] source, int byteSize) {}
    }

    /** Memory of this process. */
    record Host(MemorySegment segment) implements Contents {
        @SuppressWarnings("restricted") // the caller of a copy names memory by its address
        static Host at(long address, long byteSize) {
            return new Host(MemorySegment.ofAddress(address).reinterpret(byteSize));
        }

        @Override
        public void fill(long offset, long byteSize, byte value) {
            segment.asSlice(offset, byteSize).fill(value);
        }

        @Override
        public void read(long offset, byte[] target, int byteSize) {
            MemorySegment.copy(segment, ValueLayout.JAVA_BYTE, offset, target, 0, byteSize);
        }

        @Override
        public void write(long offset, byte[] source, int byteSize) {
            MemorySegment.copy(source, 0, segment, ValueLayout.JAVA_BYTE, offset, byteSize);
        }
    }

    /**
     * Pages that are created when they are first written; filling all of the memory costs nothing, whatever the size.
     * Not zeroed at first, as on a device.
     */
    final class Sparse implements Contents {
        static final int PAGE = 1 << 16;
        static final byte FRESH = (byte) 0xA5;

        private final long totalByteSize;
        private final Map<Long, byte[]> pages = new HashMap<>();
        private byte background = FRESH;

        Sparse(long totalByteSize) {
            this.totalByteSize = totalByteSize;
        }

        @Override
        public void fill(long offset, long byteSize, byte value) {
            if (byteSize == totalByteSize) {
                pages.clear();
                background = value;
                return;
            }
            final byte[] source = new byte[(int) Math.min(byteSize, PAGE)];
            Arrays.fill(source, value);
            for (long done = 0; done < byteSize; done += source.length) {
                write(offset + done, source, (int) Math.min(byteSize - done, source.length));
            }
        }

        @Override
        public void read(long offset, byte[] target, int byteSize) {
            for (int done = 0; done < byteSize; ) {
                final long at = offset + done;
                final int start = (int) (at % PAGE);
                final int part = Math.min(byteSize - done, PAGE - start);
                final byte[] page = pages.get(at / PAGE);
                if (page == null) {
                    Arrays.fill(target, done, done + part, background);
                } else {
                    System.arraycopy(page, start, target, done, part);
                }
                done += part;
            }
        }

        @Override
        public void write(long offset, byte[] source, int byteSize) {
            for (int done = 0; done < byteSize; ) {
                final long at = offset + done;
                final int start = (int) (at % PAGE);
                final int part = Math.min(byteSize - done, PAGE - start);
                System.arraycopy(source, done, pages.computeIfAbsent(at / PAGE, this::newPage), start, part);
                done += part;
            }
        }

        private byte[] newPage(long number) {
            final byte[] page = new byte[(int) Math.min(PAGE, totalByteSize - number * PAGE)];
            Arrays.fill(page, background);
            return page;
        }
    }
}
