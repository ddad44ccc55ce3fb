package allocator.bench.subject;

import allocator.onnxruntime.OnnxRuntimeLibrary;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.arrow.memory.ArrowBuf;

/** What can be measured. */
public enum SubjectType {
    /** Our arena, through the contract. */
    ARENA,
    /** Our arena with {@code arena.policy=slabs}. */
    ARENA_SLABS,
    /** Our arena with {@code arena.policy=compact}, of the provider {@code cpu-reference}. */
    ARENA_COMPACT,
    /** Our arena, each thread on a stream of its own. */
    ARENA_STREAMS,
    /** ONNX Runtime's CPU arena, through its C API. */
    ORT,
    /** Netty's PooledByteBufAllocator, direct buffers. */
    NETTY_POOLED,
    /** Netty's AdaptiveByteBufAllocator, direct buffers. */
    NETTY_ADAPTIVE,
    /** Arrow's RootAllocator over Unsafe. */
    ARROW,
    /** {@code Arena.ofConfined}, one per block, zeroed. */
    JDK_CONFINED,
    /** {@code Arena.ofShared}, one per block, zeroed. */
    JDK_SHARED,
    /** {@code malloc} of the C library, by a critical downcall. */
    MALLOC,
    /** The library jemalloc, by a critical downcall. */
    JEMALLOC,
    /** The library mimalloc, by a critical downcall. */
    MIMALLOC,
    /** The library tcmalloc of gperftools, by a critical downcall. */
    TCMALLOC,
    /** Our provider {@code cpu-reference}. */
    CPU_REFERENCE,
    /** {@code cpu-reference}, through a session. */
    SESSION,
    /** {@code cpu-reference}, through a session, each thread on a stream of its own. */
    SESSION_STREAMS,
    /** {@code cpu-reference}, through the OrtAllocator that ONNX Runtime calls. */
    BRIDGE;

    /** This project's own: what two commits are compared by. */
    public static final List<SubjectType> OWN =
            List.of(ARENA, ARENA_SLABS, ARENA_COMPACT, ARENA_STREAMS, CPU_REFERENCE, SESSION, SESSION_STREAMS, BRIDGE);

    /** What a run measures by default. */
    public static final List<SubjectType> USUAL = List.copyOf(EnumSet.range(ARENA, TCMALLOC));

    /** What a first look measures. */
    public static final List<SubjectType> FEW = List.of(ARENA, ARENA_SLABS, ARENA_STREAMS, ORT, NETTY_POOLED, MALLOC);

    /** Those that are taken to a million live blocks. */
    public static final List<SubjectType> SCALED = List.of(ARENA, ORT, NETTY_POOLED, MALLOC);

    /** Where native libraries lie, besides what {@code LD_LIBRARY_PATH} says. */
    private static final List<String> FOLDERS = List.of(
            "bench/.libraries",
            "libraries",
            "/usr/local/lib",
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/usr/lib64",
            "/usr/lib",
            "/opt/homebrew/lib");

