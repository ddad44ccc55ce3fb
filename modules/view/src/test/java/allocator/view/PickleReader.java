package allocator.view;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads pickles as the viewer of PyTorch's memory snapshots does: an opcode that it does not know is an error. */
final class PickleReader {
    private static final Object MARK = new Object();

    private final ByteBuffer in;
    private final Deque<Object> stack = new ArrayDeque<>();
    private final Map<Integer, Object> memo = new HashMap<>();

    private PickleReader(byte[] pickle) {
        in = ByteBuffer.wrap(pickle).order(ByteOrder.LITTLE_ENDIAN);
    }

    static Object read(byte[] pickle) {
        return new PickleReader(pickle).read();
    }

    private Object read() {
        while (true) {
            final int opcode = in.get() & 0xFF;
            switch (opcode) {
                case 0x80 -> expect(in.get() == 2);
                case '}' -> stack.push(new LinkedHashMap<Object, Object>());
                case ']' -> stack.push(new ArrayList<>());
                case '(' -> stack.push(MARK);
                case 'u' -> setItems();
                case 'e' -> append();
                case 0x86 -> {
                    final Object second = stack.pop();
                    stack.push(List.of(stack.pop(), second));
                }
                case 'J' -> stack.push((long) in.getInt());
                case 'K' -> stack.push((long) (in.get() & 0xFF));
                case 'M' -> stack.push((long) (in.getShort() & 0xFFFF));
                case 0x8a -> {
                    expect(in.get() == Long.BYTES);
                    stack.push(in.getLong());
                }
                case 0x88 -> stack.push(true);
                case 0x89 -> stack.push(false);
                case 'X' -> {
                    final byte[] bytes = new byte[in.getInt()];
                    in.get(bytes);
                    stack.push(new String(bytes, StandardCharsets.UTF_8));
                }
                case 'q' -> memo.put(in.get() & 0xFF, stack.peek());
                case 'r' -> memo.put(in.getInt(), stack.peek());
                case 'h' -> stack.push(memo.get(in.get() & 0xFF));
                case 'j' -> stack.push(memo.get(in.getInt()));
                case '.' -> {
                    final Object value = stack.pop();
                    expect(stack.isEmpty() && !in.hasRemaining());
                    return value;
                }
                default -> throw new AssertionError("opcode " + opcode);
            }
        }
    }

    private static void expect(boolean isTrue) {
        if (!isTrue) {
            throw new AssertionError("not a pickle of this writer");
        }
    }

    private List<Object> sinceMark() {
        final List<Object> items = new ArrayList<>();
        for (Object item = stack.pop(); !item.equals(MARK); item = stack.pop()) {
            items.addFirst(item);
        }
        expect(items.size() <= 1000);
        return items;
    }

    @SuppressWarnings("unchecked")
    private void setItems() {
        final List<Object> items = sinceMark();
        for (int i = 0; i < items.size(); i += 2) {
            ((Map<Object, Object>) stack.peek()).put(items.get(i), items.get(i + 1));
        }
    }

    @SuppressWarnings("unchecked")
    private void append() {
        final List<Object> items = sinceMark();
        ((List<Object>) stack.peek()).addAll(items);
    }
}
