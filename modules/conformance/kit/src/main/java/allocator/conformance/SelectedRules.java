package allocator.conformance;

import allocator.conformance.contract.RuleFilter;
import allocator.conformance.contract.TestName;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Skips the tests of rules that {@link ConformanceSettings#RULES} does not select; fails if it selects none. */
final class SelectedRules implements ExecutionCondition {
    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        final RuleFilter filter = new RuleFilter(
                context.getConfigurationParameter(ConformanceSettings.RULES).orElse("*"));
        return context.getTestMethod()
                        .flatMap(method -> TestName.of(method.getName()))
                        .filter(test -> !filter.accepts(test.rule()))
                        .isPresent()
                ? ConditionEvaluationResult.disabled("not selected by " + ConformanceSettings.RULES + "=" + filter)
                : ConditionEvaluationResult.enabled("selected");
    }
}
