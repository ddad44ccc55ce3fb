package allocator.onnxruntime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.onnxruntime.support.IdentityModel;
import allocator.spi.EpFactory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;

/** Sessions on a simulated device, with weights that the test reserves as ONNX Runtime does. */
abstract class SimulatedSessions {
    static final long MIB = 1 << 20;

    SimulatedCudaDriver driver;
    EpFactory provider;
    OnnxRuntimeAllocators memory;
    final List<AllocatorSession> sessions = new ArrayList<>();

    /** Those of the installation. */
    final Map<String, String> options = new HashMap<>();

    private String sharing = "1";

    /** What is in the weights, by their addresses. */
    final Map<Long, Byte> values = new HashMap<>();

    void sharesWeights(String option) {
        sharing = option;
    }

    void install(String... options) {
        install(SimulatedCudaDriver.builder().withLaggingStreams(), options);
    }

    void install(SimulatedCudaDriver.Builder device, String... options) {
        driver = device.build();
        provider = driver.provider("cuda-arena");
        GpuMemory gpu = GpuMemory.of(provider)
                .withOption("arena.paged_reserves", "1")
                .withOption(OnnxRuntimeAllocators.SHARE_WEIGHTS, sharing);
        for (int i = 0; i < options.length; i += 2) {
            gpu = gpu.withOption(options[i], options[i + 1]);
        }
        final OnnxRuntimeAllocators.Builder installation = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment());
        this.options.forEach(installation::option);
        memory = installation.gpu(gpu).install();
    }

    /** Opens a session with weights of its own, which are reserved as while it is opened. */
    AllocatorSession open(long... weights) throws OrtException {
        return open(values.size() + 1, weights);
    }

    /** Opens a session whose weights have values that count up. */
    AllocatorSession open(int firstValue, long... weights) throws OrtException {
        final AllocatorSession session = openIdentity();
        reserve(session, firstValue, weights);
        memory.gpu(0).weights().share(exported(session));
        return session;
    }

    private AllocatorSession openIdentity() throws OrtException {
        final SessionSettings settings = SessionSettings.DEFAULT.withName("session " + sessions.size());
        final AllocatorSession session;
        try (SessionOptions options = new SessionOptions()) {
            session = memory.openSession(IdentityModel.bytes(), "identity", options, settings);
        }
        sessions.add(session);
        return session;
    }

    void reserve(AllocatorSession session, int firstValue, long... weights) {
        int value = firstValue;
        for (final long byteSize : weights) {
            final long address = exported(session).reserve(byteSize);
            assertThat(address).as(() -> String.valueOf(session.lastFailure())).isNotZero();
            values.put(address, (byte) value);
            value++;
            driver.memory().memsetD8(0, address, values.get(address), byteSize);
            if (byteSize > MIB) {
                driver.memory().memsetD8(0, address + byteSize - MIB, (byte) -values.get(address), MIB);
            }
        }
        driver.devices().ctxSynchronize(0);
    }

    static ExportedAllocator exported(AllocatorSession session) {
        return session.gpu(0).exported();
    }

    static void run(AllocatorSession session) {
        session.begin();
        session.end();
    }

    void requireWeights(AllocatorSession session) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment read = arena.allocate(MIB);
            exported(session).forEach((address, byteSize, name) -> {
                for (int i = 0; i < 2; i++) {
                    driver.memory().memcpyDtoH(0, read.address(), i == 0 ? address : address + byteSize - MIB, MIB);
                    final byte expected = (byte) (i == 0 ? values.get(address) : -values.get(address));
                    assertEquals(expected, read.get(ValueLayout.JAVA_BYTE, 0));
                    assertEquals(expected, read.get(ValueLayout.JAVA_BYTE, MIB - 1));
                }
            });
        }
    }

    long usedBytes() {
        final var usage = driver.memory().memGetInfo(0);
        return usage.totalByteSize() - usage.freeByteSize();
    }

    /** Frees the weights as ONNX Runtime does at the close of a session. */
    void close(AllocatorSession session) throws OrtException {
        final List<Long> live = new ArrayList<>();
        exported(session).forEach((address, byteSize, name) -> live.add(address));
        live.forEach(exported(session)::free);
        session.close();
    }

    @AfterEach
    void closeAll() throws OrtException {
        for (final AllocatorSession session : sessions) {
            close(session);
        }
        memory.close();
        provider.close();
        driver.close();
    }
}
