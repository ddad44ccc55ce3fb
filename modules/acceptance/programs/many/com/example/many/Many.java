package com.example.many;

import allocator.runtime.Environment;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Many small sessions of one policy at once, and what each costs the process. Arguments: the policy, and how many. */
public final class Many {
    private static final long LIMIT = 64 << 20;
    private static final long MOST_ADDRESSES = 4L << 30;
    private static final long MOST_HEAP = 256 << 10;

    private Many() {}

    /** Runs it. */
    public static void main(String[] args) throws IOException {
        final String name = args[1] + " sessions " + args[0];
        final int count = Integer.parseInt(args[1]);
        final List<Session> sessions = new ArrayList<>();
        try (Environment environment = Environment.builder().build()) {
            open(environment, args[0]).close();
            final long addressesBefore = addresses();
            final long heapBefore = heap();
            String failure = "";
            try {
                for (int i = 0; i < count; i++) {
                    final Session session = open(environment, args[0]);
                    sessions.add(session);
                    session.allocator().alloc(1000);
                }
            } catch (Throwable e) {
                failure = e.toString().replace('\n', ' ');
            }
            show(name + ": are open at once", failure.isEmpty(), sessions.size() + " are; " + failure);
            final long addresses = (addresses() - addressesBefore) / Math.max(1, sessions.size());
            show(name + ": take at most 4 GiB of addresses each", addresses <= MOST_ADDRESSES, addresses + " bytes");
            final long heap = (heap() - heapBefore) / Math.max(1, sessions.size());
            show(name + ": take at most 256 KiB of Java heap each", heap <= MOST_HEAP, heap + " bytes");
            // The sessions' blocks go with the process.
            System.out.println("day|many|done");
            System.out.flush();
            Runtime.getRuntime().halt(0);
        }
    }

    private static Session open(Environment environment, String policy) {
        return environment.openSession(SessionOptions.builder()
                .provider("cpu-reference")
                .option("ep.cpu-reference.arena.max_mem", Long.toString(LIMIT))
                .option("ep.cpu-reference.arena.policy", policy)
                .build());
    }

    private static void show(String cell, boolean isRight, String what) {
        System.out.println("cell|many|" + cell + "|" + (isRight ? "ok" : "FAILED|" + what));
    }

    private static long addresses() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmSize:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                .findFirst()
                .orElseThrow();
    }

    private static long heap() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }
}
