package allocator.provider.support.platform;

/** An operating system, as far as native code differs. */
public enum OperatingSystem {
    /** Linux, with whichever C library. */
    LINUX,
    /** macOS. */
    MACOS,
    /** Windows. */
    WINDOWS,
    /** Any other, which is taken to have the functions of standard C. */
    OTHER;

    static OperatingSystem of(String osName) {
        if (osName.equals("Linux")) {
            return LINUX;
        }
        if (osName.startsWith("Mac OS")) {
            return MACOS;
        }
        return osName.startsWith("Windows") ? WINDOWS : OTHER;
    }
}
