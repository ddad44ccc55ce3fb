package allocator.conformance.rules;

import allocator.conformance.subject.Subject;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.TestTemplate;

/** A test of the kit. It receives a {@link Subject}, has a time limit, and is checked for leaks afterwards. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@TestTemplate
public @interface ConformanceTest {
    /** How often a test runs. */
    enum Scope {
        /** Once for each memory that the factory lists. */
        MEMORY,
        /** Once, even if there is no device. */
        FACTORY
    }

    Scope value() default Scope.MEMORY;
}
