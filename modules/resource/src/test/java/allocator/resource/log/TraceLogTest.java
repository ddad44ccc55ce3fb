package allocator.resource.log;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.resource.FakeResource;
import allocator.testkit.FakeStream;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class TraceLogTest {
    private final FakeResource addresses = new FakeResource(1000);

    @Test
    void aTraceIsWrittenAsItHappens() {
        StringWriter trace = new StringWriter();
        TraceLog log = new TraceLog(trace);
        LoggingResource logged = new LoggingResource(addresses, log);
        FakeStream stream = new FakeStream(addresses.memory());
        long before = addresses.allocate(10);
        long address = logged.allocate(100);
        logged.deallocate(logged.allocate(200, 8, stream), 200, 8, stream);
        logged.deallocate(address, 100);
        logged.deallocate(before, 10);
        assertThat(trace.toString()).isEqualTo("""
                op,id,bytes,stream
                a,0,100,0
                a,1,200,1
                f,1,200,1
                f,0,100,0
                """);
        assertThat(log.droppedRecords()).isEqualTo(1);
    }

    @Test
    void aReusedAddressIsANewBlockOfTheTrace() {
        StringWriter trace = new StringWriter();
        LoggingResource logged = new LoggingResource(addresses, new TraceLog(trace));
        for (int i = 0; i < 2; i++) {
            logged.deallocate(logged.allocate(100), 100);
        }
        assertThat(trace.toString().lines())
                .containsExactly("op,id,bytes,stream", "a,0,100,0", "f,0,100,0", "a,1,100,0", "f,1,100,0");
    }
}
