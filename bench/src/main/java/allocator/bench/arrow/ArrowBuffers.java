package allocator.bench.arrow;

import allocator.arrow.ArrowMemory;
import allocator.bench.report.Machine;
import java.io.IOException;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Buffers of Arrow: one closed and another of its size allocated, among several live ones of up to 256 MiB together, no
 * byte of which is touched; and what is resident after a burst. In JVMs whose heap is resident from the beginning, so
 * that only other memory grows.
 */
@Fork(
        value = 1,
        jvmArgsAppend = {
            "-Xms512m",
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:+AlwaysPreTouch",
            "-XX:MaxDirectMemorySize=16g"
        })
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 200, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 100, timeUnit = TimeUnit.MILLISECONDS)
public class ArrowBuffers {
    private static final int MEBIBYTE = 1 << 20;
    private static final int BURST = 512;
    private static final int PAGE = 4096;

    /** What makes the buffers, opened and closed by the state that it is a part of. */
    @State(Scope.Thread)
    public abstract static class Manager {
        /** Its name. */
        @Param({"unsafe", "netty", "ours", "ours-slabs", "ours-compact"})
        public String manager = "";

        private Optional<ArrowMemory> memory = Optional.empty();
        private @Nullable BufferAllocator root;

        final void open() {
            memory = ArrowManager.of(manager).open();
            root = ArrowManager.root(memory);
            root.buffer(64).close();
        }

        final ArrowBuf[] buffers(int count, long byteSize) {
            final ArrowBuf[] buffers = new ArrowBuf[count];
            for (int i = 0; i < count; i++) {
                buffers[i] = buffer(byteSize);
            }
            return buffers;
        }

        final ArrowBuf buffer(long byteSize) {
            return Objects.requireNonNull(root).buffer(byteSize);
        }

        final void shrink() {
            memory.ifPresent(ArrowMemory::shrink);
        }

        final void close() {
            Objects.requireNonNull(root).close();
            memory.ifPresent(ArrowMemory::close);
        }
    }

    /** The live buffers. */
    @State(Scope.Thread)
    public static class Live extends Manager {
        private static final long MOST_BYTES = 1L << 28;
        private static final int MOST = 1024;
        private static final long MOST_WARM_UP_BYTES = 1 << 16;
        private static final int WARM_UP_PAIRS = 20_000;

        /** The size of a buffer. */
        @Param({"64", "256", "1024", "4096", "16384", "65536", "262144", "1048576", "4194304", "16777216", "67108864"})
        public long size;

        private ArrowBuf[] buffers = {};
        private int state = 1;

        /** Makes them, after others, so that no size is measured with code that knows no other. */
        @Setup
        public void fill() {
            open();
            for (long other = 64; other <= MOST_WARM_UP_BYTES; other *= 4) {
                fill(other);
                for (int i = 0; i < WARM_UP_PAIRS; i++) {
                    replace(other);
                }
                drain();
            }
            fill(size);
        }

        private void fill(long byteSize) {
            buffers = buffers(Math.clamp(MOST_BYTES / byteSize, 4, MOST), byteSize);
        }

        private void replace(long byteSize) {
            state = state * 1_664_525 + 1_013_904_223;
            final int at = (state >>> 8) % buffers.length;
            buffers[at].close();
            buffers[at] = buffer(byteSize);
        }

        private void drain() {
            for (final ArrowBuf buffer : buffers) {
                buffer.close();
            }
        }

        /** Closes them, and then what made them. */
        @TearDown
        public void closeAll() {
            drain();
            close();
        }
    }

    /** No buffers at first. */
    @State(Scope.Thread)
    public static class Empty extends Manager {
        /** Opens what makes them. */
        @Setup
        public void begin() {
            open();
        }

        /** Closes it. */
        @TearDown
        public void end() {
            close();
        }
    }

    /** What the process grew by, in MiB. */
    @State(Scope.Thread)
    @AuxCounters(AuxCounters.Type.EVENTS)
    public static class Resident {
        /** While all buffers are live. */
        public double mebibytesLive;

        /** When all are closed. */
        public double mebibytesClosed;

        /** After {@code shrink()}, where there is one. */
        public double mebibytesShrunk;
    }

    /** Replaces a buffer, chosen by a generator that is the same for all managers. */
    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    public void pair(Live live) {
        live.replace(live.size);
    }

    /**
     * Allocates, touches and closes 512 buffers of 1 MiB. The time says nothing. JMH adds the figures of forks and
     * iterations, so there is one.
     */
    @Benchmark
    @BenchmarkMode(Mode.SingleShotTime)
    @Warmup(iterations = 0)
    @Measurement(iterations = 1)
    public void burst(Empty manager, Resident resident) throws IOException {
        final long before = Machine.kibibytes("VmRSS:");
        final ArrowBuf[] buffers = manager.buffers(BURST, MEBIBYTE);
        for (final ArrowBuf buffer : buffers) {
            for (int at = 0; at < MEBIBYTE; at += PAGE) {
                buffer.setByte(at, 1);
            }
        }
        resident.mebibytesLive = mebibytesSince(before);
        for (final ArrowBuf buffer : buffers) {
            buffer.close();
        }
        resident.mebibytesClosed = mebibytesSince(before);
        manager.shrink();
        resident.mebibytesShrunk = mebibytesSince(before);
    }

    private static double mebibytesSince(long before) throws IOException {
        return (Machine.kibibytes("VmRSS:") - before) / 1024.0;
    }
}
