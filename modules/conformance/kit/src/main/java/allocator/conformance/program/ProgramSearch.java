package allocator.conformance.program;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.program.ProgramGenerator.Capabilities;
import allocator.conformance.subject.CleanupFindings;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.HangError;
import allocator.conformance.subject.ProviderFixture;
import allocator.conformance.subject.Subject;
import allocator.conformance.subject.Watchdog;
import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** Searches for programs that break rules, and shortens each one while it still breaks the same rule. */
public final class ProgramSearch {
    /** A program that exceeds this time is abandoned; normal programs take milliseconds. */
    private static final Duration PROGRAM_LIMIT = Duration.ofSeconds(10);

    private static final int MAX_ATTEMPTS = 3000;

    private final ProviderFixture fixture;
    private final ConformanceSettings settings;
    private final MemoryInfo memory;
    private final long deadline;
    private int attempts;

    private ProgramSearch(ProviderFixture fixture, ConformanceSettings settings, MemoryInfo memory, long deadline) {
        this.fixture = fixture;
        this.settings = settings;
        this.memory = memory;
        this.deadline = deadline;
    }

    /** Runs random programs on a memory, for a limited time. */
    public static ProgramVerdict search(ProviderFixture fixture, ConformanceSettings settings, MemoryInfo memory) {
        final Duration share = settings.timeLimit().dividedBy(3);
        final Duration wanted = settings.quick() ? Duration.ofMillis(300) : Duration.ofSeconds(4);
        final long nanos = (wanted.compareTo(share) < 0 ? wanted : share).toNanos();
        return new ProgramSearch(fixture, settings, memory, System.nanoTime() + nanos).search();
    }

    private ProgramVerdict search() {
        final Map<String, ProgramFailure> failures = new HashMap<>();
        final Capabilities capabilities = capabilities();
        final int count = times(600, 60);
        int programs = 0;
        // One in any case, also where it took all the time to find out what the allocator can do.
        for (int i = 0; i < count && (i == 0 || System.nanoTime() < deadline); i++) {
            final long seed = settings.seed() * 1_000_003 + i;
            final Program program = ProgramGenerator.generate(memory.toString(), seed, times(120, 60), capabilities);
            programs++;
            violation(program)
                    .filter(fault -> !failures.containsKey(fault.rule()))
                    .ifPresent(fault -> {
                        final Program shortest = shorten(program, fault.rule());
                        final RuleViolation last = violation(shortest)
                                .filter(again -> again.rule().equals(fault.rule()))
                                .orElse(fault);
                        failures.put(
                                fault.rule(),
                                ProgramFailure.of(
                                        last.getMessage() + " [random program, seed " + settings.seed() + "]",
                                        shortest.toString(),
                                        last));
                    });
        }
        return new ProgramVerdict(programs, Map.copyOf(failures));
    }

    private Capabilities capabilities() {
        final Subject subject = new Subject(fixture, settings, memory);
        subject.open();
        try {
            final Allocator allocator = subject.allocator();
            return new Capabilities(
                    subject.ifStreamAware(allocator).isPresent(),
                    allocator.spiLevel() >= SpiLevel.RESERVE,
                    Subject.ifShrinkable(allocator).isPresent(),
                    subject.hasKey(Subject.LIMIT)
                            && allocator.effectiveOptions().value(Subject.LIMIT) != null,
                    subject.smallestLimit(),
                    subject.manyRegions());
        } finally {
            closeQuietly(subject, PROGRAM_LIMIT);
        }
    }

    private Optional<RuleViolation> violation(Program program) {
        return run(fixture, settings, memory, program, _ -> {});
    }

    private int times(int full, int few) {
        return settings.quick() ? few : full;
    }

