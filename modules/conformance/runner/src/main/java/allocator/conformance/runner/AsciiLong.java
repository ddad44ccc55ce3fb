package allocator.conformance.runner;

import java.util.concurrent.TimeUnit;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Parses numbers of ASCII digits; {@link Long#parseLong} accepts those of every script, and a plus sign. */
final class AsciiLong implements ITypeConverter<Long> {
    @Override
    public Long convert(String text) {
        try {
            if (text.matches("-?[0-9]+")) {
                return Long.valueOf(text);
            }
        } catch (NumberFormatException e) {
            // Too large.
        }
        throw new TypeConversionException("'" + text + "' is not a long");
    }

    /** Parses times in seconds, likewise, that a thread can wait for: up to 292 years. */
    static final class Seconds implements ITypeConverter<Long> {
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
}
