package allocator.runtime;

import static allocator.testkit.FakeMemory.location;
import static allocator.testkit.FakeMemory.memory;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import allocator.testkit.FakeMemory;
import allocator.testkit.Faults;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Path 3: allocators that the application makes, replaces and registers. */
class SharedAllocatorsTest {
    private static final MemoryLocation GPU = location(DeviceType.GPU, 0);
    private static final MemoryInfo CUDA = memory("Cuda", DeviceType.GPU, 0, MemoryType.DEFAULT);

    private final Environment environment = Environments.empty();
    private final FakeFactory factory = FakeFactory.gpu("Cuda");
    private final ProviderDevice device;

    SharedAllocatorsTest() {
        environment.register(factory);
        device = environment.devices().getFirst();
    }

    @AfterEach
    void close() {
        environment.close();
        assertThat(factory.references()).isZero();
    }

    private ManagedAllocator replace(String maxMem) {
        return environment.createSharedAllocator(device, CUDA, AllocatorOptions.of(Map.of("arena.max_mem", maxMem)));
    }

    @Nested
    class Replacing {
        @Test
        void theNewOneHasItsOwnSettingsAndIsFound() {
            final ManagedAllocator old = environment.sharedAllocator(GPU).orElseThrow();
            final ManagedAllocator replaced = replace("4096");
            assertThat(environment.sharedAllocator(GPU)).containsSame(replaced);
            assertThat(replaced.isSameInstanceAs(old)).isFalse();
            assertThat(replaced.effectiveOptions().value("arena.max_mem")).isEqualTo("4096");
            assertThat(replaced.effectiveOptions().origin("arena.max_mem")).isEqualTo(AllocatorOptions.EXPLICIT);
            assertThat(factory.references()).as("the old reference is back").isEqualTo(2);
            assertThatThrownBy(() -> old.alloc(1)).isInstanceOf(AllocatorClosedException.class);
        }

        @Test
        void theNewOneIsMadeBeforeTheOldOneIsReleased() {
            factory.log().clear();
            replace("4096");
            assertThat(factory.log()).containsExactly("create Cuda (gpu:0)", "release Cuda (gpu:0)");
        }

        /** Defect 5 of ONNX Runtime: the old allocator is gone when the new one cannot be made. */
        @Test
        void aFaultAtAnyCallLeavesTheOldOneInPlace() {
            final ManagedAllocator old = environment.sharedAllocator(GPU).orElseThrow();
            final long block = old.alloc(10);
            assertThatThrownBy(() -> replace("not_a_number")).isInstanceOf(InvalidOptionException.class);
            assertThatThrownBy(() -> replace("-100")).isInstanceOf(InvalidOptionException.class);
            final AtomicInteger calls = new AtomicInteger();
            factory.before(Faults.atCall(1, calls, () -> new DeviceException("injected", null)));
            assertThatThrownBy(() -> replace("4096")).isInstanceOf(DeviceException.class);
            factory.before(operation -> {});
            factory.returned(allocator -> {
                ((FakeAllocator) allocator).before(Faults.on("effectiveOptions", new DeviceException("late", null)));
                return allocator;
            });
            assertThatThrownBy(() -> replace("4096")).hasMessage("late");
            factory.returned(allocator -> null);
            assertThatThrownBy(() -> replace("4096")).isInstanceOf(ProviderException.class);
            factory.returned(allocator -> {
                ((FakeAllocator) allocator).info(new MemoryInfo("Cuda", CUDA.location(), 256, AllocatorType.ARENA));
                return allocator;
            });
            assertThatThrownBy(() -> replace("4096")).isInstanceOf(ProviderException.class);
            factory.returned(allocator -> allocator);
            assertThat(environment.sharedAllocator(GPU)).containsSame(old);
            assertThat(factory.references()).isEqualTo(2);
            old.free(block);
            old.free(old.alloc(20));
        }

        @Test
        void blocksOfTheOldOneAreFreedAndThenItIsReleased() {
            final ManagedAllocator old = environment.sharedAllocator(GPU).orElseThrow();
            final FakeAllocator oldTarget = factory.shared(CUDA);
            final long block = old.alloc(10);
            replace("4096");
            assertThat(oldTarget.isClosed()).isFalse();
            assertThat(old.stats().bytesInUse()).isEqualTo(10);
            assertThatThrownBy(environment::close)
                    .isInstanceOf(StillInUseException.class)
                    .hasMessageContaining("1 live block in Cuda (gpu:0)");
            old.free(block);
            assertThat(oldTarget.isClosed()).isTrue();
        }

