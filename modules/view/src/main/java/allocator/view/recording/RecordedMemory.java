package allocator.view.recording;

/**
 * A memory as the events of a recording name it.
 *
 * @param name the name of the memory info
 * @param device the device, such as {@code gpu:0}
 */
public record RecordedMemory(String name, String device) {
    @Override
    public String toString() {
        return device.isEmpty() ? name : name + " (" + device + ")";
    }
}
