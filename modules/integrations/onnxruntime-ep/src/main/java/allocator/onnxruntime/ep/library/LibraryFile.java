package allocator.onnxruntime.ep.library;

import static java.lang.foreign.ValueLayout.ADDRESS;

import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.support.OrtApi;
import allocator.provider.support.platform.Platform;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * The shared library on disk and in this process.
 *
 * <p>It lies in a new directory that only the owner of the process can enter. The process has it loaded before ONNX
 * Runtime opens it by the same name, so that both have the same copy, with the pointers set. Once ONNX Runtime has it,
 * {@link #delete} removes file and directory: the loaded copy does without, and the file cannot change beneath it.
 */
public final class LibraryFile implements AutoCloseable {
    private static final Logger LOG = System.getLogger("allocator.onnxruntime.ep");

    private final Path directory;
    private final Path file;
    private final Arena loaded = Arena.ofShared();
    private boolean isDeleted;

    private LibraryFile(Path directory) {
        this.directory = directory;
        file = directory.resolve("libjavaallocatorep.so");
    }

    /**
     * Writes the library and loads it.
     *
     * @param create the address of what {@code CreateEpFactories} calls
     * @param release the address of what {@code ReleaseEpFactory} calls
     * @throws UnsupportedOperationException if there is no library for the platform
     * @throws OnnxRuntimeException if it cannot be written or loaded
     */
    public static LibraryFile load(MemorySegment create, MemorySegment release) {
        final byte[] bytes = SharedObject.bytes(Machine.of(Platform.current()));
        final LibraryFile library = new LibraryFile(newDirectory());
        try {
            library.writeAndLoad(bytes, create, release);
            return library;
        } catch (Throwable e) {
            library.close();
            throw e;
        }
    }

    private static Path newDirectory() {
        try {
            return Files.createTempDirectory(
                    Path.of(System.getProperty("java.io.tmpdir")),
                    "java-allocator-ep",
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (IOException | InvalidPathException e) {
            throw failure("cannot make a directory for the plug-in library", e);
        }
    }

    @SuppressWarnings("restricted")
    private void writeAndLoad(byte[] bytes, MemorySegment create, MemorySegment release) {
        try {
            Files.write(file, bytes);
        } catch (IOException e) {
            throw failure("cannot write the plug-in library " + file, e);
        }
        final SymbolLookup symbols;
        try {
            symbols = SymbolLookup.libraryLookup(file, loaded);
        } catch (IllegalArgumentException e) {
            throw failure("cannot load the plug-in library " + file + "; is the file system mounted without exec?", e);
        }
        final MemorySegment slots =
                OrtApi.view(symbols.findOrThrow(SharedObject.SLOTS).address(), 2 * ADDRESS.byteSize());
        slots.setAtIndex(ADDRESS, 0, create);
        slots.setAtIndex(ADDRESS, 1, release);
    }

    private static OnnxRuntimeException failure(String what, Exception cause) {
        return new OnnxRuntimeException(
                what + "; java.io.tmpdir=" + System.getProperty("java.io.tmpdir") + " says where: " + cause,
                OnnxRuntimeException.NO_CODE,
                cause);
    }

    /** Returns the file's absolute name, under which ONNX Runtime finds the loaded copy. */
    public Path path() {
        return file.toAbsolutePath();
    }

    /** Removes the file and its directory, once: another file of that name is not ours. What stays is logged. */
    public void delete() {
        if (isDeleted) {
            return;
        }
        isDeleted = true;
        try {
            Files.deleteIfExists(file);
            Files.deleteIfExists(directory);
        } catch (IOException e) {
            LOG.log(Level.WARNING, "cannot remove {0}: {1}", directory, e);
        }
    }

    /** Removes the file if it is still there, and unloads the library from this process. For one call. */
    @Override
    public void close() {
        delete();
        loaded.close();
    }
}
