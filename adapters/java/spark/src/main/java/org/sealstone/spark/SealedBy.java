package org.sealstone.spark;

import java.io.Serializable;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.sealstone.Column;
import org.sealstone.KeySource;
import org.sealstone.Sealstone;

/** How a table is sealed and where its key is, as it is sent to workers: texts alone, and neither key nor passphrase. */
final class SealedBy implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Sessions of this process, which stay open as long as it runs: a worker has many tasks with the same key. */
    private static final ConcurrentHashMap<SealedBy, Sealstone> SESSIONS = new ConcurrentHashMap<>();

    /** The text of a manifest. */
    private final String manifest;

    /** The place of the key. */
    private final String key;

    /** The file with its passphrase; null if there is none. */
    private final String passphraseFile;

    /** The session of this process, once it was asked for: to compare manifests for each value would take as long as to seal it. */
    private transient volatile Sealstone session;

    private SealedBy(String manifest, String key, String passphraseFile) {
        this.manifest = manifest;
        this.key = key;
        this.passphraseFile = passphraseFile;
    }

    static SealedBy of(String manifest, KeySource key) {
        Path file = key.passphraseFile();
        return new SealedBy(manifest, key.place(), file == null ? null : file.toString());
    }

    /** Returns the session of this process; the first call opens the key. */
    Sealstone session() {
        Sealstone open = session;
        if (open == null) {
            open = SESSIONS.computeIfAbsent(this, by -> Sealstone.ofManifest(
                    by.manifest, new KeySource(by.key, by.passphraseFile == null ? null : Path.of(by.passphraseFile))));
            session = open;
        }
        return open;
    }

    Column column(String name) {
        return session().column(name);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SealedBy by
                && manifest.equals(by.manifest)
                && key.equals(by.key)
                && Objects.equals(passphraseFile, by.passphraseFile);
    }

    @Override
    public int hashCode() {
        return Objects.hash(manifest, key, passphraseFile);
    }

    /** Shows nothing of the key's place or of the table. */
    @Override
    public String toString() {
        return "SealedBy";
    }
}
