package com.example.modules;

import allocator.runtime.Environment;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;

/** Host memory in a program of modules: the provider is found on the module path. */
public final class Main {
    private Main() {}

    /** Runs it. */
    public static void main(String[] args) {
        try (Environment environment = Environment.builder().build();
                Session session = environment.openSession(
                        SessionOptions.builder().provider("cpu-reference").build())) {
            final long address = session.allocator().alloc(1000);
            System.out.println(Main.class.getModule() + ": "
                    + session.allocator().stats().requestedBytesInUse() + " bytes");
            session.allocator().free(address);
        }
    }
}
