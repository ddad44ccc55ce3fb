package allocator.provider.support.event;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The events of sessions. */
@Category("Java Allocator")
@SchemaVersion(SchemaVersion.CURRENT)
abstract class SessionEvent extends Event {
    @Label("Owner")
    @Description("The session's name")
    String owner = "";

    @Name("allocator.SessionOpen")
    @Label("Session Opened")
    @Enabled(false)
    @StackTrace(false)
    static final class Opened extends SessionEvent {}

    @Name("allocator.SessionClose")
    @Label("Session Closed")
    @Enabled(false)
    @StackTrace(false)
    static final class Closed extends SessionEvent {
        @Label("Live Blocks")
        @Description("The blocks of the session that were live when it was closed")
        long liveBlocks;
    }
}
