package allocator.onnxruntime.ep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OrtException;
import allocator.onnxruntime.OnnxRuntimeLibrary;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Plays scenarios against ONNX Runtime's core and against the runtime, with a recording provider under both, and
 * compares how they treat its allocators.
 *
 * <p>A scenario is a list of steps: {@code register}; {@code open SESSION [shared] [weight] [patterns] [KEY=VALUE
 * ...]}; {@code run SESSION ROWS [shrink]}; {@code replace [KEY=VALUE ...]}; {@code close SESSION}; {@code stream
 * STREAM}; {@code allocate STREAM BYTES}; {@code end STREAM}; {@code unregister}.
 */
class SameAsOnnxRuntimeTest {
    private static List<String> play(String scenario, boolean isOrt) throws OrtException {
        return play(scenario, isOrt, new RecordingProvider());
    }

    private static List<String> play(String scenario, boolean isOrt, RecordingProvider provider) throws OrtException {
        try (Core core = isOrt ? new OrtCore(provider) : new RuntimeCore(provider)) {
            for (final String step : scenario.split("; ", -1)) {
                provider.step(step);
                play(step.split(" ", -1), core);
            }
        }
        return provider.lines();
    }

    private static void play(String[] words, Core core) throws OrtException {
        final Map<String, String> options = new TreeMap<>();
        for (final String word : words) {
            final int equals = word.indexOf('=');
            if (equals > 0) {
                options.put(word.substring(0, equals), word.substring(equals + 1));
            }
        }
        final List<String> all = List.of(words);
        switch (words[0]) {
            case "register" -> core.register();
            case "open" -> core.open(words[1], options, features(all));
            case "run" -> core.run(words[1], Integer.parseInt(words[2]), all.contains("shrink"));
            case "replace" -> core.replace(options);
            case "close" -> core.close(words[1]);
            case "stream" -> core.openStream(words[1]);
            case "allocate" -> core.allocate(words[1], Integer.parseInt(words[2]));
            case "end" -> core.closeStream(words[1]);
            case "unregister" -> core.unregister();
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private static Set<Core.Feature> features(List<String> words) {
        final Set<Core.Feature> features = EnumSet.noneOf(Core.Feature.class);
        for (final Core.Feature feature : Core.Feature.values()) {
            if (words.contains(feature.name().toLowerCase(Locale.ROOT))) {
                features.add(feature);
            }
        }
        return features;
    }

    /** The lines that only one core has, in order: {@code -} of ONNX Runtime, {@code +} of the runtime. */
    private static List<String> differences(List<String> ort, List<String> runtime) {
        // For each pair of ends, how many lines they have in common.
        final int[][] common = new int[ort.size() + 1][runtime.size() + 1];
        for (int i = ort.size() - 1; i >= 0; i--) {
            for (int j = runtime.size() - 1; j >= 0; j--) {
                common[i][j] = ort.get(i).equals(runtime.get(j))
                        ? common[i + 1][j + 1] + 1
                        : Math.max(common[i + 1][j], common[i][j + 1]);
            }
        }
        final List<String> differences = new ArrayList<>();
        int i = 0;
        int j = 0;
        while (i < ort.size() || j < runtime.size()) {
            if (i < ort.size() && j < runtime.size() && ort.get(i).equals(runtime.get(j))) {
                i++;
                j++;
            } else if (j == runtime.size() || (i < ort.size() && common[i + 1][j] >= common[i][j + 1])) {
                differences.add("- " + ort.get(i++).strip());
            } else {
                differences.add("+ " + runtime.get(j++).strip());
            }
        }
        return differences;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "register; unregister",
                "register; open A; run A 100; close A; unregister",
                "register; open A; run A 100; run A 7; run A 5000; close A; unregister",
                "register; open A; open B; run A 100; run B 200; close A; close B; unregister",
                "register; open A; open B; close B; close A; unregister",
                "register; open A arena.exclusive=1; run A 100 shrink; close A; unregister",
                "register; open A; run A 100 shrink; run A 100 shrink; close A; unregister",
                "register; open A weight; run A 100; close A; unregister",
                "register; open A weight; open B weight; run A 3; run B 3; close A; close B; unregister",
                "register; open A weight arena.exclusive=1; open B; run A 3; close B; close A; unregister",
                "register; open A arena.exclusive=1; open B; run A 3; run B 3; close A; run B 4; close B; unregister"
            })
    void bothCoresTreatAProviderAlike(String scenario) throws OrtException {
        assumeTrue(
                OnnxRuntimeLibrary.apiVersion() >= 25 || !scenario.contains("shrink"),
                "ONNX Runtime shrinks plug-in allocators from 1.25 on");
        assertThat(differences(play(scenario, true), play(scenario, false))).isEmpty();
    }

    /** The limit of a session covers its initializers: they are reserves of the limited arena (decision 37). */
    @Test
    void aLimitCoversInitializers() throws OrtException {
        final String scenario =
                "register; open A arena.exclusive=1 arena.max_mem=1048576; run A 100; close A; unregister";
        assertThat(differences(play(scenario, true), play(scenario, false)))
                .containsExactly(
                        "- create CpuReadOnly {arena.exclusive=1, arena.max_mem=1048576}", "- release CpuReadOnly");
    }

    /** The new allocator is there before the old one goes, so a replacement that fails changes nothing. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "register; replace arena.initial_chunk_size_bytes=25600; unregister",
                "register; open A; replace arena.initial_chunk_size_bytes=25600; run A 100; close A; unregister"
            })
    void aReplacementCreatesFirst(String scenario) throws OrtException {
        assertThat(differences(play(scenario, true), play(scenario, false)))
                .containsExactly( // between the two lies the release, which both have
                        "+ create Cpu {arena.exclusive=1, arena.initial_chunk_size_bytes=25600}",
                        "- create Cpu {arena.initial_chunk_size_bytes=25600}");
    }

    /** A session with settings gets an instance of its own, so that they apply (decision 30). */
    @Test
    void aSessionWithSettingsHasAnInstanceOfItsOwn() throws OrtException {
        final String scenario = "register; open A arena.initial_chunk_size_bytes=25600; run A 100; close A; unregister";
        assertThat(differences(play(scenario, true), play(scenario, false)))
                .containsExactlyInAnyOrder(
                        "- create Cpu {arena.initial_chunk_size_bytes=25600}",
                        "+ create Cpu {arena.exclusive=1, arena.initial_chunk_size_bytes=25600}");
    }

    /** A session on the shared allocator does not create one of its own first. */
    @Test
    void aSessionOnTheSharedAllocatorCreatesNoneOfItsOwn() throws OrtException {
        final String scenario = "register; open A shared; run A 100; close A; unregister";
        assertThat(differences(play(scenario, true), play(scenario, false)))
                .containsExactly("- create Cpu {}", "- release Cpu");
    }

    /** ONNX Runtime plans a run from an earlier one, and takes one block for it; the runtime has no kernels to plan. */
    @Test
    void aPlannedRunTakesABlockMore() throws OrtException {
        final String scenario = "register; open A patterns; run A 100; run A 100; run A 7; close A; unregister";
        assertThat(differences(play(scenario, true), play(scenario, false)))
                .containsExactly("- alloc 2560", "- alloc 2560");
    }

    /**
     * Streams and what is allocated on them are alike. A session on the shared allocator creates none of its own first,
     * and the environment's allocators are released in the reverse order of their creation.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "register; open A shared; stream S; allocate S 1000; end S; close A; unregister",
                "register; open A shared; stream S; stream T; allocate S 1000; allocate T 2000; end T; end S; close A;"
                        + " unregister",
                "register; open A shared; stream S; end S; stream S; allocate S 5; allocate S 7; end S; close A;"
                        + " unregister"
            })
    void streamsAreTreatedAlike(String scenario) throws OrtException {
        final List<String> differences = differences(
                play(scenario, true, new RecordingProvider(new DisguisedGpu())),
                play(scenario, false, new RecordingProvider(new DisguisedGpu())));
        assertThat(differences)
                .containsExactly(
                        "- create Disguised {}",
                        "- create DisguisedPinned {}",
                        "- release Disguised",
                        "- release DisguisedPinned",
                        "- release Disguised",
                        "+ release Disguised");
    }

    @Test
    void aDifferenceIsFound() {
        assertThat(differences(List.of("a", "b", "c"), List.of("a", "c", "d"))).containsExactly("- b", "+ d");
    }
}
