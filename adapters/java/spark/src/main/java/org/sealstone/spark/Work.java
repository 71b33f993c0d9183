package org.sealstone.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.sealstone.Column;
import org.sealstone.Sealstone;

/**
 * What is done with the rows of one table: sent to workers, so it has texts and numbers alone.
 *
 * @param calls what is sealed or opened
 * @param fields for each field of a result the field of the row that it is; for one that a call makes -1 for the first call, -2
 *     for the second, and so on
 */
record Work(List<Call> calls, int[] fields) implements Serializable {
    /** What a call makes of a value. */
    enum Kind {
        SEAL,
        OPEN,
        INDEX
    }

    /**
     * What is made of one value of each row.
     *
     * @param by how the column is sealed
     * @param kind what is made of it
     * @param column the name of the sealed column
     * @param ordinal the field of the row that has the value
     * @param rowOrdinal the field that names the row; -1 if values are not bound to rows
     * @param rowType the type of that field; null if there is none
     */
    record Call(SealedBy by, Kind kind, String column, int ordinal, int rowOrdinal, DataType rowType) implements Serializable {}

    /** Work on a whole table, with the columns of its results. */
    record OnTable(Work work, StructType schema) {}

    /** Returns the place of the result of the call `call` among the fields. */
    static int madeBy(int call) {
        return -1 - call;
    }

    /** Returns what seals or opens all sealed columns of a table; index columns come last. */
    static OnTable onTable(SealedBy by, boolean seals, StructType table) {
        Sealstone session = by.session();
        List<StructField> made = new ArrayList<>(List.of(table.fields()));
        List<Integer> fields = new ArrayList<>();
        for (int field = 0; field < table.length(); field++) {
            fields.add(field);
        }
        List<Call> calls = new ArrayList<>();
        for (String name : session.columns(null)) {
            Column column = session.column(name);
            int ordinal = ordinal(table, name);
            if (!table.fields()[ordinal].dataType().equals(DataTypes.StringType)) {
                throw new IllegalArgumentException("column " + name + " is of type "
                        + table.fields()[ordinal].dataType().simpleString() + ", and text alone can be sealed\ncast it to string first");
            }
            int row = column.row().map(named -> ordinal(table, named)).orElse(-1);
            fields.set(ordinal, madeBy(calls.size()));
            calls.add(new Call(by, seals ? Kind.SEAL : Kind.OPEN, name, ordinal, row, row < 0 ? null : rowType(table.fields()[row])));
            made.set(ordinal, DataTypes.createStructField(name, DataTypes.StringType, true));
            if (seals && column.indexName().isPresent()) {
                fields.add(madeBy(calls.size()));
                calls.add(new Call(by, Kind.INDEX, name, ordinal, -1, null));
                made.add(DataTypes.createStructField(column.indexName().get(), DataTypes.StringType, true));
            }
        }
        Work work = new Work(calls, fields.stream().mapToInt(Integer::intValue).toArray());
        return new OnTable(work, DataTypes.createStructType(made));
    }

    private static int ordinal(StructType table, String name) {
        int found = Arrays.asList(table.fieldNames()).indexOf(name);
        if (found < 0) {
            throw new IllegalArgumentException("the table has no column " + name);
        }
        return found;
    }

    private static DataType rowType(StructField field) {
        DataType type = field.dataType();
        if (List.of(DataTypes.StringType, DataTypes.LongType, DataTypes.IntegerType, DataTypes.ShortType, DataTypes.ByteType)
                .contains(type)) {
            return type;
        }
        throw new IllegalArgumentException("column " + field.name() + " is of type " + type.simpleString()
                + ", and cannot name rows: text and integers can, since they are written in one way only\ncast it to string first");
    }
}
