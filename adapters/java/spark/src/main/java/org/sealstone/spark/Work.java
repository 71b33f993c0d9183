package org.sealstone.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.sealstone.Column;
import org.sealstone.Sealstone;

/** What is done with the rows of one table: sent to workers, so it has texts and numbers alone. */
final class Work implements Serializable {
    private static final long serialVersionUID = 1L;

    /** One sealed column of the table. */
    record Target(String name, int ordinal, int rowOrdinal, DataType rowType, boolean hasIndex) implements Serializable {}

    final SealedBy by;
    final boolean seals;
    final List<Target> targets = new ArrayList<>();
    final int fields;

    /** The columns of the results. */
    final StructType schema;

    Work(SealedBy by, boolean seals, StructType table) {
        this.by = by;
        this.seals = seals;
        fields = table.length();
        Sealstone session = by.session();
        List<StructField> made = new ArrayList<>(List.of(table.fields()));
        for (String name : session.columns(null)) {
            Column column = session.column(name);
            int ordinal = ordinal(table, name);
            if (!table.fields()[ordinal].dataType().equals(DataTypes.StringType)) {
                throw new IllegalArgumentException("column " + name + " is of type "
                        + table.fields()[ordinal].dataType().simpleString() + ", and text alone can be sealed\ncast it to string first");
            }
            int row = column.row().map(named -> ordinal(table, named)).orElse(-1);
            boolean hasIndex = seals && column.indexName().isPresent();
            targets.add(new Target(name, ordinal, row, row < 0 ? null : rowType(table.fields()[row]), hasIndex));
            made.set(ordinal, DataTypes.createStructField(name, DataTypes.StringType, true));
            if (hasIndex) {
                made.add(DataTypes.createStructField(column.indexName().get(), DataTypes.StringType, true));
            }
        }
        schema = DataTypes.createStructType(made);
    }

    private static int ordinal(StructType table, String name) {
        int found = List.of(table.fieldNames()).indexOf(name);
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
