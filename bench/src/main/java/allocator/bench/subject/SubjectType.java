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
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.arrow.memory.ArrowBuf;

/** What can be measured. */
public enum SubjectType {
    /** Our arena. */
    ARENA("our arena, through the contract"),
    /** Our arena with another placement. */
    ARENA_QUICK("our arena with arena.policy=quick-fit"),
    /** Our arena on pages. */
    ARENA_COMPACT("our arena with arena.policy=compact, of the provider cpu-reference"),
    /** Our arena, ordered on streams. */
    ARENA_STREAMS("our arena, each thread on a stream of its own"),
    /** ONNX Runtime's arena. */
    ORT("ONNX Runtime's CPU arena, through its C API"),
    /** Netty's older allocator. */
    NETTY_POOLED("Netty's PooledByteBufAllocator, direct buffers"),
    /** Netty's newer allocator. */
    NETTY_ADAPTIVE("Netty's AdaptiveByteBufAllocator, direct buffers"),
    /** Arrow. */
    ARROW("Arrow's RootAllocator over Unsafe"),
    /** A confined arena per block. */
    JDK_CONFINED("Arena.ofConfined, one per block, zeroed"),
    /** A shared arena per block. */
    JDK_SHARED("Arena.ofShared, one per block, zeroed"),
    /** The C library. */
    MALLOC("malloc of the C library, by a critical downcall"),
    /** Jason Evans' allocator. */
    JEMALLOC("jemalloc, by a critical downcall"),
    /** Microsoft's allocator. */
    MIMALLOC("mimalloc, by a critical downcall"),
    /** The allocator of gperftools. */
    TCMALLOC("tcmalloc of gperftools, by a critical downcall"),
    /** Our provider of CPU memory. */
    CPU_REFERENCE("our provider cpu-reference"),
    /** The provider through the runtime. */
    SESSION("cpu-reference, through a session"),
    /** The provider through the runtime, ordered on streams. */
    SESSION_STREAMS("cpu-reference, through a session, each thread on a stream of its own"),
    /** The provider as ONNX Runtime's native code calls it. */
    BRIDGE("cpu-reference, through the OrtAllocator that ONNX Runtime calls");

    /** This project's own: what two commits are compared by. */
    public static final List<SubjectType> OWN =
            List.of(ARENA, ARENA_QUICK, ARENA_COMPACT, ARENA_STREAMS, CPU_REFERENCE, SESSION, SESSION_STREAMS, BRIDGE);

    /** What a run measures by default. */
    public static final List<SubjectType> USUAL = List.of(
            ARENA,
            ARENA_QUICK,
            ARENA_COMPACT,
            ARENA_STREAMS,
            ORT,
            NETTY_POOLED,
            NETTY_ADAPTIVE,
            ARROW,
            JDK_CONFINED,
            JDK_SHARED,
            MALLOC,
            JEMALLOC,
            MIMALLOC,
            TCMALLOC);

    /** What a first look measures. */
    public static final List<SubjectType> FEW = List.of(ARENA, ARENA_QUICK, ARENA_STREAMS, ORT, NETTY_POOLED, MALLOC);

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

    private final String description;

    SubjectType(String description) {
        this.description = description;
    }

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

    /** What it is. */
    public String description() {
        return description;
    }

    /** Whether a block's whole memory is written, so that large blocks take milliseconds. */
    public boolean zeroes() {
        return this == JDK_CONFINED || this == JDK_SHARED;
    }

    /** Whether a page of its memory may be at several addresses, so that the system counts it as often. */
    public boolean mapsPagesSeveralTimes() {
        return this == ARENA_COMPACT;
    }

    /** Whether it keeps caches for threads of Netty's kind only. */
    public boolean usesNettyThreads() {
        return this == NETTY_POOLED || this == NETTY_ADAPTIVE;
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

    /** The file of its library, if there is one in the usual folders. */
    public Optional<Path> findLibrary() {
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
            case ARENA -> SpiSubject.arena();
            case ARENA_QUICK -> SpiSubject.arenaWithQuickFit();
            case ARENA_COMPACT -> SpiSubject.provider("cpu-reference", Map.of("arena.policy", "compact"));
            case ARENA_STREAMS -> SpiSubject.arenaOnStreams();
            case ORT -> SpiSubject.onnxRuntime();
            case NETTY_POOLED -> NettySubject.pooled();
            case NETTY_ADAPTIVE -> NettySubject.adaptive();
            case ARROW -> new ArrowSubject();
            case JDK_CONFINED -> new JdkSubject(Arena::ofConfined);
            case JDK_SHARED -> new JdkSubject(Arena::ofShared);
            case MALLOC, JEMALLOC, MIMALLOC, TCMALLOC -> SpiSubject.malloc();
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
