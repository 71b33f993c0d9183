package org.sealstone.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/** A row some texts of which are others, and with more texts at its end. It is read only, and used for one row after the other. */
final class ReplacedRow extends InternalRow {
    private static final long serialVersionUID = 1L;

    private InternalRow row;

    /** For each field its place among {@code texts}; -1 for one of the row itself. */
    private final int[] places;

    final UTF8String[] texts;

    /** Makes a row without content. */
    ReplacedRow(int[] places, int texts) {
        this.places = places;
        this.texts = new UTF8String[texts];
    }

    void set(InternalRow row) {
        this.row = row;
    }

    @Override
    public int numFields() {
        return places.length;
    }

    @Override
    public boolean isNullAt(int at) {
        return places[at] < 0 ? row.isNullAt(at) : texts[places[at]] == null;
    }

    @Override
    public UTF8String getUTF8String(int at) {
        return places[at] < 0 ? row.getUTF8String(at) : texts[places[at]];
    }

    @Override
    public Object get(int at, DataType type) {
        return places[at] < 0 ? row.get(at, type) : texts[places[at]];
    }

    @Override
    public InternalRow copy() {
        ReplacedRow copy = new ReplacedRow(places, texts.length);
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
        return row.getBoolean(at);
    }

    @Override
    public byte getByte(int at) {
        return row.getByte(at);
    }

    @Override
    public short getShort(int at) {
        return row.getShort(at);
    }

    @Override
    public int getInt(int at) {
        return row.getInt(at);
    }

    @Override
    public long getLong(int at) {
        return row.getLong(at);
    }

    @Override
    public float getFloat(int at) {
        return row.getFloat(at);
    }

    @Override
    public double getDouble(int at) {
        return row.getDouble(at);
    }

    @Override
    public Decimal getDecimal(int at, int precision, int scale) {
        return row.getDecimal(at, precision, scale);
    }

    @Override
    public byte[] getBinary(int at) {
        return row.getBinary(at);
    }

    @Override
    public CalendarInterval getInterval(int at) {
        return row.getInterval(at);
    }

    @Override
    public VariantVal getVariant(int at) {
        return row.getVariant(at);
    }

    @Override
    public InternalRow getStruct(int at, int fields) {
        return row.getStruct(at, fields);
    }

    @Override
    public ArrayData getArray(int at) {
        return row.getArray(at);
    }

    @Override
    public MapData getMap(int at) {
        return row.getMap(at);
    }
}
