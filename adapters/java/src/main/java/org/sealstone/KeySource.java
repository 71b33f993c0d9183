package org.sealstone;

import java.nio.file.Path;
import java.util.Objects;

/**
 * The place that keys come from, as the command line takes it: a key file, with a passphrase or without, or a key server.
 *
 * @param place the path of a key file, {@code kmip://HOST:PORT/KEY…} or {@code kmip:FILE.toml}
 * @param passphraseFile a file with the passphrase of the key file; null for the one that the environment variable
 *     {@code SEALSTONE_PASSPHRASE_FILE} names, if any
 */
public record KeySource(String place, Path passphraseFile) {
    /**
     * Checks that there is a place.
     *
     * @param place as above
     * @param passphraseFile as above
     */
    public KeySource {
        Objects.requireNonNull(place, "place");
    }

    /**
     * Returns the key file at a path.
     *
     * @param path the path
     * @return the key source
     */
    public static KeySource file(Path path) {
        return new KeySource(path.toString(), null);
    }

    /**
     * Returns the key file at a path, whose passphrase is in another file.
     *
     * @param path the path
     * @param passphraseFile the file with the passphrase
     * @return the key source
     */
    public static KeySource file(Path path, Path passphraseFile) {
        return new KeySource(path.toString(), Objects.requireNonNull(passphraseFile, "passphraseFile"));
    }

    /**
     * Returns the key source that a text names.
     *
     * @param place the path of a key file, {@code kmip://HOST:PORT/KEY…} or {@code kmip:FILE.toml}
     * @return the key source
     */
    public static KeySource of(String place) {
        return new KeySource(place, null);
    }
}
