package allocator.conformance.rules.failures;

import allocator.conformance.DeviceProbe;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;

/** Calls during which every device call fails. */
final class Refusals {
    private Refusals() {}

    /** Returns the probe; skips the test if it cannot let calls throw what the kit chooses. */
    static DeviceProbe require(Subject subject) {
        final DeviceProbe probe = subject.requireProbe();
        if (!probe.failCalls(0, false, () -> {})) {
            throw Expect.skip("the probe does not let the kit choose what a device call throws");
        }
        return probe;
    }

    /** Makes a call during which every device call throws. Returns whether the call reached the device. */
    static boolean during(Subject subject, Thrown thrown, Runnable call) {
        return during(subject, thrown, 1, true, call);
    }

    /**
     * Makes a call during which a device call throws, and returns whether there was one.
     *
     * @param k the device call, from 1
     * @param isLasting whether all that follow throw as well
     */
    static boolean during(Subject subject, Thrown thrown, int k, boolean isLasting, Runnable call) {
        final DeviceProbe probe = require(subject);
        final long failing = probe.calls() + k;
        probe.failCalls(failing, isLasting, () -> thrown.raise(subject.memory()));
        try {
            call.run();
        } finally {
            probe.failCalls(0, false, () -> {});
        }
        return probe.calls() >= failing;
    }
}
