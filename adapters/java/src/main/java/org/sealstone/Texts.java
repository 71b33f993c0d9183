package org.sealstone;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

/**
 * Many texts in one array of bytes, laid out as Arrow's type utf8: text {@code i} is the bytes from {@code offsets[i]} to
 * {@code offsets[i + 1]}, in UTF-8. Arrays of these pass to the native library whole, so this is the fastest form. The
 * arrays are not copied: their owner must not change them while they are in use.
 *
 * @param bytes all texts
 * @param offsets one number more than there are texts, ascending; empty for no text
 */
public record Texts(byte[] bytes, int[] offsets) {
    /**
     * Checks that there are both arrays. Offsets are checked where they are used.
     *
     * @param bytes as above
     * @param offsets as above
     */
    public Texts {
        Objects.requireNonNull(bytes, "bytes");
        Objects.requireNonNull(offsets, "offsets");
    }

    /**
     * Returns texts.
     *
     * @param texts the texts, none of them null
     * @return the same, in one array
     */
    public static Texts of(String... texts) {
        int[] offsets = new int[texts.length + 1];
        byte[] bytes = new byte[Math.max(16, texts.length * 16)];
        int end = 0;
        for (int number = 0; number < texts.length; number++) {
            byte[] text = Native.bytes(texts[number]);
            if (text.length > bytes.length - end) {
                bytes = Arrays.copyOf(bytes, grown(end, text.length));
            }
            System.arraycopy(text, 0, bytes, end, text.length);
            end += text.length;
            offsets[number + 1] = end;
        }
        return new Texts(bytes.length == end ? bytes : Arrays.copyOf(bytes, end), offsets);
    }

    private static int grown(int end, int more) {
        long needed = (long) end + more;
        if (needed > Integer.MAX_VALUE - 8) {
            throw new SealstoneException(
                    SealstoneException.Code.ARGUMENT, -1, "the texts take more than 2 GiB\npass fewer at a time", null);
        }
        return (int) Math.min(Math.max(needed, (long) end * 2), Integer.MAX_VALUE - 8);
    }

    /**
     * Returns how many texts there are.
     *
     * @return the number
     */
    public int count() {
        return Math.max(0, offsets.length - 1);
    }

    /**
     * Returns one text.
     *
     * @param number its number, from 0
     * @return the text
     */
    public String get(int number) {
        int begin = offsets[number];
        return new String(bytes, begin, offsets[number + 1] - begin, StandardCharsets.UTF_8);
    }

    /**
     * Returns all texts.
     *
     * @return the texts
     */
    public String[] toArray() {
        String[] texts = new String[count()];
        for (int number = 0; number < texts.length; number++) {
            texts[number] = get(number);
        }
        return texts;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Texts texts && Arrays.equals(bytes, texts.bytes) && Arrays.equals(offsets, texts.offsets);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(bytes) + Arrays.hashCode(offsets);
    }

    /** Returns how many texts there are, and nothing of them. */
    @Override
    public String toString() {
        return "Texts[" + count() + "]";
    }
}
