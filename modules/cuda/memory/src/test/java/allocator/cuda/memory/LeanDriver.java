package allocator.cuda.memory;

import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;
import java.util.UUID;

/**
 * A driver of one pool that is right even where the stack ends: its calls make no further calls, and use as little
 * stack as there can be. For one thread.
 */
final class LeanDriver implements CudaDriver, CudaDevices, CudaPools, CudaStreams {
    static final long BLOCK = 256;

    private static final long FIRST_ADDRESS = 1 << 20;

    /** By number of the block: whether it is allocated. */
    private final boolean[] isOut;

    private int next;
    private int out;

    LeanDriver(int mostBlocks) {
        isOut = new boolean[mostBlocks];
    }

    /** How many blocks are allocated. */
    int out() {
        return out;
    }

    @Override
    public long memAllocFromPoolAsync(int device, long pool, long byteSize, long stream) {
        isOut[next] = true;
        out++;
        return FIRST_ADDRESS + BLOCK * next++;
    }

    @Override
    public void memFreeAsync(int device, long address, long stream) {
        final int block = (int) ((address - FIRST_ADDRESS) / BLOCK);
        if (!isOut[block]) {
            throw new AssertionError("freed twice");
        }
        isOut[block] = false;
        out--;
    }

    @Override
    public long memPoolGetAttribute(int device, long pool, PoolAttribute attribute) {
        return BLOCK * out;
    }

    @Override
    public long memPoolCreate(int device) {
        return 1;
    }

    @Override
    public void memPoolDestroy(int device, long pool) {}

    @Override
    public void memPoolSetAttribute(int device, long pool, PoolAttribute attribute, long value) {}

    @Override
    public void memPoolTrimTo(int device, long pool, long minBytesToKeep) {}

    @Override
    public long streamCreate(int device) {
        return 1;
    }

    @Override
    public void streamDestroy(int device, long stream) {}

    @Override
    public void streamSynchronize(int device, long stream) {}

    @Override
    public void primaryContextRetain(int device) {}

    @Override
    public void primaryContextRelease(int device) {}

    @Override
    public void ctxSynchronize(int device) {}

    @Override
    public CudaDeviceInfo info(int device) {
        return new CudaDeviceInfo(0, "lean", new UUID(0, 0), "0", 1L << 40, 90, true, true, true, true);
    }

    @Override
    public CudaDevices devices() {
        return this;
    }

    @Override
    public CudaPools pools() {
        return this;
    }

    @Override
    public CudaStreams streams() {
        return this;
    }

    private static UnsupportedOperationException unused() {
        return new UnsupportedOperationException("not used by a pool");
    }

    @Override
    public CudaMemory memory() {
        throw unused();
    }

    @Override
    public CudaAddressRanges addressRanges() {
        throw unused();
    }

    @Override
    public int driverVersion() {
        throw unused();
    }

    @Override
    public int count() {
        throw unused();
    }

    @Override
    public long deviceGetDefaultMemPool(int device) {
        throw unused();
    }

    @Override
    public void memPoolSetAccess(int device, long pool, int accessingDevice, MemoryAccess access) {
        throw unused();
    }

    @Override
    public boolean streamQuery(int device, long stream) {
        throw unused();
    }

    @Override
    public long streamGetId(int device, long stream) {
        throw unused();
    }

    @Override
    public boolean streamIsCapturing(int device, long stream) {
        return false;
    }

    @Override
    public long streamGetCtx(int device, long stream) {
        throw unused();
    }

    @Override
    public void streamBeginCapture(int device, long stream) {
        throw unused();
    }

    @Override
    public long streamEndCapture(int device, long stream) {
        throw unused();
    }

    @Override
    public void graphDestroy(int device, long graph) {
        throw unused();
    }

    @Override
    public long ctxGetCurrent(int device) {
        throw unused();
    }

    @Override
    public int ctxGetDevice(int device, long context) {
        throw unused();
    }

    @Override
    public boolean deviceCanAccessPeer(int device, int peer) {
        throw unused();
    }

    @Override
    public void ctxEnablePeerAccess(int device, int peer) {
        throw unused();
    }

    @Override
    public void streamWaitEvent(int device, long stream, long event) {
        throw unused();
    }

    @Override
    public void launchHostFunction(int device, long stream, Runnable function) {
        throw unused();
    }

    @Override
    public long eventCreate(int device) {
        throw unused();
    }

    @Override
    public void eventDestroy(int device, long event) {
        throw unused();
    }

    @Override
    public void eventRecord(int device, long event, long stream) {
        throw unused();
    }

    @Override
    public boolean eventQuery(int device, long event) {
        throw unused();
    }

    @Override
    public void eventSynchronize(int device, long event) {
        throw unused();
    }
}
