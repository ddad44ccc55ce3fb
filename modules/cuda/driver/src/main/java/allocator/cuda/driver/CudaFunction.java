package allocator.cuda.driver;

/** The functions of the CUDA driver that this module calls, under their own names. */
public enum CudaFunction {
    /** {@code cuInit}. */
    INIT("cuInit"),
    /** {@code cuDriverGetVersion}. */
    DRIVER_GET_VERSION("cuDriverGetVersion"),
    /** {@code cuGetErrorName}. */
    GET_ERROR_NAME("cuGetErrorName"),
    /** {@code cuDeviceGetCount}. */
    DEVICE_GET_COUNT("cuDeviceGetCount"),
    /** {@code cuDeviceGet}. */
    DEVICE_GET("cuDeviceGet"),
    /** {@code cuDeviceGetName}. */
    DEVICE_GET_NAME("cuDeviceGetName"),
    /** {@code cuDeviceGetUuid}. */
    DEVICE_GET_UUID("cuDeviceGetUuid"),
    /** {@code cuDeviceGetPCIBusId}. */
    DEVICE_GET_PCI_BUS_ID("cuDeviceGetPCIBusId"),
    /** {@code cuDeviceTotalMem}. */
    DEVICE_TOTAL_MEM("cuDeviceTotalMem", "_v2"),
    /** {@code cuDeviceGetAttribute}. */
    DEVICE_GET_ATTRIBUTE("cuDeviceGetAttribute"),
    /** {@code cuDevicePrimaryCtxRetain}. */
    DEVICE_PRIMARY_CTX_RETAIN("cuDevicePrimaryCtxRetain"),
    /** {@code cuDevicePrimaryCtxRelease}. */
    DEVICE_PRIMARY_CTX_RELEASE("cuDevicePrimaryCtxRelease", "_v2"),
    /** {@code cuCtxGetCurrent}. */
    CTX_GET_CURRENT("cuCtxGetCurrent"),
    /** {@code cuCtxSetCurrent}. */
    CTX_SET_CURRENT("cuCtxSetCurrent"),
    /** {@code cuCtxGetDevice}. */
    CTX_GET_DEVICE("cuCtxGetDevice"),
    /** {@code cuDeviceCanAccessPeer}. */
    DEVICE_CAN_ACCESS_PEER("cuDeviceCanAccessPeer"),
    /** {@code cuCtxEnablePeerAccess}. */
    CTX_ENABLE_PEER_ACCESS("cuCtxEnablePeerAccess"),
    /** {@code cuCtxSynchronize}. */
    CTX_SYNCHRONIZE("cuCtxSynchronize"),
    /** {@code cuMemAlloc}. */
    MEM_ALLOC("cuMemAlloc", "_v2"),
    /** {@code cuMemFree}. */
    MEM_FREE("cuMemFree", "_v2"),
    /** {@code cuMemGetInfo}. */
    MEM_GET_INFO("cuMemGetInfo", "_v2"),
    /** {@code cuMemAllocManaged}. */
    MEM_ALLOC_MANAGED("cuMemAllocManaged"),
    /** {@code cuMemHostAlloc}. */
    MEM_HOST_ALLOC("cuMemHostAlloc"),
    /** {@code cuMemFreeHost}. */
    MEM_FREE_HOST("cuMemFreeHost"),
    /** {@code cuMemsetD8}. */
    MEMSET_D8("cuMemsetD8", "_v2"),
    /** {@code cuMemsetD8Async}. */
    MEMSET_D8_ASYNC("cuMemsetD8Async"),
    /** {@code cuMemcpyHtoD}. */
    MEMCPY_HTOD("cuMemcpyHtoD", "_v2"),
    /** {@code cuMemcpyHtoDAsync}. */
    MEMCPY_HTOD_ASYNC("cuMemcpyHtoDAsync", "_v2"),
    /** {@code cuMemcpyDtoH}. */
    MEMCPY_DTOH("cuMemcpyDtoH", "_v2"),
    /** {@code cuMemcpyDtoHAsync}. */
    MEMCPY_DTOH_ASYNC("cuMemcpyDtoHAsync", "_v2"),
    /** {@code cuMemcpyDtoD}. */
    MEMCPY_DTOD("cuMemcpyDtoD", "_v2"),
    /** {@code cuMemcpyDtoDAsync}. */
    MEMCPY_DTOD_ASYNC("cuMemcpyDtoDAsync", "_v2"),
    /** {@code cuMemcpyPeerAsync}. */
    MEMCPY_PEER_ASYNC("cuMemcpyPeerAsync"),
    /** {@code cuMemPoolCreate}. */
    MEM_POOL_CREATE("cuMemPoolCreate"),
    /** {@code cuMemPoolDestroy}. */
    MEM_POOL_DESTROY("cuMemPoolDestroy"),
    /** {@code cuDeviceGetDefaultMemPool}. */
    DEVICE_GET_DEFAULT_MEM_POOL("cuDeviceGetDefaultMemPool"),
    /** {@code cuMemPoolGetAttribute}. */
    MEM_POOL_GET_ATTRIBUTE("cuMemPoolGetAttribute"),
    /** {@code cuMemPoolSetAttribute}. */
    MEM_POOL_SET_ATTRIBUTE("cuMemPoolSetAttribute"),
    /** {@code cuMemPoolSetAccess}. */
    MEM_POOL_SET_ACCESS("cuMemPoolSetAccess"),
    /** {@code cuMemPoolTrimTo}. */
    MEM_POOL_TRIM_TO("cuMemPoolTrimTo"),
    /** {@code cuMemAllocFromPoolAsync}. */
    MEM_ALLOC_FROM_POOL_ASYNC("cuMemAllocFromPoolAsync"),
    /** {@code cuMemFreeAsync}. */
    MEM_FREE_ASYNC("cuMemFreeAsync"),
    /** {@code cuMemGetAllocationGranularity}. */
    MEM_GET_ALLOCATION_GRANULARITY("cuMemGetAllocationGranularity"),
    /** {@code cuMemAddressReserve}. */
    MEM_ADDRESS_RESERVE("cuMemAddressReserve"),
    /** {@code cuMemAddressFree}. */
    MEM_ADDRESS_FREE("cuMemAddressFree"),
    /** {@code cuMemCreate}. */
    MEM_CREATE("cuMemCreate"),
    /** {@code cuMemRelease}. */
    MEM_RELEASE("cuMemRelease"),
    /** {@code cuMemMap}. */
    MEM_MAP("cuMemMap"),
    /** {@code cuMemUnmap}. */
    MEM_UNMAP("cuMemUnmap"),
    /** {@code cuMemSetAccess}. */
    MEM_SET_ACCESS("cuMemSetAccess"),
    /** {@code cuStreamCreate}. */
    STREAM_CREATE("cuStreamCreate"),
    /** {@code cuStreamDestroy}. */
    STREAM_DESTROY("cuStreamDestroy", "_v2"),
    /** {@code cuStreamSynchronize}. */
    STREAM_SYNCHRONIZE("cuStreamSynchronize"),
    /** {@code cuStreamQuery}. */
    STREAM_QUERY("cuStreamQuery"),
    /** {@code cuStreamGetId}. */
    STREAM_GET_ID("cuStreamGetId"),
    /** {@code cuStreamGetCtx}. */
    STREAM_GET_CTX("cuStreamGetCtx"),
    /** {@code cuStreamIsCapturing}. */
    STREAM_IS_CAPTURING("cuStreamIsCapturing"),
    /** {@code cuStreamBeginCapture}. */
    STREAM_BEGIN_CAPTURE("cuStreamBeginCapture", "_v2"),
    /** {@code cuStreamEndCapture}. */
    STREAM_END_CAPTURE("cuStreamEndCapture"),
    /** {@code cuThreadExchangeStreamCaptureMode}. */
    THREAD_EXCHANGE_STREAM_CAPTURE_MODE("cuThreadExchangeStreamCaptureMode"),
    /** {@code cuGraphDestroy}. */
    GRAPH_DESTROY("cuGraphDestroy"),
    /** {@code cuStreamWaitEvent}. */
    STREAM_WAIT_EVENT("cuStreamWaitEvent"),
    /** {@code cuLaunchHostFunc}. */
    LAUNCH_HOST_FUNC("cuLaunchHostFunc"),
    /** {@code cuEventCreate}. */
    EVENT_CREATE("cuEventCreate"),
    /** {@code cuEventDestroy}. */
    EVENT_DESTROY("cuEventDestroy", "_v2"),
    /** {@code cuEventRecord}. */
    EVENT_RECORD("cuEventRecord"),
    /** {@code cuEventQuery}. */
    EVENT_QUERY("cuEventQuery"),
    /** {@code cuEventSynchronize}. */
    EVENT_SYNCHRONIZE("cuEventSynchronize");

    private final String functionName;
    private final String symbol;

    CudaFunction(String functionName) {
        this(functionName, "");
    }

    CudaFunction(String functionName, String version) {
        this.functionName = functionName;
        this.symbol = functionName + version;
    }

    /** {@return the name under which NVIDIA documents the function, for instance {@code cuMemAlloc}} */
    public String functionName() {
        return functionName;
    }

    /** {@return the name that the library exports for its current version, such as {@code cuMemAlloc_v2}} */
    public String symbol() {
        return symbol;
    }
}
