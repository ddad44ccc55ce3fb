package jcuda;

import java.io.IOException;
import java.io.InputStream;
import java.util.HashSet;
import java.util.Set;

/** Loads the native libraries in this module, each once and from a private copy. */
public final class LibUtilsCuda {
    private static final Set<String> LOADED = new HashSet<>();

    private LibUtilsCuda() {}

    /**
     * Loads a native library of this module; does nothing if it is loaded already.
     *
     * <p>The library is copied to a new directory that only this user can access, and loaded from there; the copy is
     * deleted before this method returns, so no other user and no other JVM can load it. It is loaded only if its
     * SHA-256 is that of the library with which this module was built. A failure has no lasting effect, and the call
     * can be repeated.
     *
     * @param libraryName the name with platform, as {@link LibUtils#createPlatformLibraryName} returns it
     * @param dependentLibraryNames names of libraries to load first
     * @throws UnsatisfiedLinkError if this module has no such library, it is damaged, or it cannot be copied or linked
     */
    public static synchronized void loadLibrary(String libraryName, String... dependentLibraryNames) {
        for (String dependent : dependentLibraryNames) {
            load(dependent);
        }
        load(libraryName);
    }

    private static void load(String libraryName) {
        if (LOADED.contains(libraryName)) {
            return;
        }
        final String fileName = System.mapLibraryName(libraryName);
        try (InputStream library = LibUtilsCuda.class.getResourceAsStream("/lib/" + fileName)) {
            if (library == null) {
                throw new UnsatisfiedLinkError("module jcuda has no " + fileName + ", only linux-x86_64");
            }
            try (PrivateCopy copy = PrivateCopy.of(library, fileName)) {
                NativeChecksums.require(copy.file());
                link(copy);
            }
        } catch (IOException e) {
            final UnsatisfiedLinkError error = new UnsatisfiedLinkError("cannot copy " + fileName
                    + " to java.io.tmpdir=" + System.getProperty("java.io.tmpdir") + ": " + e);
            error.initCause(e);
            throw error;
        }
        LOADED.add(libraryName);
    }

    @SuppressWarnings("restricted") // loading native code is this module's purpose
    private static void link(PrivateCopy copy) {
        try {
            System.load(copy.file().toString());
        } catch (UnsatisfiedLinkError e) {
            throw explained(e);
        }
    }

    /** Adds what to do where the message is that of glibc about a file system without execution. */
    static UnsatisfiedLinkError explained(UnsatisfiedLinkError error) {
        if (!String.valueOf(error.getMessage()).contains("failed to map segment")) {
            return error;
        }
        final UnsatisfiedLinkError explained = new UnsatisfiedLinkError(error.getMessage() + "; if java.io.tmpdir="
                + System.getProperty("java.io.tmpdir") + " is mounted noexec, set it to a folder that is not");
        explained.initCause(error);
        return explained;
    }
}
