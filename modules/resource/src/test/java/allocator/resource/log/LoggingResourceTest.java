package allocator.resource.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.FakeResource;
import allocator.resource.MemoryResource;
import allocator.resource.StackOrderException;
import allocator.resource.StatisticsResource;
import allocator.spi.InvalidSizeException;
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
    void aDeallocationWithAWrongSizeIsLoggedWithThatOfTheBlock() {
        StringWriter text = new StringWriter();
        LoggingResource logged = new LoggingResource(addresses, new TraceLog(text));
        long address = logged.allocate(16);
        addresses.before(call -> {
            throw new InvalidSizeException(100, "planted");
        });
        assertThatThrownBy(() -> logged.deallocate(address, 100)).isInstanceOf(InvalidSizeException.class);
        addresses.before(call -> {});
        logged.deallocate(address, 16);
        assertThat(text.toString().lines())
                .containsExactly("op,id,bytes,stream", "a,0,16,0", "f,0,16,0", "a,1,16,0", "f,1,16,0");
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
