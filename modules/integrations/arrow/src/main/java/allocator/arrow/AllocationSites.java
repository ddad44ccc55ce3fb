package allocator.arrow;

import allocator.resource.leak.LeakReport;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The code that allocated each live buffer. */
final class AllocationSites {
    private static final int MAX_FRAMES = 12;
    private static final Set<String> OWN_CLASSES =
            Set.of(AllocationSites.class.getName(), ArrowMemory.class.getName(), ProcessMemory.class.getName());
    private static final String ARROW_PACKAGE = "org.apache.arrow.memory.";

    private final Set<Site> live = ConcurrentHashMap.newKeySet();

    /** The stack of an allocation, as the JVM fills it in for exceptions; made readable only for a report. */
    private static final class CallStack extends Throwable {
        private static final long serialVersionUID = 1L;

        CallStack() {
            super(null, null, false, true);
        }
    }

    /** A live buffer. */
    final class Site {
        private final Throwable stack = new CallStack();
        private final long byteSize;

        private Site(long byteSize) {
            this.byteSize = byteSize;
        }

        /** Adds the buffer, which is allocated. */
        void begin() {
            live.add(this);
        }

        /** Removes the buffer, which is freed or was not allocated. */
        void end() {
            live.remove(this);
        }

        private LeakReport.Site described() {
            final List<StackTraceElement> callers = Arrays.stream(stack.getStackTrace())
                    .dropWhile(frame -> isOfAllocation(frame.getClassName()))
                    .limit(MAX_FRAMES)
                    .toList();
            return new LeakReport.Site(callers, byteSize, 1);
        }
    }

    private static boolean isOfAllocation(String className) {
        final int nested = className.indexOf('$');
        return className.startsWith(ARROW_PACKAGE)
                || OWN_CLASSES.contains(nested < 0 ? className : className.substring(0, nested));
    }

    /** Returns the site of a buffer, with the stack of the calling thread; {@link Site#begin} adds it. */
    Site site(long byteSize) {
        return new Site(byteSize);
    }

    LeakReport report() {
        return LeakReport.of(live.stream().map(Site::described), 1);
    }
}