        @Test
        void aFailureToReleaseTheOldOneDoesNotUndoTheReplacement() {
            final AtomicInteger failures = new AtomicInteger();
            factory.before(operation -> {
                if (operation.startsWith("release") && failures.incrementAndGet() == 1) {
                    throw new DeviceException("cuMemFree", null);
                }
            });
            final ManagedAllocator replaced = replace("4096");
            assertThat(environment.sharedAllocator(GPU)).containsSame(replaced);
            assertThat(failures).hasValue(1);
        }

        @Test
        void aProviderThatIgnoresExclusiveIsFoundOut() {
            factory.returned(allocator -> factory.created().getFirst());
            assertThatThrownBy(() -> replace("4096"))
                    .isInstanceOf(ProviderException.class)
                    .hasMessageContaining("arena.exclusive=1 requests one of its own");
            assertThat(factory.references()).isEqualTo(2);
        }

        @Test
        void aProviderThatCannotMakeASecondInstanceIsReported() {
            final FakeFactory simple = FakeFactory.cpu("Simple");
            simple.keys(List.of(FakeFactory.MAX_MEM));
            final Environment other = Environments.empty();
            simple.returned(allocator -> simple.created().getFirst());
            other.register(new FakeFactoryWithoutExclusive(simple));
            final ProviderDevice cpu = other.devices().getFirst();
            final ManagedAllocator replaced = other.createSharedAllocator(
                    cpu, cpu.device().memoryInfos().getFirst(), AllocatorOptions.of(Map.of("arena.max_mem", "4096")));
            assertThat(replaced.report().settings())
                    .filteredOn(setting -> !setting.isEffective())
                    .singleElement()
                    .satisfies(setting -> {
                        assertThat(setting.key()).isEqualTo("arena.max_mem");
                        assertThat(setting.requested()).isEqualTo("4096");
                        assertThat(setting.effective()).isEqualTo("0");
                        assertThat(setting.origin()).isEqualTo("explicit call");
                        assertThat(setting.why()).contains("shares an existing instance", "default");
                    });
            other.close();
        }

        @Test
        void aProviderTakesThePlaceOfAnother() {
            final FakeFactory second = FakeFactory.gpu("Pool");
            environment.register(second);
            final ProviderDevice pool = environment.devices().stream()
                    .filter(candidate -> candidate.provider().equals("Pool"))
                    .findFirst()
                    .orElseThrow();
            final ManagedAllocator replaced = environment.createSharedAllocator(pool, CUDA, AllocatorOptions.EMPTY);
            assertThat(environment.sharedAllocator(GPU)).containsSame(replaced);
            assertThat(replaced.report().provider()).isEqualTo("Pool");
            assertThat(factory.references()).isOne();
            environment.unregister("Pool");
            assertThat(environment.sharedAllocator(GPU)).isEmpty();
        }

