package kconnect.shim;

import java.nio.ByteBuffer;

/** A direct buffer that grows as it is written to, in this machine's byte order. */
final class Bytes {
    ByteBuffer buffer;
    private char[] chars = new char[1024];
    private byte[] narrow = new byte[1024];

    Bytes(int size) {
        buffer = Out.allocate(size);
    }

    /** The buffer, with room for so many bytes more. */
    ByteBuffer room(long more) {
        long all = buffer.position() + more;
        if (all > buffer.capacity()) {
            if (all > Integer.MAX_VALUE - 8) {
                throw new OutOfMemoryError("A batch of records has " + all + " bytes, more than the 2 GiB of a buffer");
            }
            ByteBuffer wider = Out.allocate((int) Math.min(Integer.MAX_VALUE - 8, 2 * all));
            buffer.flip();
            wider.put(buffer);
            buffer = wider;
        }
        return buffer;
    }

    void byteOf(int value) {
        room(1).put((byte) value);
    }

    void intOf(int value) {
        room(4).putInt(value);
    }

    void ints(int[] values, int count) {
        ByteBuffer out = room(4L * count);
        out.asIntBuffer().put(values, 0, count);
        out.position(out.position() + 4 * count);
    }

    void bytes(byte[] values) {
        room(values.length).put(values);
    }

    /** One text, or null: an int, the number of its chars or -1, and these. */
    void text(String text) {
        if (text == null) {
            intOf(-1);
            return;
        }
        intOf(text.length());
        wide(text.toCharArray(), text.length());
    }

    /** Texts as `ColumnWriter` describes them. */
    void texts(Object[] texts) {
        int[] lengths = new int[texts.length];
        long total = 0;
        for (int at = 0; at < texts.length; at++) {
            lengths[at] = ((String) texts[at]).length();
            total += lengths[at];
        }
        if (total > Integer.MAX_VALUE / 2 - 8) {
            throw new OutOfMemoryError("The texts of a batch have " + total + " chars, more than a buffer can have");
        }
        int size = (int) total;
        if (chars.length < size) {
            chars = new char[size + size / 4];
            narrow = new byte[size + size / 4];
        }
        int to = 0;
        for (int at = 0; at < texts.length; at++) {
            ((String) texts[at]).getChars(0, lengths[at], chars, to);
            to += lengths[at];
        }
        int any = 0;
        for (int at = 0; at < size; at++) {
            any |= chars[at];
        }
        if (any < 0x100) {
            byteOf(0);
            ints(lengths, lengths.length);
            for (int at = 0; at < size; at++) {
                narrow[at] = (byte) chars[at];
            }
            room(size).put(narrow, 0, size);
            return;
        }
        boolean pairs = false;
        for (int at = 0; at < size && !pairs; at++) {
            pairs = Character.isSurrogate(chars[at]);
        }
        byteOf(pairs ? 2 : 1);
        ints(lengths, lengths.length);
        wide(chars, size);
    }

    private void wide(char[] from, int count) {
        ByteBuffer out = room(2L * count);
        out.asCharBuffer().put(from, 0, count);
        out.position(out.position() + 2 * count);
    }
}
