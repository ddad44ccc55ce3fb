package allocator.cuda.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which driver is found where a test has put one in the place of the machine's. */
class CudaDriversSubstitutionTest {
    /** A driver that is compared, and never called. */
    private static final class Stub implements CudaDriver {
        @Override
        public CudaDevices devices() {
            throw new UnsupportedOperationException();
        }

        @Override
        public CudaMemory memory() {
            throw new UnsupportedOperationException();
        }

        @Override
        public CudaPools pools() {
            throw new UnsupportedOperationException();
        }

        @Override
        public CudaAddressRanges addressRanges() {
            throw new UnsupportedOperationException();
        }

        @Override
        public CudaStreams streams() {
            throw new UnsupportedOperationException();
        }
    }

    private static @Nullable CudaDriver probed() {
        return CudaDrivers.probe() instanceof CudaAvailability.Available(CudaDriver driver) ? driver : null;
    }

    private static @Nullable CudaDriver probedByAnotherThread() {
        try (var executor = Executors.newSingleThreadExecutor()) {
            return CompletableFuture.supplyAsync(CudaDriversSubstitutionTest::probed, executor)
                    .join();
        }
    }

    @Test
    void aSubstituteIsFoundByAllThreadsUntilItIsClosed() {
        final CudaDriver machine = probed();
        final CudaDriver stub = new Stub();
        try (CudaDrivers.Substitution substitution = CudaDrivers.substitute(stub)) {
            assertThat(probed()).isSameAs(stub);
            assertThat(probedByAnotherThread()).isSameAs(stub);
            assertThatIllegalStateException()
                    .isThrownBy(() -> CudaDrivers.substitute(new Stub()))
                    .withMessageContaining("in the place of the CUDA driver already");
            assertThat(probed()).as("with %s", substitution).isSameAs(stub);
        }
        assertThat(probed()).isSameAs(machine);
    }

    @Test
    void aSecondCloseEndsNoLaterSubstitution() {
        final CudaDrivers.Substitution first = CudaDrivers.substitute(new Stub());
        first.close();
        final CudaDriver stub = new Stub();
        try (CudaDrivers.Substitution second = CudaDrivers.substitute(stub)) {
            first.close();
            assertThat(probed()).as("with %s", second).isSameAs(stub);
        }
    }

    @Test
    void aDriverOfACallIsFoundByItsThreadOnly() {
        final CudaDriver machine = probed();
        final CudaDriver stub = new Stub();
        final CudaDriver other = new Stub();
        try (CudaDrivers.Substitution substitution = CudaDrivers.substitute(other)) {
            assertThat(CudaDrivers.callWith(stub, () -> {
                        assertThat(probedByAnotherThread()).isSameAs(other);
                        return probed();
                    }))
                    .as("beside %s", substitution)
                    .isSameAs(stub);
            assertThat(probed()).isSameAs(other);
        }
        assertThat(probed()).isSameAs(machine);
    }
}
