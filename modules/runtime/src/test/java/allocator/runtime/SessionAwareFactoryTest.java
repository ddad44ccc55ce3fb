package allocator.runtime;

import static allocator.testkit.FakeMemory.memory;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.SessionAwareFactory;
import allocator.testkit.FakeFactory;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SessionAwareFactoryTest {
    /** A provider of one GPU with device, pinned and read-only memory that notes for whom each allocator is. */
    private static final class Aware extends FakeFactory implements SessionAwareFactory {
        private final List<String> asked = new ArrayList<>();
        private @Nullable RuntimeException failure;

        Aware() {
            super("Aware");
            withGpu(0);
        }

        @Override
        public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
            asked.add(info.name());
            return super.createAllocator(info, options);
        }

        @Override
        public Allocator createSessionAllocator(MemoryInfo info, AllocatorOptions options, String session) {
            if (failure != null && info.name().equals("CudaPinned")) {
                throw failure;
            }
            asked.add(info.name() + " for " + session + " " + options.get(MAX_MEM));
            return super.createAllocator(info, options);
        }
    }

    private final Environment environment = Environments.empty();
    private final Aware provider = new Aware();

    @AfterEach
    void close() {
        environment.close();
        assertThat(provider.references()).isZero();
        assertThat(provider.isClosed()).isTrue();
    }

    private Session open(String... settings) {
        final SessionOptions.Builder options = SessionOptions.builder().name("bert");
        for (int i = 0; i < settings.length; i += 2) {
            options.option(settings[i], settings[i + 1]);
        }
        return environment.openSession(options.build());
    }

    @Test
    void aProviderLearnsForWhichSessionAnAllocatorIsAndWithWhichSettings() {
        environment.register(provider);
        assertThat(provider.asked).as("the environment's").containsExactly("Cuda", "CudaPinned");
        provider.asked.clear();
        try (Session session = open()) {
            session.allocator().free(session.allocator().alloc(8));
        }
        open("ep.aware.arena.initial_chunk_size_bytes", "4096").close();
        assertThat(provider.asked)
                .containsExactly(
                        "Cuda for bert 0",
                        "CudaPinned for bert 0",
                        "CudaReadOnly for bert 0",
                        "Cuda for bert 0",
                        "CudaPinned for bert 0",
                        "CudaReadOnly for bert 0");
        provider.asked.clear();
        open("ep.aware.arena.max_mem", "1000").close();
        assertThat(provider.asked)
                .as("the limit covers initializers")
                .containsExactly("Cuda for bert 1000", "CudaPinned for bert 1000");
    }

    @Test
    void aSessionWithoutANameHasTheOneOfItsReports() {
        environment.register(provider);
        try (Session session = environment.openSession(SessionOptions.DEFAULT)) {
            assertThat(provider.asked).contains("Cuda for " + session.name() + " 0");
        }
    }

    @Test
    void allocatorsOfTheEnvironmentAreNotASessions() {
        environment.register(provider);
        provider.asked.clear();
        open("session.use_env_allocators", "1").close();
        assertThat(provider.asked).containsExactly("CudaReadOnly for bert 0");
        environment.createSharedAllocator(
                environment.devices().getFirst(),
                memory("Cuda", DeviceType.GPU, 0, MemoryType.DEFAULT),
                AllocatorOptions.EMPTY);
        assertThat(provider.asked.getLast()).isEqualTo("Cuda");
    }

    @Test
    void aFailureOpensNoSessionAndOneThatIsNoneOfTheContractNamesTheMethod() {
        environment.register(provider);
        provider.failure = new DeviceException("cuMemAlloc", null);
        assertThatThrownBy(this::open).isSameAs(provider.failure);
        provider.failure = new IllegalStateException("planted");
        assertThatThrownBy(this::open)
                .isInstanceOf(ProviderException.class)
                .hasMessageContaining("provider Aware threw from createSessionAllocator(CudaPinned");
        environment.unregister("Aware");
    }
}
