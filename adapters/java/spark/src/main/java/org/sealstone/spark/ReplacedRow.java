package org.sealstone.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/** A row of fields of another one, in any order, and of texts. It is read only, and used for one row after the other. */
final class ReplacedRow extends InternalRow {
    private static final long serialVersionUID = 1L;

    private InternalRow row;

    /** For each field that of the row; for a text as {@link Work#madeBy} has it. */
    private final int[] fields;

    final UTF8String[] texts;

    /** Makes a row without content. */
    ReplacedRow(int[] fields, int texts) {
        this.fields = fields;
        this.texts = new UTF8String[texts];
    }

    void set(InternalRow row) {
        this.row = row;
    }

    @Override
    public int numFields() {
        return fields.length;
    }

    private boolean isText(int at) {
        return fields[at] < 0;
    }

    private UTF8String text(int at) {
        return texts[Work.madeBy(fields[at])];
    }

    @Override
    public boolean isNullAt(int at) {
        return isText(at) ? text(at) == null : row.isNullAt(fields[at]);
    }

    @Override
    public UTF8String getUTF8String(int at) {
        return isText(at) ? text(at) : row.getUTF8String(fields[at]);
    }

    @Override
    public Object get(int at, DataType type) {
        return isText(at) ? text(at) : row.get(fields[at], type);
    }

    @Override
    public InternalRow copy() {
        ReplacedRow copy = new ReplacedRow(fields, texts.length);
        copy.row = row.copy();
        System.arraycopy(texts, 0, copy.texts, 0, texts.length);
        return copy;
    }

    @Override
    public void setNullAt(int at) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void update(int at, Object value) {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean getBoolean(int at) {
        return row.getBoolean(fields[at]);
    }

    @Override
    public byte getByte(int at) {
        return row.getByte(fields[at]);
    }

    @Override
    public short getShort(int at) {
        return row.getShort(fields[at]);
    }

    @Override
    public int getInt(int at) {
        return row.getInt(fields[at]);
    }

    @Override
    public long getLong(int at) {
        return row.getLong(fields[at]);
    }

    @Override
    public float getFloat(int at) {
        return row.getFloat(fields[at]);
    }

    @Override
    public double getDouble(int at) {
        return row.getDouble(fields[at]);
    }

    @Override
    public Decimal getDecimal(int at, int precision, int scale) {
        return row.getDecimal(fields[at], precision, scale);
    }

    @Override
    public byte[] getBinary(int at) {
        return row.getBinary(fields[at]);
    }

    @Override
    public CalendarInterval getInterval(int at) {
        return row.getInterval(fields[at]);
    }

    @Override
    public VariantVal getVariant(int at) {
        return row.getVariant(fields[at]);
    }

    @Override
    public InternalRow getStruct(int at, int size) {
        return row.getStruct(fields[at], size);
    }

    @Override
    public ArrayData getArray(int at) {
        return row.getArray(fields[at]);
    }

    @Override
    public MapData getMap(int at) {
        return row.getMap(fields[at]);
    }
}
