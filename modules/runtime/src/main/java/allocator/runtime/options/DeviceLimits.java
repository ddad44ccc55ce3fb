package allocator.runtime.options;

import allocator.provider.support.budget.Budget;
import allocator.spi.EpDevice;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The limits of whole devices, {@code device.gpu:0.max_mem}: the limits of their budgets, which all providers of the
 * process charge.
 */
public final class DeviceLimits {
    private static final String PREFIX = "device.";
    private static final String SUFFIX = ".max_mem";

    /** How keys are written in messages. */
    static final String FORM = PREFIX + "<device>" + SUFFIX;

    private static final Pattern KEY = Pattern.compile("device\\.[a-z]+:[0-9]+\\.max_mem");

    private static final String GPU = "gpu:";
    private static final String CUDA = "cuda:";

    private static final String ACCEPTED =
            "a number of bytes, a size such as 8g, max for no limit, or a share of the device from 1% to 100%";

    /** What a device says of its memory among its hardware's data: a number of MiB. */
    private static final String MEMORY = "memory";

    private static final String MIB = " MiB";

    /**
     * A limit that is to be set.
     *
     * @param budget the budget of a device
     * @param bytes its limit
     */
    public record Limit(Budget budget, long bytes) {
        /** Sets it. */
        public void set() {
            budget.setLimit(bytes);
        }
    }

    private DeviceLimits() {}

    /** {@return whether a key is one of these, whether there is such a device or not} */
    public static boolean isKey(String key) {
        return KEY.matcher(key).matches();
    }

    /**
     * Reads the limits of devices, none of which is set yet.
     *
     * @param settings the settings of an environment, of which others are left out
     * @param devices the devices of a provider; what is set for others is left out
     * @throws InvalidOptionException if a value is not accepted or above the memory of the device
     */
    public static List<Limit> of(Map<String, String> settings, List<EpDevice> devices) {
        final List<Limit> limits = new ArrayList<>();
        for (final EpDevice device : devices) {
            device.defaultMemory()
                    .ifPresent(memory -> settings.forEach((key, value) -> {
                        if (isOf(memory, key)) {
                            limits.add(new Limit(Budget.ofMemory(memory), bytes(key, value, device)));
                        }
                    }));
        }
        return limits;
    }

    /** {@return whether a key limits the device of a memory; {@code cuda:0} is a name of {@code gpu:0}} */
    public static boolean isOf(MemoryInfo memory, String key) {
        final String device = memory.location().toString();
        return key.equals(PREFIX + device + SUFFIX)
                || (device.startsWith(GPU) && key.equals(PREFIX + CUDA + device.substring(GPU.length()) + SUFFIX));
    }

    private static long bytes(String key, String value, EpDevice device) {
        final long total = totalBytes(device);
        if (value.endsWith("%")) {
            return share(key, value, device, total);
        }
        final long bytes = OptionKey.limit(key, "what all allocators of the device may hold")
                .parse(value, OptionPlace.ENVIRONMENT.origin());
        if (total > 0 && bytes > total) {
            throw invalid(
                    key,
                    value,
                    "at most the " + total + " bytes of " + device.hardware().name());
        }
        return bytes == 0 ? Budget.UNLIMITED : bytes;
    }

    private static long share(String key, String value, EpDevice device, long total) {
        final String digits = value.substring(0, value.length() - 1);
        final boolean isNumber = digits.matches("[0-9]{1,3}");
        final int percent = isNumber ? Integer.parseInt(digits) : 0;
        if (percent < 1 || percent > 100) {
            throw invalid(key, value, ACCEPTED);
        }
        if (total == 0) {
            throw invalid(
                    key,
                    value,
                    "a number of bytes, as the provider does not report the memory of "
                            + device.hardware().name());
        }
        return total / 100 * percent + total % 100 * percent / 100;
    }

    /** Returns the memory of a device in bytes; 0 if its provider does not report it. */
    private static long totalBytes(EpDevice device) {
        final String text = device.hardware().metadata().getOrDefault(MEMORY, "");
        return text.matches("[0-9]{1,12}" + MIB)
                ? Long.parseLong(text.substring(0, text.length() - MIB.length())) << 20
                : 0;
    }

    private static InvalidOptionException invalid(String key, String value, String accepted) {
        return new InvalidOptionException(key, value, accepted, OptionPlace.ENVIRONMENT.origin());
    }
}
