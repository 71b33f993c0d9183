package org.sealstone.spark;

import java.io.Serializable;
import java.nio.file.Path;
import java.util.concurrent.ConcurrentHashMap;
import org.sealstone.KeySource;
import org.sealstone.Sealstone;

/**
 * How a table is sealed and where its key is, as it is sent to workers: texts alone, and neither key nor passphrase.
 *
 * @param manifest the text of a manifest
 * @param key the place of the key
 * @param passphraseFile the file with its passphrase; null if there is none
 */
record SealedBy(String manifest, String key, String passphraseFile) implements Serializable {
    /** Sessions of this process, which stay open as long as it runs: a worker has many tasks with the same key. */
    private static final ConcurrentHashMap<SealedBy, Sealstone> SESSIONS = new ConcurrentHashMap<>();

    static SealedBy of(String manifest, KeySource key) {
        Path file = key.passphraseFile();
        return new SealedBy(manifest, key.place(), file == null ? null : file.toString());
    }

    /** Returns the session of this process; the first call opens the key. */
    Sealstone session() {
        return SESSIONS.computeIfAbsent(this, by -> Sealstone.ofManifest(
                by.manifest, new KeySource(by.key, by.passphraseFile == null ? null : Path.of(by.passphraseFile))));
    }

    /** Shows nothing of the key's place or of the table. */
    @Override
    public String toString() {
        return "SealedBy";
    }
}
