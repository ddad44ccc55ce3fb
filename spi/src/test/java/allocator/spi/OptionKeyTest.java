package allocator.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OptionKeyTest {
    private static final OptionKey<Long> LIMIT = OptionKey.bytes("arena.max_mem", 0, "a limit");
    private static final OptionKey<Long> PAGE = OptionKey.size("arena.page", 4096, 1 << 20, "a page");

    @ParameterizedTest
    @CsvSource({
        "64m, 67108864",
        "64MiB, 67108864",
        "1g, 1073741824",
        "1K, 1024",
        "2tib, 2199023255552",
        "max, 9223372036854775807",
        "9223372036854775808, 9223372036854775807",
        "18446744073709551615, 9223372036854775807"
    })
    void sizesHaveUnitsAndUnsignedValuesMeanTheMost(String text, long bytes) {
        assertEquals(bytes, LIMIT.parse(text, "test"));
        assertEquals(Long.toString(bytes), LIMIT.format(LIMIT.parse(text, "test")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"18446744073709551616", "16777216t", "64 m", "64mb", "m", "-1", "1.5g", ""})
    void otherSizesAreRejectedWithTheRangeAndTheForms(String text) {
        final String message = assertThrows(InvalidOptionException.class, () -> LIMIT.parse(text, "test"))
                .getMessage();
        assertTrue(message.contains("from 0 to 9223372036854775807"), message);
        assertTrue(message.contains("a unit and no space such as 64m or 64MiB"), message);
    }

    @Test
    void aLimitSaysThatMoreThanTheRangeIsNoLimit() {
        final OptionKey<Long> limit = OptionKey.limit("arena.max_mem", "a limit");
        assertEquals(0, limit.parse("18446744073709551615", "test"));
        assertEquals("a number of bytes from 0 to 9223372036854775807, or more for no limit", limit.accepted());
    }

    @Test
    void aSizeWithASmallMaximumIsNotExceeded() {
        assertEquals(1 << 20, PAGE.parse("max", "test"));
        assertThrows(InvalidOptionException.class, () -> PAGE.parse("18446744073709551615", "test"));
        assertThrows(InvalidOptionException.class, () -> PAGE.parse("2m", "test"));
    }

    @Test
    void onlyACloseKeyIsSuggested() {
        final List<String> known = List.of("arena.max_mem", "arena.extent_divisor", "memory.call_sites");
        assertTrue(unknown("gpu_mem_limit", known).contains("did you mean arena.max_mem?"));
        assertTrue(unknown("max_mem", known).contains("did you mean arena.max_mem?"));
        assertTrue(unknown("arena.max_mum", known).contains("did you mean arena.max_mem?"));
        assertFalse(unknown("environment.jmx", known).contains("did you mean"));
        assertFalse(unknown("max_mem", List.of("memory.call_sites")).contains("did you mean"));
    }

    private static String unknown(String key, List<String> known) {
        return InvalidOptionException.unknownKey(key, "1", "test", known).getMessage();
    }
}
