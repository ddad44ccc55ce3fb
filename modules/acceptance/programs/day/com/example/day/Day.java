package com.example.day;

import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.runtime.Environment;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.ProviderReport;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.SnapshotJson;
import allocator.spi.EpFactory;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import java.io.IOException;
import java.io.StringWriter;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;

/**
 * A small day's work with each provider: options, allocate, write and read, cap, report, snapshot, shrink, close.
 * Prints one line for each: {@code cell|way|provider|ok} or {@code cell|way|provider|FAILED|why}.
 *
 * <p>Arguments: the name of the way in, then {@code providers=DIR} to search a directory, {@code registered=DIR} to
 * register one at an environment that lives, {@code simulated=no} where the application cannot reach the simulated
 * device, {@code register=yes} to register by hand what the application's own loader sees, {@code messages=yes} to
 * require that a failed request names its limit, {@code plan=FILE} for the file of a plan, if none can be written to
 * the folder of temporary files.
 */
public final class Day {
    private static final long LIMIT = 64 << 20;
    private static final long SIZE = 100_000;

    private final String way;
    private final List<String> arguments;

    /** The message of the last request above the limit. */
    private String failure = "";

    private Day(String way, List<String> arguments) {
        this.way = way;
        this.arguments = arguments;
    }

    /** Runs it. */
    public static void main(String[] args) {
        new Day(args[0], List.of(args).subList(1, args.length)).run();
    }

    private void run() {
        final Map<String, Map<String, String>> hosts = new LinkedHashMap<>();
        hosts.put("cpu-reference best-fit", Map.of());
        hosts.put("cpu-reference best-fit, regions as requested", Map.of("arena.extend_strategy", "1"));
        hosts.put("cpu-reference slabs", Map.of("arena.policy", "slabs"));
        hosts.put("cpu-reference compact", Map.of("arena.policy", "compact"));
        hosts.put("cpu-reference bump", Map.of("arena.kind", "bump"));
        cell("cpu-reference plan", () -> work("cpu-reference", Map.of("arena.plan", plan())));
        hosts.forEach((name, options) -> cell(name, () -> work("cpu-reference", options)));
        cell("cpu-reference has these policies", this::requireThesePoliciesOnly);
        cell("buddy, of a vendor", () -> work("buddy", Map.of()));
        cell("vendor-gpu, of a vendor on java.allocator.cuda.memory", () -> work("vendor-gpu", Map.of()));
        cell("cuda-arena without a GPU", () -> requireReason("cuda-arena"));
        cell("cuda-mempool without a GPU", () -> requireReason("cuda-mempool"));
        cell("every provider found", this::requireNoFailure);
        if (!argument("registered").isEmpty()) {
            cell("the directory is unloaded", this::requireUnloaded);
        }
        if (!arguments.contains("simulated=no")) {
            cell("cuda-arena simulated", () -> Gpu.work(this, "cuda-arena", Map.of()));
            cell("cuda-arena simulated compact", () -> Gpu.work(this, "cuda-arena", Map.of("arena.policy", "compact")));
            cell("cuda-arena simulated pool", () -> Gpu.work(this, "cuda-arena", Map.of("arena.use_cuda_mempool", "1")));
            cell("cuda-mempool simulated", () -> Gpu.work(this, "cuda-mempool", Map.of()));
            if (argument("providers").isEmpty()) {
                cell("cuda-arena simulated, registered by hand", () -> Gpu.registered(this, "cuda-arena"));
            }
        }
        System.out.println("day|" + way + "|done");
    }

    private interface Work {
        void run() throws Exception;
    }

