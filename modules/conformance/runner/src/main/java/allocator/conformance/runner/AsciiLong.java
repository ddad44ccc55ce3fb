package allocator.conformance.runner;

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
}
