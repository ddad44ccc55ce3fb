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

/** Events of the flight recorder. Those of single blocks are off unless a recording enables them. */
final class SessionEvents {
    private SessionEvents() {}

    /** An allocation of a session. */
    @Name("allocator.onnxruntime.Allocation")
    @Label("Session Allocation")
    @Description("A session of ONNX Runtime allocated a block of memory")
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

    /** A free of a session. */
    @Name("allocator.onnxruntime.Free")
    @Label("Session Free")
    @Description("A session of ONNX Runtime freed a block of memory")
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

    /** A failed allocation of a session. */
    @Name("allocator.onnxruntime.Failure")
    @Label("Session Allocation Failure")
    @Description("An allocation of a session of ONNX Runtime failed")
    @Category({"java.allocator", "ONNX Runtime"})
    @StackTrace
    static final class Failure extends Event {
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
