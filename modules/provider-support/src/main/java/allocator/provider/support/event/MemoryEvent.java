package allocator.provider.support.event;

import allocator.spi.MemoryInfo;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.MemoryAddress;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** The events, and the fields that all of them have. Names are {@code allocator.} and what happened. */
@Category("Java Allocator")
@SchemaVersion(SchemaVersion.CURRENT)
abstract class MemoryEvent extends Event {
    @Label("Memory")
    String memory = "";

    @Label("Device")
    String device = "";

    /** The memory of the latest event, with the text of its device. */
    private static volatile Described latest = new Described("", null);

    private record Described(String device, @Nullable MemoryInfo info) {}

    @SuppressWarnings("ReferenceEquality") // an equal one is described again
    final void describe(MemoryInfo info) {
        Described described = latest;
        if (described.info() != info) {
            described = new Described(info.location().toString(), info);
            latest = described;
        }
        memory = info.name();
        device = described.device();
    }

    /** An event of an owner. */
    abstract static class Owned extends MemoryEvent {
        @Label("Owner")
        @Description("The session, or another name of who made the request")
        String owner = "";
    }

    @Name("allocator.Allocation")
    @Label("Allocation")
    @Description("A block was allocated")
    @Enabled(false)
    @StackTrace
    static final class Allocation extends Owned {
        @Label("Address")
        @MemoryAddress
        long address;

        @Label("Size")
        @Description("The bytes requested")
        @DataAmount
        long byteSize;

        @Label("Stream")
        @Description("The id of the stream that orders the block, 0 for none")
        long stream;

        @Label("Reserve")
        @Description("Whether the block was reserved, as weights are")
        boolean isReserve;

        @Label("Name")
        @Description("What the block is for, such as an operator of a model; empty if that is not known")
        String name = "";
    }

    @Name("allocator.Free")
    @Label("Free")
    @Description("A block is about to be freed")
    @Enabled(false)
    @StackTrace(false)
    static final class Free extends Owned {
        @Label("Address")
        @MemoryAddress
        long address;
    }

    @Name("allocator.Failure")
    @Label("Failure")
    @Description("A request failed")
    @StackTrace
    static final class Failure extends Owned {
        @Label("Requested")
        @DataAmount
        long requested;

        @Label("Rounded")
        @Description("The bytes that would have been taken")
        @DataAmount
        long rounded = Long.MIN_VALUE;

        @Label("Limit")
        @Description("The most bytes that the allocator may hold, or of the budget; -1 for no limit")
        long limit = Long.MIN_VALUE;

        @Label("In Use")
        @DataAmount
        long inUse = Long.MIN_VALUE;

        @Label("Held")
        @DataAmount
        long held = Long.MIN_VALUE;

        @Label("Largest Free Chunk")
        @DataAmount
        long largestFree = Long.MIN_VALUE;

        @Label("Free on the Device")
        @DataAmount
        long deviceFree = Long.MIN_VALUE;

        @Label("Limited by")
        @Description("The budget that rejected the request, whose limit and charge are given; empty if none did")
        String limitedBy = "";

        @Label("Reason")
        String reason = "";

        @Label("Detail")
        String detail = "";
    }

    /** A call of a device, with its duration. */
    abstract static class OfDevice extends MemoryEvent {
        @Label("Address")
        @MemoryAddress
        long address;

        @Label("Size")
        @DataAmount
        long byteSize;

        @Label("Success")
        boolean isSuccess;
    }

    /** A call that takes memory from a device or returns it. */
    abstract static class OfPart extends OfDevice {
        @Label("Part")
        @Description("region, reserve, pages; of a shrink also pool, close, unused")
        String part = "";
    }

    @Name("allocator.Growth")
    @Label("Growth")
    @Description("An allocator took memory from its device")
    @Enabled(false)
    @StackTrace
    static final class Growth extends OfPart {}

    @Name("allocator.Shrink")
    @Label("Shrink")
    @Description("An allocator returned memory to its device")
    @Enabled(false)
    @StackTrace(false)
    static final class Shrink extends OfPart {}

    @Name("allocator.Mapping")
    @Label("Mapping")
    @Description("An allocator mapped pages at an address, or ended such a mapping")
    @Enabled(false)
    @StackTrace(false)
    static final class Mapping extends OfDevice {
        @Label("Map")
        @Description("Whether the pages were mapped; otherwise a mapping was ended")
        boolean isMap;
    }

    @Name("allocator.SessionSleep")
    @Label("Session Sleep")
    @Description("A session fell asleep: its weights went to memory of the host; or woke: they came back")
    @Enabled(false)
    @StackTrace
    static final class Sleep extends OfDevice {
        @Label("Owner")
        String owner = "";

        @Label("Sleep")
        @Description("Whether it fell asleep; otherwise it woke")
        boolean isSleep;
    }

    @Name("allocator.Unreturned")
    @Label("Unreturned Memory")
    @Description("A device failed to take memory back; the allocator holds it and offers it again")
    @StackTrace
    static final class Unreturned extends MemoryEvent {
        @Label("Address")
        @MemoryAddress
        long address;

        @Label("Size")
        @DataAmount
        long byteSize;

        @Label("Reason")
        String reason = "";
    }
}
