package allocator.conformance;

import allocator.conformance.ProgramGenerator.Abilities;
import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** Looks for programs that break rules, and cuts those it finds to the shortest that still break the same rule. */
final class ProgramSearch {
    /** Hanging programs are abandoned after this time; those that run take milliseconds. */
    private static final Duration PROGRAM_LIMIT = Duration.ofSeconds(10);

    private static final int MAX_ATTEMPTS = 3000;

    private final Kit kit;
    private final ConformanceSettings settings;
    private final MemoryInfo memory;
    private final long deadline;
    private int attempts;

    private ProgramSearch(Kit kit, ConformanceSettings settings, MemoryInfo memory, long deadline) {
        this.kit = kit;
        this.settings = settings;
        this.memory = memory;
        this.deadline = deadline;
    }

    /** Runs random programs on a memory, until the time for them is over. */
    static ProgramVerdict search(Kit kit, ConformanceSettings settings, MemoryInfo memory) {
        final Duration share = settings.timeLimit().dividedBy(3);
        final Duration wanted = settings.quick() ? Duration.ofMillis(300) : Duration.ofSeconds(4);
        final long nanos = (wanted.compareTo(share) < 0 ? wanted : share).toNanos();
        return new ProgramSearch(kit, settings, memory, System.nanoTime() + nanos).search();
    }

    private ProgramVerdict search() {
        final Map<String, ProgramFailure> failures = new HashMap<>();
        final Abilities abilities = abilities();
        final int count = settings.times(600, 60);
        int programs = 0;
        for (int i = 0; i < count && System.nanoTime() < deadline; i++) {
            final long seed = settings.seed() * 1_000_003 + i;
            final Program program =
                    ProgramGenerator.generate(memory.toString(), seed, settings.times(120, 60), abilities);
            programs++;
            broken(program).filter(fault -> !failures.containsKey(fault.rule())).ifPresent(fault -> {
                final Program shortest = shorten(program, fault.rule());
                final RuleBroken last = broken(shortest)
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

    private Abilities abilities() {
        final Subject subject = new Subject(kit, settings, memory);
        subject.open();
        try {
            final Allocator allocator = subject.allocator();
            final int level = allocator.spiLevel();
            return new Abilities(
                    allocator instanceof StreamAwareAllocator
                            && level >= SpiLevel.STREAMS
                            && subject.factory().isStreamAware(memory),
                    level >= SpiLevel.RESERVE,
                    allocator instanceof ShrinkableAllocator && level >= SpiLevel.SHRINK,
                    subject.hasKey(Subject.LIMIT)
                            && allocator.effectiveOptions().value(Subject.LIMIT) != null,
                    subject.manyRegions());
        } finally {
            subject.close("abilities");
        }
    }

    /** Which rule a program breaks, if any. */
    private Optional<RuleBroken> broken(Program program) {
        return broken(kit, settings, memory, program, _ -> {});
    }

    /** Runs one program on a factory of its own. */
    static Optional<RuleBroken> broken(
            Kit kit, ConformanceSettings settings, MemoryInfo memory, Program program, Consumer<String> log) {
        final Subject subject = new Subject(kit, settings, memory);
        final Duration limit = settings.timeLimit().compareTo(PROGRAM_LIMIT) < 0 ? settings.timeLimit() : PROGRAM_LIMIT;
        try {
            final List<Ledger.Finding> left = Guarded.call("program", limit, () -> {
                subject.open();
                ProgramRun.run(subject, program, log);
                return subject.close("program");
            });
            return left.stream().findFirst().map(first -> new RuleBroken(first.rule(), first.fault(), null));
        } catch (RuleBroken broken) {
            closeQuietly(subject, limit);
            return Optional.of(broken);
        } catch (HangError hang) {
            return Optional.of(new RuleBroken("C-02", "the program " + hang.getMessage(), hang));
        } catch (Throwable failure) {
            closeQuietly(subject, limit);
            return Optional.of(new RuleBroken("A-07", "unexpected " + Expect.describe(failure), failure));
        }
    }

    /** The rule is broken already: what closing says now belongs to it. */
    private static void closeQuietly(Subject subject, Duration limit) {
        try {
            Guarded.call("close after program", limit, () -> subject.close("program"));
        } catch (Throwable _) {
            subject.abandon();
        }
    }

    /** Removes ever smaller pieces, then makes sizes smaller, as long as the same rule breaks. */
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
                && broken(program).filter(fault -> fault.rule().equals(rule)).isPresent();
    }
}
