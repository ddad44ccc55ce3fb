package jcuda;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The SHA-256 of each native library with which this module was built.
 *
 * <p>A library that differs is damaged, or is another one: on the class path and under {@code --patch-module} any jar
 * may have a file of the same name.
 */
final class NativeChecksums {
    private static final String LIST = "natives.sha256";

    private NativeChecksums() {}

    /**
     * Compares a copy of a library with the checksum of the library of its name.
     *
     * @throws UnsatisfiedLinkError if it differs, or no checksum is known
     * @throws IOException if it cannot be read
     */
    static void require(Path library) throws IOException {
        final String name = library.getFileName().toString();
        final String expected = expected(name);
        final String actual = sha256(library);
        if (!actual.equals(expected)) {
            throw new UnsatisfiedLinkError(name
                    + " is not the library that module jcuda was built with: its SHA-256 is "
                    + actual + ", not " + expected + ". Replace java-allocator-jcuda.jar by the published one, and"
                    + " remove other jars with that file from the class path");
        }
    }

    private static String expected(String name) throws IOException {
        try (InputStream list = NativeChecksums.class.getResourceAsStream(LIST)) {
            final String text = list == null ? "" : new String(list.readAllBytes(), StandardCharsets.US_ASCII);
            return text.lines()
                    .filter(line -> line.endsWith("  " + name))
                    .map(line -> line.substring(0, line.indexOf(' ')))
                    .findFirst()
                    .orElseThrow(() -> new UnsatisfiedLinkError("module jcuda has no checksum of " + name));
        }
    }

    private static String sha256(Path file) throws IOException {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
