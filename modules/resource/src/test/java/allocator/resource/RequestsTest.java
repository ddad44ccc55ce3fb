package allocator.resource;

import static org.junit.jupiter.api.Assertions.assertEquals;

import allocator.spi.InvalidSizeException;
import java.math.BigInteger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class RequestsTest {
    @Test
    void everyPowerOfTwoIsAnAlignmentAndNoOtherNumber() {
        LongStream.range(0, Long.SIZE)
                .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                .forEach(number -> {
                    boolean isAccepted = true;
                    try {
                        Requests.requireValid(0, number);
                    } catch (InvalidAlignmentException e) {
                        isAccepted = false;
                    }
                    assertEquals(number > 0 && BigInteger.valueOf(number).bitCount() == 1, isAccepted);
                });
    }

    @Test
    void everyNumberIsASizeUnlessItIsNegative() {
        LongStream.range(0, Long.SIZE)
                .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                .forEach(number -> {
                    boolean isAccepted = true;
                    try {
                        Requests.requireValid(number, 1);
                    } catch (InvalidSizeException e) {
                        isAccepted = false;
                    }
                    assertEquals(number >= 0, isAccepted);
                });
    }
}
