package allocator.conformance;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.TestTemplate;

/** A test of the kit: it gets a {@link Subject}, a time limit, and a check for leaks afterwards. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@TestTemplate
@interface ConformanceTest {
    /** What a test runs on. */
    enum Scope {
        /** Once for each memory that the factory lists. */
        MEMORY,
        /** Once, also where there is no device. */
        FACTORY
    }

    Scope value() default Scope.MEMORY;
}
