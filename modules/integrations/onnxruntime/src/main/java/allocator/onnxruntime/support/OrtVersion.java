package allocator.onnxruntime.support;

import allocator.onnxruntime.OnnxRuntimeException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A version of ONNX Runtime, and whether the layout of its C API is known here.
 *
 * <p>Version 1.N offers version N of the API. From one version to the next the function table only grows at its end, so
 * a known version is one whose table and {@code OrtAllocator} struct were compared with what this module uses.
 *
 * @param text as the library states it
 * @param api the version of the C API, N of 1.N
 */
public record OrtVersion(String text, int api) {
    /** The oldest known version of the API: the first with statistics of allocators. */
    public static final int OLDEST_API = 23;

    /** The newest known version of the API. */
    public static final int NEWEST_API = 29;

    /** From here on {@code OrtAllocator} has {@code Shrink}. */
    public static final int SHRINK_API = 25;

    private static final Pattern FORM = Pattern.compile("1\\.(\\d{1,6})\\.\\d+.*");

    /**
     * Reads what {@code GetVersionString} returned.
     *
     * @throws OnnxRuntimeException if the version is not a known one
     */
    public static OrtVersion parse(String text) {
        final Matcher form = FORM.matcher(text);
        final int api = form.matches() ? Integer.parseInt(form.group(1)) : 0;
        if (api < OLDEST_API || api > NEWEST_API) {
            throw new OnnxRuntimeException("the layout of ONNX Runtime " + text + " is not known; use 1." + OLDEST_API
                    + " to 1." + NEWEST_API);
        }
        return new OrtVersion(text, api);
    }
}
