package jcuda;

import java.util.Locale;

/** Names of native libraries, in the form that JCuda's classes use. */
public final class LibUtils {
    private LibUtils() {}

    /**
     * {@return a library's name on this platform, with operating system and architecture, as JCuda publishes it:
     * {@code JCudaDriver-12.6.0} becomes {@code JCudaDriver-12.6.0-linux-x86_64}}
     *
     * @param baseLibraryName the name without platform
     */
    public static String createPlatformLibraryName(String baseLibraryName) {
        return baseLibraryName + '-' + platform(System.getProperty("os.name"), System.getProperty("os.arch"));
    }

    /** The platform in JCuda's words. */
    static String platform(String osName, String osArch) {
        return operatingSystem(osName.toLowerCase(Locale.ROOT)) + '-' + architecture(osArch.toLowerCase(Locale.ROOT));
    }

    private static String operatingSystem(String name) {
        return name.startsWith("windows") ? "windows" : name.startsWith("mac") ? "apple" : name;
    }

    private static String architecture(String name) {
        return name.equals("amd64") ? "x86_64" : name;
    }
}