    private void cell(String provider, Work work) {
        String result = "ok";
        try {
            work.run();
        } catch (Throwable e) {
            final StringBuilder why = new StringBuilder("FAILED|");
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                why.append(cause).append(" at ").append(Arrays.asList(cause.getStackTrace()).stream()
                        .limit(8)
                        .toList());
            }
            result = why.toString().replace('\n', ' ');
        }
        System.out.println("cell|" + way + "|" + provider + "|" + result);
        if (arguments.contains("messages=yes") && !failure.isEmpty() && !provider.startsWith("buddy")) {
            final String shown = failure.contains("arena.max_mem") ? "ok" : "FAILED|" + failure.replace('\n', ' ');
            failure = "";
            System.out.println("cell|" + way + "|" + provider + ": a failed request names arena.max_mem|" + shown);
        }
    }

    private String argument(String key) {
        return arguments.stream()
                .filter(argument -> argument.startsWith(key + "="))
                .map(argument -> argument.substring(key.length() + 1))
                .findFirst()
                .orElse("");
    }

    private Environment environment() {
        final EnvironmentBuilder builder = Environment.builder();
        if (!argument("providers").isEmpty()) {
            builder.providersFrom(Path.of(argument("providers")));
        }
        final Environment environment = builder.build();
        if (!argument("registered").isEmpty()) {
            environment.registerFrom(Path.of(argument("registered")));
        }
        if (arguments.contains("register=yes")) {
            ServiceLoader.load(EpFactory.class, Day.class.getClassLoader()).forEach(environment::register);
        }
        return environment;
    }

    private void work(String provider, Map<String, String> options) throws IOException {
        try (Environment environment = environment()) {
            work(environment, provider, options);
        }
    }

    private void work(Environment environment, String provider, Map<String, String> options)
            throws IOException {
        final SessionOptions.Builder builder = SessionOptions.builder()
                .name("day")
                .provider(provider)
                .option("ep." + provider + ".arena.max_mem", Long.toString(LIMIT));
        options.forEach((key, value) -> builder.option("ep." + provider + "." + key, value));
        final Session session = environment.openSession(builder.build());
        try (session) {
            final ManagedAllocator allocator = session.allocator();
            require(session.report().toString().contains("arena.max_mem"), "no limit in", session.report());
            options.forEach((key, value) -> require(
                    value.equals(allocator.effectiveOptions().value(key)),
                    key + "=" + value + " is not effective in",
                    allocator.effectiveOptions()));

            final long first = allocator.alloc(SIZE);
            final long second = allocator.alloc(SIZE / 10);
            writeAndRead(session, allocator, first);
            writeAndRead(session, allocator, second);
            require(session.liveBlocks() == 2, "live blocks", session.liveBlocks());
            require(allocator.stats().bytesInUse() >= SIZE, "in use", allocator.stats());
            requireInSnapshot(environment.snapshot(), provider, 2);

            requireLimitIsKept(allocator);
            allocator.free(first);
            allocator.free(second);
            if (allocator.isArena()) {
                final ShrinkReport report = session.shrink(allocator.info().location());
                require(report.bytesHeld() == allocator.stats().bytesHeld(), "shrink", report);
            }
            require(allocator.stats().bytesInUse() == 0, "in use after the free", allocator.stats());
        }
        require(session.isClosed() && session.liveBlocks() == 0, "after the close", session);
    }

    private static void writeAndRead(Session session, ManagedAllocator allocator, long address) {
        final byte[] written = new byte[(int) SIZE / 10];
        Arrays.fill(written, (byte) 42);
        final byte[] read = new byte[written.length];
        if (allocator.isHostAccessible()) {
            final MemorySegment segment = allocator.segment(address, written.length);
            MemorySegment.copy(written, 0, segment, ValueLayout.JAVA_BYTE, 0, written.length);
            MemorySegment.copy(segment, ValueLayout.JAVA_BYTE, 0, read, 0, read.length);
        } else {
            session.transfers().copy(MemorySegment.ofArray(written), allocator.range(address, written.length));
            session.transfers().copy(allocator.range(address, written.length), MemorySegment.ofArray(read));
        }
        require(Arrays.equals(written, read), "read what was not written at", address);
    }

    private static void requireInSnapshot(Snapshot snapshot, String provider, long blocks) throws IOException {
        final Snapshot.AllocatorState state = snapshot.allocators().stream()
                .filter(allocator -> allocator.provider().equals(provider)
                        && allocator.users().contains(new Snapshot.User("day", blocks)))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("not in the snapshot: " + snapshot.allocators()));
        final StringWriter json = new StringWriter();
        SnapshotJson.write(snapshot, json);
        require(json.toString().contains(state.memory().name()), "no memory in", json);
    }

    /** Neither one request above the limit is granted, nor many small ones. */
    private void requireLimitIsKept(ManagedAllocator allocator) {
        final Map<String, Long> sizes = Map.of("one", LIMIT + 1, "many", LIMIT / 16);
        sizes.forEach((name, size) -> {
            final long[] addresses = new long[20];
            int count = 0;
            try {
                while (count < addresses.length) {
                    addresses[count] = allocator.alloc(size);
                    count++;
                }
                throw new IllegalStateException(name + ": " + count + " blocks of " + size + " fit in " + LIMIT);
            } catch (OutOfMemoryException e) {
                require(e.shortage().limit() == LIMIT, "the limit is another in", e);
                failure = String.valueOf(e.getMessage());
            } finally {
                for (int i = 0; i < count; i++) {
                    allocator.free(addresses[i]);
                }
            }
            require(allocator.stats().bytesHeld() <= LIMIT, "held", allocator.stats());
        });
    }

    /** A plan of the two blocks above. */
    private String plan() throws IOException {
        if (!argument("plan").isEmpty()) {
            return argument("plan");
        }
        final Path file = Files.createTempFile("plan", ".csv");
        file.toFile().deleteOnExit();
        Files.writeString(file, "id,lower,upper,size,offset\na,0,2," + SIZE + ",0\nb,1,3," + SIZE / 10 + ",131072\n");
        return file.toString();
    }

    private void requireThesePoliciesOnly() {
        try (Environment environment = environment()) {
            final List<String> accepted = environment.optionKeys("cpu-reference").stream()
                    .filter(key -> key.name().equals("arena.policy") || key.name().equals("arena.kind"))
                    .map(key -> key.accepted())
                    .sorted(Comparator.reverseOrder())
                    .toList();
            require(
                    accepted.equals(List.of("one of bfc, bump", "one of best-fit, compact, slabs")),
                    "other policies:",
                    accepted);
        }
    }

    /** Without a GPU a provider is registered, has no device, and gives the reason. */
    private void requireReason(String provider) {
        try (Environment environment = environment()) {
            final ProviderReport report = environment.providers().stream()
                    .filter(found -> found.name().equals(provider))
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException("not found: " + environment.providers()));
            require(report.isRegistered(), "not registered:", report);
            if (!report.devices().isEmpty()) {
                work(environment, provider, Map.of());
                return;
            }
            require(report.notes().toString().contains("CUDA driver"), "no reason in", report.notes());
            try {
                environment.openSession(
                        SessionOptions.builder().provider(provider).build()).close();
                throw new IllegalStateException("a session opens without a device");
            } catch (RuntimeException e) {
                require(e.getMessage().contains("libcuda"), "no reason in", e);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void requireNoFailure() {
        try (Environment environment = environment()) {
            environment.providers().forEach(report -> require(report.isRegistered(), "not registered:", report));
        }
    }

    /** After the last provider of a directory is unregistered, its classes go, while the environment lives. */
    private void requireUnloaded() throws Exception {
        try (Environment environment = environment()) {
            final List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
            work(environment, "cpu-reference", Map.of());
            environment
                    .openSession(SessionOptions.builder()
                            .provider("cpu-reference")
                            .decorator(allocator -> {
                                loaders.add(new WeakReference<>(allocator.getClass().getClassLoader()));
                                return allocator;
                            })
                            .build())
                    .close();
            environment.providers().forEach(report -> environment.unregister(report.name()));
            for (int i = 0; i < 50 && loaders.getFirst().get() != null; i++) {
                System.gc();
                Thread.sleep(20);
            }
            require(loaders.getFirst().get() == null, "not unloaded:", "the directory");
        }
    }

    private static void require(boolean isTrue, String what, Object object) {
        if (!isTrue) {
            throw new IllegalStateException(what + " " + object);
        }
    }

    /** What needs the simulated device: a class of its own, as an application need not have that. */
    private static final class Gpu {
        /** With the device in the place of the machine's; its close throws if anything is not given back. */
        static void work(Day day, String provider, Map<String, String> options) throws IOException {
            try (SimulatedCudaDriver gpu = SimulatedCudaDriver.builder().build();
                    var place = gpu.substitute()) {
                day.work(provider, options);
            }
        }

        static void registered(Day day, String provider) throws IOException {
            try (SimulatedCudaDriver gpu = SimulatedCudaDriver.builder().build();
                    Environment environment =
                            Environment.builder().modulePathProviders(false).build()) {
                environment.register(gpu.provider(provider));
                day.work(environment, provider, Map.of());
            }
        }
    }
}
