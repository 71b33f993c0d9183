package org.sealstone;

import java.nio.charset.StandardCharsets;

/**
 * Something could not be sealed or opened. The message says what was attempted and what was found; a second line, if there
 * is one, says what to do next. No message has a value in it.
 */
public final class SealstoneException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The kinds of reasons. */
    public enum Code {
        /** An argument that makes no sense: rows that are missing, or that nothing is bound to, text that is none. */
        ARGUMENT(1),
        /** The policy or manifest cannot be read, is not genuine, or has no such table or column. */
        POLICY(2),
        /** The key, or that version of it, is not to be had. */
        KEY(3),
        /** The value does not fit the format of its column. */
        MISFIT(4),
        /**
         * The value was changed, moved, or sealed under another key; {@code aead} notices that, {@code ff1} cannot. Or it has no
         * mark, and {@link Column#onlySealed} was asked for.
         */
        NOT_GENUINE(5),
        /** No randomness, or a bug. */
        FAILED(7),
        /** The session was closed. */
        CLOSED(100),
        /** The native library cannot be loaded, or is of another version. */
        LIBRARY(101);

        private final int number;

        Code(int number) {
            this.number = number;
        }

        static Code of(int number) {
            for (Code code : values()) {
                if (code.number == number) {
                    return code;
                }
            }
            return FAILED;
        }
    }

    /** The kind of the reason. */
    private final Code code;

    /** The number of the value at fault, from 0; -1 if it is none of many. */
    private final int index;

    /** Called by the native library, by this signature. */
    SealstoneException(int code, int index, byte[] message) {
        this(Code.of(code), index, new String(message, StandardCharsets.UTF_8), null);
    }

    SealstoneException(Code code, int index, String message, Throwable cause) {
        super(message, cause);
        this.code = code;
        this.index = index;
    }

    /**
     * Returns the kind of the reason.
     *
     * @return the kind
     */
    public Code code() {
        return code;
    }

    /**
     * Returns the number of a value at fault, from 0, in the array that was passed: under one version of the key the first.
     *
     * @return the number; -1 where there was no array, or where no value is at fault
     */
    public int index() {
        return index;
    }

    /** Returns the same about the value with another number. */
    SealstoneException at(int number) {
        SealstoneException moved = new SealstoneException(code, number, getMessage(), getCause());
        moved.setStackTrace(getStackTrace());
        return moved;
    }
}
