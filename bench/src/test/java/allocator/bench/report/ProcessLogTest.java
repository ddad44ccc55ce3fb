package allocator.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ProcessLogTest {
    @Test
    void theCauseIsTheInnermostException() {
        assertEquals("it says nothing", ProcessLog.cause("\n \n"));
        assertEquals("killed", ProcessLog.cause("something\nkilled\n"));
        assertEquals(
                "Exception in thread \"main\" a.B: c",
                ProcessLog.cause("warning\nException in thread \"main\" a.B: c\n\tat d.E\n"));
        assertEquals(
                "f.G: h",
                ProcessLog.cause(
                        "Exception in thread \"main\" a.B: c\n\tat d.E\nCaused by: x\nCaused by: f.G: h\n\tat i\n"));
    }
}
