package com.example;

import allocator.runtime.Environment;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs by SLF4J, and uses memory of the library. */
public final class Application {
    private static final Logger LOGGER = LoggerFactory.getLogger(Application.class);

    private Application() {}

    /** Runs it. */
    public static void main(String[] args) {
        try (Environment environment = Environment.builder().build();
                Session session = environment.openSession(
                        SessionOptions.builder().provider("cpu-reference").build())) {
            final long address = session.allocator().alloc(1000);
            LOGGER.info("{} live block", session.liveBlocks());
            session.allocator().free(address);
        }
    }
}
