package org.sealstone;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Properties;

/** The methods of the native library. Texts are UTF-8 in arrays of bytes; a session and a column are numbers. */
final class Native {
    /** The system property with the path of the library. */
    static final String PROPERTY = "sealstone.library";

    /** The name of the library, as {@link System#loadLibrary} takes it. */
    private static final String NAME = "sealstone_fields";

    /** Where the Debian package puts it. */
    private static final Path INSTALLED = Path.of("/usr/lib/sealstone/libsealstone_fields.so");

    static final int SEAL = 0;
    static final int OPEN = 1;
    static final int INDEX = 2;

    static final int POLICY_FILE = 1;
    static final int POLICY_TEXT = 2;
    static final int MANIFEST = 3;

    /** The reason for which the library cannot be used; null where it can. An exception here would make the class unusable without a word. */
    private static final SealstoneException FAILED = failure();

    private Native() {}

    /** Throws with {@link SealstoneException.Code#LIBRARY} if the library cannot be used: to be called before anything else is. */
    static void ready() {
        if (FAILED != null) {
            throw new SealstoneException(SealstoneException.Code.LIBRARY, -1, FAILED.getMessage(), FAILED);
        }
    }

    private static SealstoneException failure() {
        try {
            load();
        } catch (SealstoneException failed) {
            return failed;
        }
        String library = text(version());
        String classes = ofClasses();
        if (library.equals(classes)) {
            return null;
        }
        return new SealstoneException(
                SealstoneException.Code.LIBRARY,
                -1,
                "the native library is of version " + library + ", and these classes are of " + classes
                        + "\ninstall both of one version",
                null);
    }

    private static void load() {
        String named = System.getProperty(PROPERTY);
        try {
            if (named != null) {
                System.load(Path.of(named).toAbsolutePath().toString());
                return;
            }
            try {
                System.loadLibrary(NAME);
            } catch (UnsatisfiedLinkError notOnPath) {
                if (isElsewhere(notOnPath) || !Files.isRegularFile(INSTALLED)) {
                    throw notOnPath;
                }
                System.load(INSTALLED.toString());
            }
        } catch (UnsatisfiedLinkError cause) {
            String advice = isElsewhere(cause)
                    ? "put the jar where the class loader that all applications share finds it (Tomcat: lib), and into none of them"
                    : "install sealstone, or name the library: -D" + PROPERTY + "=/path/libsealstone_fields.so";
            throw new SealstoneException(
                    SealstoneException.Code.LIBRARY,
                    -1,
                    "cannot load the native library: " + cause.getMessage() + "\n" + advice,
                    cause);
        }
    }

    /** Returns whether another class loader has the library, as with two applications in one server: Java lets one alone have it. */
    private static boolean isElsewhere(UnsatisfiedLinkError error) {
        return String.valueOf(error.getMessage()).toLowerCase(Locale.ROOT).contains("another classloader");
    }

    /** Returns the version of these classes. */
    static String ofClasses() {
        Properties properties = new Properties();
        try (InputStream stream = Native.class.getResourceAsStream("version.properties")) {
            properties.load(stream);
        } catch (IOException cause) {
            throw new IllegalStateException("the archive of these classes is damaged", cause);
        }
        return properties.getProperty("version");
    }

    /** Returns a text in UTF-8, null for null. Half of a pair of surrogates, for which Java would write a question mark, is refused. */
    static byte[] bytes(String text) {
        if (text == null) {
            return null;
        }
        for (int at = 0; at < text.length(); at++) {
            if (Character.isSurrogate(text.charAt(at))) {
                return withPairs(text);
            }
        }
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] withPairs(String text) {
        try {
            ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            return Arrays.copyOf(bytes.array(), bytes.limit());
        } catch (CharacterCodingException cause) {
            throw new SealstoneException(
                    SealstoneException.Code.ARGUMENT,
                    -1,
                    "a value is not text of Unicode: it has half of a pair of surrogates",
                    cause);
        }
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    static native byte[] version();

    static native long open(int kind, byte[] described, byte[] key, byte[] passphraseFile);

    static native void close(long session);

    static native int column(long session, byte[] table, byte[] name);

    static native int keyVersion(long session, int column);

    static native byte[] row(long session, int column);

    static native byte[] indexName(long session, int column);

    static native byte[] columnName(long session, byte[] table, int number);

    static native byte[] manifest(long session, byte[] table);

    static native byte[] one(long session, int column, int work, int mark, byte[] value, byte[] row);

    static native byte[] many(
            long session,
            int column,
            int work,
            int[] marks,
            byte[] values,
            int[] offsets,
            byte[] rows,
            int[] rowOffsets,
            int[] out);
}
