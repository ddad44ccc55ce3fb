package allocator.conformance.runner;

import java.util.concurrent.TimeUnit;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Parses times in seconds, as {@link AsciiLong}, that a thread can wait for: up to 292 years. */
final class AsciiSeconds implements ITypeConverter<Long> {
    private static final long MOST = TimeUnit.NANOSECONDS.toSeconds(Long.MAX_VALUE);

    private final AsciiLong numbers = new AsciiLong();

    @Override
    public Long convert(String text) {
        final Long seconds = numbers.convert(text);
        if (seconds > MOST) {
            throw new TypeConversionException("'" + text + "' is above " + MOST);
        }
        return seconds;
    }
}
