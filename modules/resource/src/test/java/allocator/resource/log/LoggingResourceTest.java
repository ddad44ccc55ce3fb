package allocator.resource.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.FakeResource;
import allocator.resource.MemoryResource;
import allocator.resource.StackOrderException;
import allocator.resource.StatisticsResource;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LoggingResourceTest {
    private final FakeResource addresses = new FakeResource(1000);

    @Test
    void aDeallocationIsLoggedBeforeItsAddressCanBeUsedAgain() {
        StringWriter text = new StringWriter();
        List<String> loggedAtFree = new ArrayList<>();
        addresses.afterFree(
                () -> loggedAtFree.add(text.toString().lines().toList().getLast()));
        LoggingResource logged = new LoggingResource(addresses, new RmmLog(text));
        logged.deallocate(logged.allocate(16), 16);
        assertThat(loggedAtFree).singleElement().asString().contains(",free,0x100000,16,");
    }

    @Test
    void oneLogCannotBeWrittenTwiceInAStack() {
        RmmLog log = new RmmLog(new StringWriter());
        MemoryResource logged = new StatisticsResource(new LoggingResource(addresses, log));
        assertThatThrownBy(() -> new LoggingResource(logged, log)).isInstanceOf(StackOrderException.class);
        assertThat(new LoggingResource(logged, new TraceLog(new StringWriter())).upstream())
                .isSameAs(logged);
    }
}
