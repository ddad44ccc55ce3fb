package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CudaEventsTest {
    private static final MemoryInfo MEMORY = CudaCalls.memory("Cuda", 0, MemoryType.DEFAULT);

    private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();

    @BeforeEach
    void retain() {
        driver.devices().primaryContextRetain(0);
    }

    @AfterEach
    void nothingIsLeft() {
        driver.devices().primaryContextRelease(0);
        driver.close();
    }

    @Test
    void aClosedStreamIsRejectedBeforeTheDriver() {
        final DriverStream closed = new DriverStream(driver, MEMORY);
        try (CudaEvents events = new CudaEvents(driver, 0);
                DriverStream open = new DriverStream(driver, MEMORY)) {
            final long event = events.record(open);
            closed.close();
            final long calls = driver.controls().calls();
            assertThatThrownBy(() -> events.record(closed)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> events.await(closed, event)).isInstanceOf(IllegalStateException.class);
            assertThat(driver.controls().calls()).isEqualTo(calls);
            events.release(event);
        }
    }

    @Test
    void anEventOutlivesItsStream() {
        final DriverStream stream = new DriverStream(driver, MEMORY);
        try (CudaEvents events = new CudaEvents(driver, 0)) {
            final long event = events.record(stream);
            stream.close();
            assertThat(events.isDone(event)).isTrue();
            events.release(event);
        }
    }
}