    /** The subject of that name on the command line. */
    public static SubjectType of(String text) {
        return Arrays.stream(values())
                .filter(type -> type.toString().equals(text))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no subject is called '" + text + "'; there are "
                        + Arrays.stream(values()).map(SubjectType::toString).collect(Collectors.joining(", "))));
    }

    /**
     * The subjects of those names on the command line, each once.
     *
     * @throws IllegalArgumentException if there is none of a name
     */
    public static List<SubjectType> parse(List<String> texts) {
        return texts.stream().map(SubjectType::of).distinct().toList();
    }

    /** Whether a block's whole memory is written, so that large blocks take milliseconds. */
    public boolean zeroes() {
        return this == JDK_CONFINED || this == JDK_SHARED;
    }

    /** Whether a page of its memory may be at several addresses, so that the system counts it as often. */
    public boolean mapsPagesSeveralTimes() {
        return this == ARENA_COMPACT;
    }

    /** Whether it needs ONNX Runtime's jar. */
    public boolean needsOnnxRuntime() {
        return this == ORT || this == BRIDGE;
    }

    /** Whether it is an allocator in a library of its own. */
    public boolean needsLibrary() {
        return !libraryNames().isEmpty();
    }

    private List<String> libraryNames() {
        return switch (this) {
            case JEMALLOC -> List.of("libjemalloc.so.2", "libjemalloc.so");
            case MIMALLOC -> List.of("libmimalloc.so.3*", "libmimalloc.so.2*", "libmimalloc.so");
            case TCMALLOC -> List.of("libtcmalloc_minimal.so.4", "libtcmalloc_minimal.so");
            default -> List.of();
        };
    }

    /** The system property that names the file of its library. */
    public String libraryProperty() {
        return MallocAllocator.LIBRARY + "." + this;
    }

    /** The file of its library: the one that the property names, or else one in the usual folders. */
    public Optional<Path> findLibrary() {
        final String given = System.getProperty(libraryProperty(), "");
        if (!given.isEmpty()) {
            return Optional.of(Path.of(given));
        }
        final Stream<String> named =
                Stream.of(System.getenv().getOrDefault("LD_LIBRARY_PATH", "").split(":", -1));
        final List<Path> folders = Stream.concat(named, FOLDERS.stream())
                .filter(folder -> !folder.isEmpty())
                .map(Path::of)
                .filter(Files::isDirectory)
                .toList();
        return libraryNames().stream()
                .flatMap(name -> folders.stream().flatMap(folder -> matches(folder, name).stream()))
                .findFirst()
                .map(Path::toAbsolutePath);
    }

    private static List<Path> matches(Path folder, String pattern) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, pattern)) {
            final List<Path> found = new ArrayList<>();
            files.forEach(found::add);
            found.sort(null);
            return found;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Which release of it is measured; empty if it is ours or does not say. */
    public Optional<String> version() {
        return switch (this) {
            case ORT -> Optional.of(OnnxRuntimeLibrary.version());
            case NETTY_POOLED, NETTY_ADAPTIVE -> implementationVersion(ByteBuf.class);
            case ARROW -> implementationVersion(ArrowBuf.class);
            default -> Optional.empty();
        };
    }

    private static Optional<String> implementationVersion(Class<?> type) {
        return Optional.ofNullable(type.getPackage().getImplementationVersion());
    }

    /** Opens it; once per JVM where it is a native library. */
    public Subject open() {
        return switch (this) {
            case ARENA -> SpiSubject.arena(Map.of());
            case ARENA_SLABS -> SpiSubject.arena(Map.of("arena.policy", "slabs"));
            case ARENA_COMPACT -> SpiSubject.provider("cpu-reference", Map.of("arena.policy", "compact"));
            case ARENA_STREAMS -> SpiSubject.arenaOnStreams();
            case ORT -> SpiSubject.onnxRuntime();
            case NETTY_POOLED -> NettySubject.pooled();
            case NETTY_ADAPTIVE -> NettySubject.adaptive();
            case ARROW -> new ArrowSubject();
            case JDK_CONFINED -> new JdkSubject(Arena::ofConfined);
            case JDK_SHARED -> new JdkSubject(Arena::ofShared);
            case MALLOC -> SpiSubject.malloc();
            case JEMALLOC, MIMALLOC, TCMALLOC -> {
                System.setProperty(
                        MallocAllocator.LIBRARY,
                        findLibrary()
                                .orElseThrow(() -> new IllegalStateException("no library of " + this + " is found"))
                                .toString());
                yield SpiSubject.malloc();
            }
            case CPU_REFERENCE -> SpiSubject.provider("cpu-reference", Map.of());
            case SESSION -> SessionSubject.open();
            case SESSION_STREAMS -> SessionSubject.onStreams();
            case BRIDGE -> new BridgeSubject();
        };
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
