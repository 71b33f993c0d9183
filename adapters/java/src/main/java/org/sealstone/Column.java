package org.sealstone;

import java.lang.ref.Reference;
import java.util.Objects;
import java.util.Optional;

/**
 * One column with its key: seals and opens its values. One column serves any number of threads at once, as long as its
 * session is open.
 *
 * <p>A null value stays null, as NULL of a database does. Methods that take arrays are two to eight times as fast as a call for
 * each value; if one value of an array is at fault, nothing is returned, and {@link SealstoneException#index} says which.
 *
 * <p><b>Marks.</b> In a table that {@code sealstone field migrate} seals, the column {@code NAME_sealed} says under which
 * version of the key a value is sealed, or is NULL where it is in the clear. Methods with a mark take it as
 * {@link java.sql.ResultSet#getInt} returns it, with 0 for NULL. Code that writes a sealed value writes {@link #claim} there.
 * A mark is not authenticated: once a table is sealed as a whole, read it by {@link #onlySealed}.
 *
 * <p><b>Rows.</b> Where the policy binds values to rows ({@code tweak = "row:id"}), methods need the row: what that row has
 * in the column that {@link #row} names, as text; a whole number in decimal digits. Elsewhere a row is an error, since it would
 * bind nothing.
 */
public final class Column {
    private final Sealstone session;
    private final int number;
    private final String table;
    private final String name;
    private final int keyVersion;
    private final String row;
    private final String indexName;
    private final boolean isSealedOnly;

    Column(Sealstone session, String table, String name) {
        this.session = session;
        this.table = table;
        this.name = name;
        number = Native.column(session.number, Native.bytes(table), Native.bytes(name));
        keyVersion = Native.keyVersion(session.number, number);
        row = Native.text(Native.row(session.number, number));
        indexName = Native.text(Native.indexName(session.number, number));
        isSealedOnly = false;
    }

    /** Makes the column that takes sealed values alone. */
    private Column(Column other) {
        session = other.session;
        number = other.number;
        table = other.table;
        name = other.name;
        keyVersion = other.keyVersion;
        row = other.row;
        indexName = other.indexName;
        isSealedOnly = true;
    }

    /**
     * Returns the same column for a table in which every value is sealed by now: it opens none whose mark is 0. Without this,
     * somebody who can write to the table can put a value in the clear there, without a mark, and it comes back as it is, also
     * from a column of {@code aead}.
     *
     * @return a column that throws {@link SealstoneException.Code#NOT_GENUINE} for a value without a mark; null stays null
     */
    public Column onlySealed() {
        return isSealedOnly ? this : new Column(this);
    }

    /**
     * Returns the version of the key under which this column seals.
     *
     * @return the version, at least 1
     */
    public int keyVersion() {
        return keyVersion;
    }

    /**
     * Returns what is written into the mark beside a value that this column sealed: the version of the key as a negative
     * number, by which the writer claims that the value is sealed.
     *
     * @return the number
     */
    public int claim() {
        return -keyVersion;
    }

    /**
     * Returns the column that names the row that a value is bound to.
     *
     * @return its name; empty if values are not bound to rows
     */
    public Optional<String> row() {
        return Optional.ofNullable(row);
    }

    /**
     * Returns the column with the index values.
     *
     * @return its name; empty if there is none
     */
    public Optional<String> indexName() {
        return Optional.ofNullable(indexName);
    }

    /**
     * Seals a value.
     *
     * @param value the value
     * @return the sealed value
     * @throws SealstoneException if it does not fit the format of the column
     */
    public String seal(String value) {
        return one(Native.SEAL, 0, value, null);
    }

    /**
     * Seals a value that is bound to its row.
     *
     * @param value the value
     * @param row the row
     * @return the sealed value
     * @throws SealstoneException if it does not fit the format of the column, or values are not bound to rows
     */
    public String seal(String value, String row) {
        return one(Native.SEAL, 0, value, row);
    }

    /**
     * Seals a value that is UTF-8 text.
     *
     * @param value the value
     * @param row the row; null if values are not bound to rows
     * @return the sealed value, in UTF-8
     * @throws SealstoneException if it does not fit the format of the column
     */
    public byte[] seal(byte[] value, byte[] row) {
        return bytes(Native.SEAL, 0, value, row);
    }