    /**
     * Runs one program on a factory of its own. Returns the first violation of a rule, if any.
     *
     * @param log receives each step and its result
     */
    public static Optional<RuleViolation> run(
            ProviderFixture fixture,
            ConformanceSettings settings,
            MemoryInfo memory,
            Program program,
            Consumer<String> log) {
        final Subject subject = new Subject(fixture, settings, memory);
        final Duration limit = settings.timeLimit().compareTo(PROGRAM_LIMIT) < 0 ? settings.timeLimit() : PROGRAM_LIMIT;
        try {
            Watchdog.call("program", limit, () -> {
                subject.open();
                ProgramRun.run(subject, program, log);
                return program;
            });
            final List<CleanupFindings.Finding> findings = close(subject, limit);
            return findings.stream().findFirst().map(first -> new RuleViolation(first.rule(), first.fault(), null));
        } catch (RuleViolation violation) {
            closeQuietly(subject, limit);
            return Optional.of(violation);
        } catch (HangError hang) {
            return Optional.of(new RuleViolation("C-02", "the program " + hang.getMessage(), hang));
        } catch (Throwable failure) {
            closeQuietly(subject, limit);
            return Optional.of(new RuleViolation("A-07", "unexpected " + Expect.describe(failure), failure));
        }
    }

    /** Cleans up, and returns the faults found. The tests before this one report a close that does not return. */
    private static List<CleanupFindings.Finding> close(Subject subject, Duration limit) throws Throwable {
        final Duration ofCleanup = subject.fixture().cleanupLimit(subject.settings());
        try {
            return Watchdog.call(
                    "close after program",
                    ofCleanup.compareTo(limit) < 0 ? ofCleanup : limit,
                    () -> subject.close("program"));
        } catch (HangError _) {
            subject.fixture().cleanupHung();
            subject.abandon();
            return List.of();
        }
    }

    /** Cleans up after a violation; faults found now are its consequences. */
    private static void closeQuietly(Subject subject, Duration limit) {
        try {
            final List<CleanupFindings.Finding> ignored = close(subject, limit);
        } catch (Throwable _) {
            subject.abandon();
        }
    }

    /** Removes smaller and smaller parts of a program, then reduces sizes, while the same rule is broken. */
    private Program shorten(Program found, String rule) {
        if (rule.equals("C-02")) {
            return found;
        }
        attempts = 0;
        Program best = found;
        if (stillBreaks(best.withoutOptions(), rule)) {
            best = best.withoutOptions();
        }
        boolean isShorter = true;
        while (isShorter && attempts < MAX_ATTEMPTS) {
            final int before = best.steps().size();
            for (int chunk = Math.max(1, before / 2); chunk >= 1; chunk /= 2) {
                best = withoutChunks(best, chunk, rule);
            }
            isShorter = best.steps().size() < before;
        }
        return withSmallerSizes(best, rule);
    }

    private Program withoutChunks(Program from, int chunk, String rule) {
        Program best = from;
        int start = best.steps().size();
        while (start > 0) {
            start = Math.max(0, start - chunk);
            final List<Op> fewer = new ArrayList<>(best.steps());
            fewer.subList(start, Math.min(start + chunk, fewer.size())).clear();
            if (stillBreaks(best.withSteps(fewer), rule)) {
                best = best.withSteps(fewer);
            }
        }
        return best;
    }

    private Program withSmallerSizes(Program from, String rule) {
        Program best = from;
        for (int i = 0; i < best.steps().size(); i++) {
            for (final long size : new long[] {1, 256, 1024, 4096, 65536}) {
                final List<Op> smaller = new ArrayList<>(best.steps());
                final Op op = smaller.get(i);
                if (op instanceof Op.Alloc alloc && alloc.byteSize() > size) {
                    smaller.set(i, new Op.Alloc(alloc.block(), size, alloc.stream()));
                } else if (op instanceof Op.Reserve reserve && reserve.byteSize() > size) {
                    smaller.set(i, new Op.Reserve(reserve.block(), size));
                } else {
                    break;
                }
                if (stillBreaks(best.withSteps(smaller), rule)) {
                    best = best.withSteps(smaller);
                    break;
                }
            }
        }
        return best;
    }

    private boolean stillBreaks(Program program, String rule) {
        attempts++;
        return attempts < MAX_ATTEMPTS
                && violation(program).filter(fault -> fault.rule().equals(rule)).isPresent();
    }
}
