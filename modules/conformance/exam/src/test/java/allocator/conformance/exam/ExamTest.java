package allocator.conformance.exam;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Each wrong provider is found by a test of the rules that it breaks, in a quick run. With the profile {@code thorough}
 * the right providers conform, and unusual ones that the kit once failed. {@link WholeExamTest} runs the rest of the
 * kit, and all unusual providers.
 */
class ExamTest {
    /** Edits that are left to the whole exam: on each line a name, or {@code PROVIDER/*} for all, and a reason. */
    private static final Path LEFT_OUT = Path.of("src/test/exam/left-to-the-whole-exam.txt");

    /** Unusual edits that the kit once failed: on each line a name, and the rules whose tests run. */
    private static final Path UNUSUAL = Path.of("src/test/exam/unusual.txt");

    @TestFactory
    @Tag("thorough")
    Stream<DynamicNode> rightProvidersConform() throws IOException {
        final Set<String> leftOut = leftOut();
        return rightProviders(provider -> !leftOut.contains(provider.name() + "/*"));
    }

    /** They take a minute more. */
    @TestFactory
    @Tag("whole-exam")
    Stream<DynamicNode> rightProvidersThatABuildLeavesOutConform() throws IOException {
        final Set<String> leftOut = leftOut();
        return rightProviders(provider -> leftOut.contains(provider.name() + "/*"));
    }

    private static Stream<DynamicNode> rightProviders(Predicate<ExamProvider> selection) {
        return ExamProvider.all().stream()
                .filter(selection)
                .map(provider -> DynamicTest.dynamicTest(
                        provider.name(),
                        () -> requireNothing(provider.name(), provider.factory(), provider.sources(), List.of("*"))));
    }

    @TestFactory
    Stream<DynamicNode> wrongProvidersAreFound() throws IOException {
        final Set<String> leftOut = leftOut();
        return ExamProvider.all().stream()
                .flatMap(provider -> provider.edits().stream()
                        .filter(edit -> edit.isWrong() && !isLeftOut(leftOut, edit))
                        .map(edit -> DynamicTest.dynamicTest(edit.name(), () -> requireFound(provider, edit))));
    }

    private static Set<String> leftOut() throws IOException {
        return Files.readAllLines(LEFT_OUT).stream()
                .filter(line -> !line.isBlank() && !line.startsWith("#"))
                .map(line -> line.split(" ", 2)[0])
                .collect(Collectors.toSet());
    }

    private static boolean isLeftOut(Set<String> leftOut, Edit edit) {
        return leftOut.contains(edit.name()) || leftOut.contains(allOf(edit));
    }

    private static String allOf(Edit edit) {
        return edit.name().replaceFirst("/.*", "/*");
    }

    private static void requireFound(ExamProvider provider, Edit edit) {
        final CompiledProvider compiled = CompiledProvider.of(provider.factory(), provider.edited(edit));
        final Optional<Finding> found = InProcess.firstFailure(compiled.load(), edit.rules(), true);
        assertThat(found)
                .as("%s: %s; the rules %s hold", edit.name(), edit.why(), edit.rules())
                .isPresent();
    }

    @Test
    void whatIsLeftOutIsThere() throws IOException {
        assertThat(ExamProvider.all().stream()
                        .flatMap(provider -> provider.edits().stream())
                        .flatMap(edit -> Stream.of(edit.name(), allOf(edit))))
                .containsAll(leftOut());
    }

    @Test
    void eachEditApplies() {
        for (final ExamProvider provider : ExamProvider.all()) {
            assertThat(provider.edits()).isNotEmpty().allSatisfy(provider::edited);
        }
    }

    @TestFactory
    @Tag("thorough")
    Stream<DynamicNode> whatTheKitOnceFailedConforms() throws IOException {
        final Map<String, List<String>> rules = Files.readAllLines(UNUSUAL).stream()
                .filter(line -> !line.isBlank() && !line.startsWith("#"))
                .map(line -> Arrays.asList(line.split(" ", -1)))
                .collect(Collectors.toMap(List::getFirst, words -> words.subList(1, words.size())));
        assertThat(ExamProvider.all().stream()
                        .flatMap(provider -> provider.edits().stream())
                        .filter(edit -> !edit.isWrong())
                        .map(Edit::name))
                .containsAll(rules.keySet());
        return ExamProvider.all().stream()
                .flatMap(provider -> provider.edits().stream()
                        .filter(edit -> rules.containsKey(edit.name()))
                        .map(edit -> DynamicTest.dynamicTest(
                                edit.name(),
                                () -> requireNothing(
                                        edit.name() + ": " + edit.why(),
                                        provider.factory(),
                                        provider.edited(edit),
                                        rules.get(edit.name())))));
    }

    /** Requires that no test of some rules fails, in a quick run. */
    private static void requireNothing(String name, String factory, Map<String, String> sources, List<String> rules) {
        final CompiledProvider compiled = CompiledProvider.of(factory, sources);
        assertThat(InProcess.firstFailure(compiled.load(), rules, true))
                .as(name)
                .isEmpty();
    }

    /** A build compiles those that it runs. */
    @TestFactory
    @Tag("thorough")
    Stream<DynamicNode> unusualProvidersCompile() {
        return ExamProvider.all().stream()
                .flatMap(provider -> provider.edits().stream()
                        .filter(edit -> !edit.isWrong())
                        .map(edit -> DynamicTest.dynamicTest(
                                edit.name(), () -> CompiledProvider.of(provider.factory(), provider.edited(edit)))));
    }
}
