package allocator.onnxruntime;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.MemoryAddress;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Events of the flight recorder. Those of single blocks are off unless a recording turns them on. */
final class SessionEvents {
    private SessionEvents() {}

    /** A block for a session. */
    @Name("allocator.onnxruntime.Allocation")
    @Label("Session Allocation")
    @Description("A session of ONNX Runtime was given a block of memory")
    @Category({"java.allocator", "ONNX Runtime"})
    @Enabled(false)
    @StackTrace(false)
    static final class Allocation extends Event {
        @Label("Session")
        String session = "";

        @Label("Address")
        @MemoryAddress
        long address;

        @Label("Size")
        @DataAmount
        long byteSize;

        @Label("Reserve")
        @Description("Whether the block is for the model's weights")
        boolean isReserve;
    }

    /** The end of a block. */
    @Name("allocator.onnxruntime.Free")
    @Label("Session Free")
    @Description("A session of ONNX Runtime gave a block of memory back")
    @Category({"java.allocator", "ONNX Runtime"})
    @Enabled(false)
    @StackTrace(false)
    static final class Free extends Event {
        @Label("Session")
        String session = "";

        @Label("Address")
        @MemoryAddress
        long address;

        @Label("Size")
        @DataAmount
        long byteSize;
    }

    /** A refusal. */
    @Name("allocator.onnxruntime.Refusal")
    @Label("Session Allocation Refused")
    @Description("A session of ONNX Runtime asked for memory and was refused")
    @Category({"java.allocator", "ONNX Runtime"})
    @StackTrace
    static final class Refusal extends Event {
        @Label("Session")
        String session = "";

        @Label("Model")
        String model = "";

        @Label("Size")
        @DataAmount
        long byteSize;

        @Label("Reason")
        String reason = "";

        @Label("Dump")
        @Description("The session's memory at that moment")
        String dump = "";
    }
}
