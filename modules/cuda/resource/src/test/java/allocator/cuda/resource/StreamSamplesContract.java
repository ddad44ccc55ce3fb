package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaDriver;
import allocator.resource.log.RmmLog;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The samples of streams in {@code docs/gpu.md}, which need no class of the user's own. */
abstract class StreamSamplesContract {
    private CudaDriver driver;

    abstract CudaDriver openDriver();

    abstract void closeDriver();

    @BeforeEach
    void open() {
        driver = openDriver();
    }

    @AfterEach
    void close() {
        if (driver != null) {
            closeDriver();
        }
    }

    @Test
    void aForeignStreamIsUsedAndStays() {
        driver.devices().primaryContextRetain(0);
        final long foreign = driver.streams().streamCreate(0);
        assertThat(ForeignStreamSample.roundTrip(driver, foreign, new float[] {1, 2, 3}))
                .containsExactly(1, 2, 3);
        assertThat(driver.streams().streamQuery(0, foreign)).isTrue();
        driver.streams().streamDestroy(0, foreign);
        driver.devices().primaryContextRelease(0);
    }

    @Test
    void launchesAreRecorded() throws IOException {
        final StringWriter lines = new StringWriter();
        final RmmLog log = new RmmLog(lines);
        assertThat(RecordedLaunchSample.fillAndCopy(driver, log)).isTrue();
        log.flush();
        assertThat(RmmLog.read(new StringReader(lines.toString()), "log")).hasSize(4);
    }
}
