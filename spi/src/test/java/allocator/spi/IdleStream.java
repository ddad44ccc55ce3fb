package allocator.spi;

/** A stream without a device, whose work is always done. */
class IdleStream extends SyncStream {
    IdleStream() {
        super(new MemoryInfo(
                "Idle", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE));
    }

    /** Makes a stream wait for all that was submitted here so far. */
    void teach(SyncStream consumer) {
        try (SyncNotification notification = createNotification()) {
            notification.activate();
            notification.waitOnDevice(consumer);
        }
    }

    @Override
    public long handle() {
        return 0;
    }

    @Override
    public SyncNotification createNotification() {
        return new SyncNotification(this) {
            @Override
            protected void record() {}

            @Override
            protected void enqueueWait(SyncStream consumer) {}

            @Override
            protected void await() {}

            @Override
            public void close() {}
        };
    }

    @Override
    public void flush() {}

    @Override
    public void onSessionRunEnd() {}

    @Override
    public void close() {
        setEnded();
    }
}