    /**
     * Opens a value that was sealed under {@link #keyVersion}. For a value with a mark use {@link #open(String, int)}.
     *
     * @param sealed the sealed value
     * @return the value
     * @throws SealstoneException if it does not open
     */
    public String open(String sealed) {
        return one(Native.OPEN, keyVersion, sealed, null);
    }

    /**
     * Opens a value that was sealed under {@link #keyVersion} and is bound to its row.
     *
     * @param sealed the sealed value
     * @param row the row
     * @return the value
     * @throws SealstoneException if it does not open
     */
    public String open(String sealed, String row) {
        return one(Native.OPEN, keyVersion, sealed, row);
    }

    /**
     * Opens a value by its mark.
     *
     * @param value the value, sealed or in the clear
     * @param mark its mark; 0 for a value in the clear, which comes back as it is
     * @return the value
     * @throws SealstoneException if it does not open, or that version of the key is not to be had
     */
    public String open(String value, int mark) {
        return one(Native.OPEN, mark, value, null);
    }

    /**
     * Opens a value by its mark, which is bound to its row.
     *
     * @param value the value, sealed or in the clear
     * @param mark its mark; 0 for a value in the clear, which comes back as it is
     * @param row the row
     * @return the value
     * @throws SealstoneException if it does not open, or that version of the key is not to be had
     */
    public String open(String value, int mark, String row) {
        return one(Native.OPEN, mark, value, row);
    }

    /**
     * Opens a value that is UTF-8 text.
     *
     * @param value the value, sealed or in the clear
     * @param mark its mark; 0 for a value in the clear; {@link #keyVersion} where there are no marks
     * @param row the row; null if values are not bound to rows
     * @return the value, in UTF-8
     * @throws SealstoneException if it does not open, or that version of the key is not to be had
     */
    public byte[] open(byte[] value, int mark, byte[] row) {
        return bytes(Native.OPEN, mark, value, row);
    }

    /**
     * Returns the index value of a value, by which rows are found: what a table has in the index column beside it.
     *
     * @param value the value, in the clear
     * @return the index value; empty for a column without an index
     */
    public String index(String value) {
        return one(Native.INDEX, 0, value, null);
    }

    /**
     * Seals many values.
     *
     * @param values the values
     * @return the sealed values, null where the value is null
     * @throws SealstoneException if one does not fit
     */
    public String[] seal(String[] values) {
        return many(Native.SEAL, null, values, null);
    }

    /**
     * Seals many values, each bound to its row.
     *
     * @param values the values
     * @param rows as many rows; null if values are not bound to rows
     * @return the sealed values, null where the value is null
     * @throws SealstoneException if one does not fit
     */
    public String[] seal(String[] values, String[] rows) {
        return many(Native.SEAL, null, values, rows);
    }

    /**
     * Opens many values that were sealed under {@link #keyVersion}.
     *
     * @param sealed the sealed values
     * @return the values, null where the sealed value is null
     * @throws SealstoneException if one does not open
     */
    public String[] open(String[] sealed) {
        return many(Native.OPEN, null, sealed, null);
    }

    /**
     * Opens many values.
     *
     * @param values the values, sealed or in the clear
     * @param marks as many marks, 0 for values in the clear; null if all were sealed under {@link #keyVersion}
     * @param rows as many rows; null if values are not bound to rows
     * @return the values, null where the value is null
     * @throws SealstoneException if one does not open, or a version of the key is not to be had
     */
    public String[] open(String[] values, int[] marks, String[] rows) {
        return many(Native.OPEN, marks, values, rows);
    }

    /**
     * Returns the index values of many values.
     *
     * @param values the values, in the clear
     * @return the index values, null where the value is null
     */
    public String[] index(String[] values) {
        return many(Native.INDEX, null, values, null);
    }

    /**
     * Seals many values, which are taken and returned in one array of bytes.
     *
     * @param values the values
     * @param rows as many rows; null if values are not bound to rows
     * @return the sealed values
     * @throws SealstoneException if one does not fit
     */
    public Texts seal(Texts values, Texts rows) {
        return many(Native.SEAL, null, values, rows);
    }

    /**
     * Opens many values, which are taken and returned in one array of bytes.
     *
     * @param values the values, sealed or in the clear
     * @param marks as many marks, 0 for values in the clear; null if all were sealed under {@link #keyVersion}
     * @param rows as many rows; null if values are not bound to rows
     * @return the values
     * @throws SealstoneException if one does not open, or a version of the key is not to be had
     */
    public Texts open(Texts values, int[] marks, Texts rows) {
        return many(Native.OPEN, marks, values, rows);
    }

