package org.sealstone;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A session: a policy, or a manifest, and keys. One session serves any number of threads at once.
 *
 * <pre>{@code
 * try (Sealstone sealstone = Sealstone.open(Path.of("/etc/shop/fields.toml"), KeySource.of("/etc/shop/people.key"))) {
 *     Column phone = sealstone.column("people", "phone");
 *     String sealed = phone.seal("010-1234-5678");
 *     String clear = phone.open(sealed);
 * }
 * }</pre>
 *
 * <p>Columns seal under the version of the key that is the newest when they are first asked for, or that the manifest
 * names. So open a new session after the key was rotated, and close older ones before a version is retired.
 */
public final class Sealstone implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    /** The number of the session in the native library. */
    final long number;

    private final Cleaner.Cleanable closing;
    private final Map<Place, Column> columns = new ConcurrentHashMap<>();

    /** A column of a table; no table is the only one. */
    private record Place(String table, String column) {}

    private Sealstone(int kind, String described, KeySource key) {
        Objects.requireNonNull(described, "policy");
        Native.ready();
        byte[] place = key == null ? null : Native.bytes(key.place());
        Path file = key == null ? null : key.passphraseFile();
        byte[] passphraseFile = file == null ? null : Native.bytes(file.toString());
        long opened = Native.open(kind, Native.bytes(described), place, passphraseFile);
        number = opened;
        // without the session in it, which would never be collected then
        closing = CLEANER.register(this, () -> Native.close(opened));
    }

    /**
     * Opens the policy in a file, with the keys that it names.
     *
     * @param policy the file, in TOML, as {@code sealstone field seal --policy} takes it
     * @return the session
     * @throws SealstoneException if the policy cannot be read
     */
    public static Sealstone open(Path policy) {
        return new Sealstone(Native.POLICY_FILE, policy.toString(), null);
    }

    /**
     * Opens the policy in a file.
     *
     * @param policy the file, in TOML, as {@code sealstone field seal --policy} takes it
     * @param key where the keys are
     * @return the session
     * @throws SealstoneException if the policy cannot be read, or the key is not to be had
     */
    public static Sealstone open(Path policy, KeySource key) {
        return new Sealstone(Native.POLICY_FILE, policy.toString(), Objects.requireNonNull(key, "key"));
    }

    /**
     * Opens a policy that is a text.
     *
     * @param policy the policy, in TOML
     * @param key where the keys are; null for those that the policy names
     * @return the session
     * @throws SealstoneException if it is no policy, or the key is not to be had
     */
    public static Sealstone ofPolicy(String policy, KeySource key) {
        return new Sealstone(Native.POLICY_TEXT, policy, key);
    }

    /**
     * Opens a manifest, which says how the columns of one table or file are sealed, and under which key. It is checked: a
     * manifest that was changed, or another key, is an error.
     *
     * @param manifest the text of {@code NAME.sealed.toml}, or the column {@code manifest} of {@code sealstone_fields}
     * @param key where the key is
     * @return the session
     * @throws SealstoneException if it is no manifest or not genuine, or the key is not to be had
     */
    public static Sealstone ofManifest(String manifest, KeySource key) {
        return new Sealstone(Native.MANIFEST, manifest, Objects.requireNonNull(key, "key"));
    }

    /**
     * Returns a column of the only table.
     *
     * @param column its name
     * @return the column, the same each time
     * @throws SealstoneException if there is no such column, or its key is not to be had
     */
    public Column column(String column) {
        return find(new Place(null, Objects.requireNonNull(column, "column")));
    }

    /**
     * Returns a column.
     *
     * @param table the name of its table
     * @param column its name
     * @return the column, the same each time
     * @throws SealstoneException if there is no such table or column, or its key is not to be had
     */
    public Column column(String table, String column) {
        return find(new Place(Objects.requireNonNull(table, "table"), Objects.requireNonNull(column, "column")));
    }

    /**
     * Returns the names of a table's sealed columns.
     *
     * @param table the name of the table; null for the only one
     * @return the names
     * @throws SealstoneException if there is no such table
     */
    public List<String> columns(String table) {
        List<String> names = new ArrayList<>();
        byte[] place = Native.bytes(table);
        for (byte[] name; (name = Native.columnName(number, place, names.size())) != null; ) {
            names.add(Native.text(name));
        }
        Reference.reachabilityFence(this);
        return names;
    }

    /**
     * Returns a manifest for values that are sealed from now on and kept somewhere else than in a file or table that
     * Sealstone knows: how the columns of a table are sealed, and under the newest version of which key. It holds no secret,
     * and {@link #ofManifest} opens what was sealed. Columns that this session opened before seal under their own version;
     * so seal with a session that was opened with the manifest.
     *
     * @param table the name of the table; null for the only one
     * @return the text of the manifest
     * @throws SealstoneException if there is no such table, or the key is not to be had
     */
    public String manifest(String table) {
        try {
            return Native.text(Native.manifest(number, Native.bytes(table)));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private Column find(Place place) {
        return columns.computeIfAbsent(place, wanted -> new Column(this, wanted.table, wanted.column));
    }

    /**
     * Closes the session: its columns cannot be used any more, and its keys are gone when calls that are under way have
     * ended. A second call does nothing.
     */
    @Override
    public void close() {
        closing.clean();
    }

    /**
     * Returns the version of the native library, which is that of these classes.
     *
     * @return the version, such as {@code 0.1.0}
     */
    public static String version() {
        Native.ready();
        return Native.text(Native.version());
    }
}
