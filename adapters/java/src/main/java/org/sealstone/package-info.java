/**
 * Values of columns that {@code sealstone field} sealed, in a file or in a table in use: opens them, and seals more.
 *
 * <p>{@link org.sealstone.Sealstone} has the policy and the keys, {@link org.sealstone.Column} seals and opens the values
 * of one column. The work is done by the native library {@code libsealstone_fields.so}, which is found at the path in the
 * system property {@code sealstone.library}, on {@code java.library.path}, or in {@code /usr/lib/sealstone}.
 *
 * <p>Not here: drivers of databases, whole files.
 */
package org.sealstone;