    /**
     * Returns the index values of many values, which are taken and returned in one array of bytes.
     *
     * @param values the values, in the clear
     * @return the index values
     */
    public Texts index(Texts values) {
        return many(Native.INDEX, null, values, null);
    }

    private String one(int work, int mark, String value, String row) {
        return Native.text(bytes(work, mark, Native.bytes(value), Native.bytes(row)));
    }

    private byte[] bytes(int work, int mark, byte[] value, byte[] row) {
        if (value == null) {
            return null;
        }
        if (work == Native.OPEN && mark == 0 && isSealedOnly) {
            throw inTheClear(-1);
        }
        try {
            return Native.one(session.number, number, work, mark, value, row);
        } finally {
            Reference.reachabilityFence(session);
        }
    }

    /** Returns what is thrown for a value without a mark; `index` is its number among many. */
    private static SealstoneException inTheClear(int index) {
        return new SealstoneException(
                SealstoneException.Code.NOT_GENUINE,
                index,
                "a value has no mark, so it is in the clear, and sealed ones alone are taken\n"
                        + "if it belongs there, seal it: sealstone field migrate",
                null);
    }

    private Texts many(int work, int[] marks, Texts values, Texts rows) {
        for (int at = 0; isSealedOnly && marks != null && at < marks.length; at++) {
            if (marks[at] == 0) {
                throw inTheClear(at);
            }
        }
        int[] out = new int[values.count() + 1];
        try {
            byte[] bytes = Native.many(
                    session.number,
                    number,
                    work,
                    marks,
                    values.bytes(),
                    values.offsets(),
                    rows == null ? null : rows.bytes(),
                    rows == null ? null : rows.offsets(),
                    out);
            return new Texts(bytes, out);
        } finally {
            Reference.reachabilityFence(session);
        }
    }

    private String[] many(int work, int[] marks, String[] values, String[] rows) {
        if (rows != null && rows.length != values.length || marks != null && marks.length != values.length) {
            throw new SealstoneException(
                    SealstoneException.Code.ARGUMENT,
                    -1,
                    "rows or marks are not as many as values\npass one for each value",
                    null);
        }
        int[] present = present(values);
        if (present != null) {
            return some(work, marks, values, rows, present);
        }
        Texts named = rows == null ? null : Texts.of(named(rows));
        return many(work, marks, Texts.of(values), named).toArray();
    }

    /** Does work on the values with these numbers; the others are null, and stay so. */
    private String[] some(int work, int[] marks, String[] values, String[] rows, int[] present) {
        String[] some = new String[present.length];
        String[] someRows = rows == null ? null : new String[present.length];
        int[] someMarks = marks == null ? null : new int[present.length];
        for (int at = 0; at < present.length; at++) {
            some[at] = values[present[at]];
            if (rows != null) {
                someRows[at] = rows[present[at]];
            }
            if (marks != null) {
                someMarks[at] = marks[present[at]];
            }
        }
        try {
            String[] made = many(work, someMarks, some, someRows);
            String[] all = new String[values.length];
            for (int at = 0; at < present.length; at++) {
                all[present[at]] = made[at];
            }
            return all;
        } catch (SealstoneException fault) {
            throw fault.index() < 0 ? fault : fault.at(present[fault.index()]);
        }
    }

    /** Returns the numbers of the values that are not null; null if all are. */
    private static int[] present(String[] values) {
        int count = 0;
        for (String value : values) {
            count += value == null ? 0 : 1;
        }
        if (count == values.length) {
            return null;
        }
        int[] present = new int[count];
        int at = 0;
        for (int number = 0; number < values.length; number++) {
            if (values[number] != null) {
                present[at++] = number;
            }
        }
        return present;
    }

    /** Returns rows without null, which names none: an empty text does so, too, and the library says which value that is. */
    private static String[] named(String[] rows) {
        String[] named = rows;
        for (int number = 0; number < rows.length; number++) {
            if (rows[number] == null) {
                named = named == rows ? rows.clone() : named;
                named[number] = "";
            }
        }
        return named;
    }

    /** Returns the name of the column, and nothing of its key. */
    @Override
    public String toString() {
        return "Column[" + (table == null ? "" : table + ".") + Objects.requireNonNull(name) + "]";
    }
}
