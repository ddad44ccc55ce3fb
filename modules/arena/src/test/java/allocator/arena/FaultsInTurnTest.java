package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.internal.Failures;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import allocator.testkit.Share;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random programs over a device of which each call in turn fails, once or for good, with anything that a device can
 * throw: no memory is lost, the statistics are true, and the next call works.
 */
class FaultsInTurnTest {
    private static final int PROGRAMS = Share.of(3);
    private static final int OPERATIONS = 120;

    /** Beyond every call of a program. */
    private static final int NEVER = Integer.MAX_VALUE;

    private long faults;

    private enum Fault {
        OUT_OF_MEMORY,
        DEVICE,
        OTHER,
        ERROR,
        HEAP_END,
        STACK_END;

        private Throwable failure() {
            return switch (this) {
                case OUT_OF_MEMORY -> new OutOfMemoryException("injected", Shortage.ofDevice(FakeDevice.INFO, 1, 0));
                case DEVICE -> new DeviceException("injected", null);
                case OTHER -> new IllegalStateException("injected");
                case ERROR -> new AssertionError("injected");
                case HEAP_END -> new OutOfMemoryError("injected");
                case STACK_END -> new StackOverflowError("injected");
            };
        }
    }

    /** A device of which one call fails, or all calls from one on. */
    private final class FaultyDevice extends FakeDevice {
        private final Fault fault;
        private final int first;
        private final boolean isForGood;
        private boolean isRepaired;
        private int calls;

        /** Whether a free takes effect that throws a device exception, so that nothing is to be returned again. */
        private boolean freesDespiteFailure;

        FaultyDevice(Fault fault, int first, boolean isForGood) {
            this.fault = fault;
            this.first = first;
            this.isForGood = isForGood;
        }

        boolean hasFailed() {
            return calls > first;
        }

        private void call() {
            final int call = calls++;
            if (!isRepaired && (call == first || (isForGood && call > first))) {
                faults++;
                final Failures failures = new Failures();
                failures.add(fault.failure());
                failures.throwIfAny();
            }
        }

        @Override
        public synchronized long alloc(long byteSize) {
            call();
            return super.alloc(byteSize);
        }

        @Override
        public synchronized void free(long address) {
            try {
                call();
            } catch (DeviceException e) {
                if (freesDespiteFailure) {
                    super.free(address);
                    throw e;
                }
                leaveUnreturned(address);
                return;
            }
            super.free(address);
        }

        @Override
        public synchronized long returnAgain() {
            try {
                call();
            } catch (DeviceException e) {
                return 0;
            }
            return super.returnAgain();
        }
    }

    /** One program, its allocator, and what it must have. */
    private static final class Program {
        private final FaultyDevice device;
        private final ArenaSubject subject;
        private final Random random;
        private final List<FakeStream> streams = List.of(new FakeStream(), new FakeStream());
        private final Map<Long, Long> live = new HashMap<>();
        private final List<Long> addresses = new ArrayList<>();
        private long allocs;

        Program(ArenaSubject.Kind kind, FaultyDevice device, int seed) {
            this.device = device;
            device.freesDespiteFailure = kind == ArenaSubject.Kind.BUMP;
            subject = kind.open(device);
            random = new Random(seed);
        }

        void run() {
            for (int i = 0; i < OPERATIONS; i++) {
                step();
                verify();
            }
            while (!addresses.isEmpty()) {
                free(addresses.size() - 1);
                verify();
            }
            attempt(subject::close);
            device.isRepaired = true;
            subject.close();
            device.returnAgain();
            assertThat(device.liveBytes()).isZero();
        }

        private void step() {
            final FakeStream stream = streams.get(random.nextInt(2));
            switch (random.nextInt(12)) {
                case 0 -> attempt(() -> subject.endRun(stream));
                case 1 -> attempt(() -> subject.releaseStream(stream));
                case 2 -> attempt(subject::shrink);
                case 3, 4, 5 -> free(addresses.isEmpty() ? -1 : random.nextInt(addresses.size()));
                case 6 -> allocate(1 + random.nextInt(5000), subject::reserve);
                case 7, 8, 9 ->
                    allocate(1 + random.nextInt(60_000), byteSize -> subject.allocOnStream(byteSize, stream));
                default -> allocate(1 + random.nextInt(4000), subject::alloc);
            }
        }

        private interface Allocation {
            long allocate(long byteSize);
        }

        private void allocate(long byteSize, Allocation allocation) {
            attempt(() -> {
                final long address = allocation.allocate(byteSize);
                assertThat(live.put(address, byteSize)).isNull();
                addresses.add(address);
                allocs++;
            });
        }

        /** Frees a block, which is dead whatever the device throws: the device is called for its memory only. */
        private void free(int index) {
            if (index >= 0) {
                final long address = addresses.get(index);
                addresses.set(index, addresses.getLast());
                addresses.removeLast();
                live.remove(address);
                attempt(() -> subject.free(address));
            }
        }

        /** Calls; the device's failure is the only one, or the exhaustion that follows from it. */
        private void attempt(Runnable call) {
            try {
                call.run();
            } catch (OutOfMemoryException e) {
                assertThat(device.fault).isEqualTo(Fault.OUT_OF_MEMORY);
            } catch (Throwable e) {
                // A close that has to leave memory behind names it, and the failure is the cause.
                final Throwable injected = e instanceof DeviceException && e.getCause() != null ? e.getCause() : e;
                assertThat(injected).hasMessageStartingWith("injected");
                assertThat(injected).hasSameClassAs(device.fault.failure());
            }
        }

        /** Before the first fault, the program is the one without faults, which was verified. */
        private void verify() {
            if (!device.hasFailed() && device.first != NEVER) {
                return;
            }
            subject.verify(live);
            final AllocatorStats stats = subject.stats();
            assertThat(stats.requestedBytesInUse())
                    .isEqualTo(live.values().stream().mapToLong(Long::longValue).sum());
            assertThat(stats.numAllocs()).isEqualTo(allocs);
            assertThat(stats.bytesHeld()).isEqualTo(device.liveBytes());
        }
    }

    @ParameterizedTest
    @EnumSource
    void noFaultLosesMemory(ArenaSubject.Kind kind) {
        for (int seed = 0; seed < PROGRAMS; seed++) {
            final FaultyDevice sound = new FaultyDevice(Fault.ERROR, NEVER, false);
            new Program(kind, sound, seed).run();
            int first = 0; // so that each call fails with one kind of fault at least
            for (final Fault fault : Fault.values()) {
                for (int call = first++ % Share.step(); call < sound.calls; call += Share.step()) {
                    new Program(kind, new FaultyDevice(fault, call, false), seed).run();
                    new Program(kind, new FaultyDevice(fault, call, true), seed).run();
                }
            }
        }
        assertThat(faults).isGreaterThan(300L * PROGRAMS / Share.step());
    }
}
