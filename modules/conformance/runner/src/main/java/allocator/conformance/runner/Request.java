package allocator.conformance.runner;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.subject.CleanupFindings.Finding;
import java.io.Serializable;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * What the process that the provider runs in has to do.
 *
 * @param providers which provider, and where it is
 * @param hasProbe whether its probe is used, which must be there
 * @param rules the patterns of the rules to prove
 * @param seed the seed of random tests
 * @param quick whether they are cut down
 * @param timeLimit the time limit of a test
 * @param isRandomOnly whether only random tests run
 * @param leftOut tests that do not run, by name, rule or class of their chapter
 * @param findings the faults found by the cleanups of tests that ran before
 * @param cleanups how many tests were cleaned up before
 */
record Request(
        Providers.Choice providers,
        boolean hasProbe,
        String rules,
        long seed,
        boolean quick,
        Duration timeLimit,
        boolean isRandomOnly,
        Set<String> leftOut,
        List<Finding> findings,
        int cleanups)
        implements Serializable {
    Request {
        leftOut = Set.copyOf(leftOut);
        findings = List.copyOf(findings);
    }

    static Request of(Providers.Choice providers, boolean hasProbe, String rules, ConformanceSettings settings) {
        return new Request(
                providers,
                hasProbe,
                rules,
                settings.seed(),
                settings.quick(),
                settings.timeLimit(),
                false,
                Set.of(),
                List.of(),
                0);
    }

    ConformanceSettings settings() {
        return new ConformanceSettings(seed, quick, timeLimit);
    }

    /** Returns this request without some tests, and with what was found so far. */
    Request without(Set<String> tests, List<Finding> foundSoFar, int cleanedUpSoFar) {
        return new Request(
                providers, hasProbe, rules, seed, quick, timeLimit, isRandomOnly, tests, foundSoFar, cleanedUpSoFar);
    }

    Request withTimeLimit(Duration shorter) {
        return new Request(providers, hasProbe, rules, seed, quick, shorter, isRandomOnly, leftOut, findings, cleanups);
    }

    /** Returns a request for all random tests but some, at full length and with another seed. */
    Request random(long otherSeed, Set<String> tests) {
        return new Request(providers, hasProbe, rules, otherSeed, false, timeLimit, true, tests, List.of(), 0);
    }
}
