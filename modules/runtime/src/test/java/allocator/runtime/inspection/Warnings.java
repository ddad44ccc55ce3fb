package allocator.runtime.inspection;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** The warnings of the runtime, until it is closed. */
public final class Warnings extends Handler implements AutoCloseable {
    private final Logger logger = Logger.getLogger("allocator.runtime");
    private final List<String> texts = new CopyOnWriteArrayList<>();

    public Warnings() {
        logger.addHandler(this);
    }

    public List<String> texts() {
        return texts;
    }

    @Override
    public void publish(LogRecord record) {
        if (record.getLevel().equals(Level.WARNING)) {
            texts.add(record.getMessage());
        }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        logger.removeHandler(this);
    }
}