        @Test
        void onlyMemoryOfTheDeviceIsAccepted() {
            assertThatThrownBy(() -> environment.createSharedAllocator(
                            device, memory("Cuda", DeviceType.GPU, 7, MemoryType.DEFAULT), AllocatorOptions.EMPTY))
                    .isInstanceOf(UnsupportedMemoryException.class);
            assertThatThrownBy(() -> environment.createSharedAllocator(
                            device, FakeMemory.readOnly("CudaReadOnly", DeviceType.GPU, 0), AllocatorOptions.EMPTY))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("never shared");
            assertThatThrownBy(() -> environment.createSharedAllocator(
                            new ProviderDevice("Nobody", device.device()), CUDA, AllocatorOptions.EMPTY))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void releaseEmptiesTheSlotAndCreateFillsIt() {
        environment.releaseSharedAllocator(GPU);
        assertThat(environment.sharedAllocator(GPU)).isEmpty();
        assertThat(factory.references()).isOne();
        assertThatThrownBy(() -> environment.releaseSharedAllocator(GPU))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("No allocator for this device has been registered for sharing");
        final ManagedAllocator created = replace("4096");
        assertThat(environment.sharedAllocator(CUDA)).containsSame(created);
    }

    @Nested
    class Registered {
        private final FakeAllocator.Full own =
                new FakeAllocator.Full(memory("dummy", DeviceType.GPU, 0, MemoryType.DEFAULT));

        /** ONNX Runtime's GetSharedAllocator case: names do not matter, and unregistering brings the other one back. */
        @Test
        void itIsFoundByLocationWhateverItsName() {
            assertThat(environment
                            .sharedAllocator(own.info())
                            .orElseThrow()
                            .info()
                            .name())
                    .isEqualTo("Cuda");
            environment.registerAllocator(own);
            assertThat(environment.sharedAllocator(CUDA).orElseThrow().info().name())
                    .isEqualTo("dummy");
            environment.unregisterAllocator(GPU);
            assertThat(environment
                            .sharedAllocator(own.info())
                            .orElseThrow()
                            .info()
                            .name())
                    .isEqualTo("Cuda");
        }

        /** Defect 6: under another name, both stay. */
        @Test
        void aSecondOneReplacesTheFirstWhateverItsName() {
            environment.registerAllocator(own);
            final FakeAllocator second = new FakeAllocator(memory("other", DeviceType.GPU, 0, MemoryType.DEFAULT));
            environment.registerAllocator(second);
            assertThat(environment.sharedAllocators())
                    .extracting(allocator -> allocator.info().name())
                    .containsExactlyInAnyOrder("other", "CudaPinned");
            environment.unregisterAllocator(GPU);
            assertThat(environment.sharedAllocator(GPU).orElseThrow().info().name())
                    .isEqualTo("Cuda");
        }

        @Test
        void itIsAnArenaIfItShrinks() {
            environment.registerAllocator(own);
            environment.shrink(GPU);
            assertThat(own.calls("shrink")).isEqualTo(1);
        }

        @Test
        void itIsNotTakenWhileItsMemoryIsLive() {
            final ManagedAllocator managed = environment.registerAllocator(own);
            final long block = managed.alloc(8);
            assertThatThrownBy(() -> environment.unregisterAllocator(GPU))
                    .isInstanceOf(StillInUseException.class)
                    .hasMessageContaining("1 live block");
            assertThatThrownBy(() -> environment.registerAllocator(new FakeAllocator(own.info())))
                    .isInstanceOf(StillInUseException.class);
            managed.free(managed.alloc(8));
            managed.free(block);
            environment.unregisterAllocator(GPU);
            assertThatThrownBy(() -> managed.alloc(8)).isInstanceOf(AllocatorClosedException.class);
        }

        @Test
        void itIsNotTakenWhileASessionUsesIt() {
            environment.registerAllocator(own);
            try (Session session = environment.openSession(SessionOptions.builder()
                    .option("session.use_env_allocators", "1")
                    .build())) {
                assertThat(session.allocator().info().name()).isEqualTo("dummy");
                assertThatThrownBy(() -> environment.unregisterAllocator(GPU))
                        .isInstanceOf(StillInUseException.class)
                        .hasMessageContaining("sessions use it");
            }
            environment.unregisterAllocator(GPU);
        }

        @Test
        void noCallPushesItAside() {
            environment.registerAllocator(own);
            assertThatThrownBy(() -> replace("4096"))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("unregister it");
            environment.unregister("Cuda");
            assertThat(environment.sharedAllocator(GPU)).isPresent();
            environment.unregisterAllocator(GPU);
            assertThat(environment.sharedAllocator(GPU)).isEmpty();
        }

        @Test
        void theReservedTypeAndReadOnlyMemoryAreRejected() {
            own.info(new MemoryInfo("x", GPU, 256, AllocatorType.ARENA));
            assertThatThrownBy(() -> environment.registerAllocator(own))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("register it as DEVICE");
            own.info(new MemoryInfo("x", GPU, 256, AllocatorType.READ_ONLY));
            assertThatThrownBy(() -> environment.registerAllocator(own)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> environment.unregisterAllocator(GPU))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("No allocator for this device has been registered for sharing");
        }

        @Test
        void closingTheEnvironmentLeavesItToTheApplication() {
            final Environment other = Environments.empty();
            final ManagedAllocator managed = other.registerAllocator(own);
            managed.free(managed.alloc(1));
            other.close();
            assertThat(own.isClosed()).isFalse();
        }
    }

    @Test
    void exclusiveIsRequestedOnlyWhereItIsNotSet() {
        final ManagedAllocator shared = environment.createSharedAllocator(
                device, CUDA, AllocatorOptions.of(Map.of("arena.max_mem", "4096", OptionKey.EXCLUSIVE.name(), "0")));
        assertThat(shared.effectiveOptions().value("arena.max_mem"))
                .as("the shared instance exists already")
                .isEqualTo("0");
    }
}
