package allocator.provider.support.event;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import jdk.jfr.MetadataDefinition;

/**
 * The version of an event's fields, which recordings contain. A change that a reader of the version before would
 * misread has another version; a further field has not.
 */
@MetadataDefinition
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@interface SchemaVersion {
    /** The version of the events of this class path. */
    int CURRENT = 1;

    /** The version. */
    int value();
}
