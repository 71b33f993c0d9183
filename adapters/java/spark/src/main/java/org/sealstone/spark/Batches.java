package org.sealstone.spark;

import java.util.Arrays;
import java.util.Iterator;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import org.sealstone.Column;
import org.sealstone.SealstoneException;
import org.sealstone.Texts;

/** The rows of one partition, some thousand at a time: their columns are sealed or opened together. */
final class Batches implements Iterator<InternalRow> {
    /** Enough for the batches of the ciphers, few enough to stay in the cache. */
    private static final int AT_ONCE = 4096;

    private final Iterator<InternalRow> source;
    private final Work.Call[] calls;
    private final Column[] columns;
    private final InternalRow[] rows = new InternalRow[AT_ONCE];

    /** For each call what it made, one value for each row. */
    private final UTF8String[][] made;

    private final ReplacedRow result;
    private int count;
    private int at;
    private long before;

    Batches(Iterator<InternalRow> source, Work work) {
        this.source = source;
        calls = work.calls().toArray(Work.Call[]::new);
        columns = Arrays.stream(calls).map(call -> call.by().column(call.column())).toArray(Column[]::new);
        made = new UTF8String[calls.length][AT_ONCE];
        result = new ReplacedRow(work.fields(), calls.length);
    }

    @Override
    public boolean hasNext() {
        return at < count || source.hasNext();
    }

    @Override
    public InternalRow next() {
        if (at == count) {
            before += count;
            at = 0;
            for (count = 0; count < AT_ONCE && source.hasNext(); count++) {
                // the source fills one row after the other into the same memory
                rows[count] = source.next().copy();
            }
            Values values = null;
            for (int call = 0; call < calls.length; call++) {
                if (values == null || calls[call].ordinal() != calls[call - 1].ordinal()) {
                    values = new Values(calls[call].ordinal());
                }
                fill(call, values);
            }
        }
        for (int call = 0; call < made.length; call++) {
            result.texts[call] = made[call][at];
        }
        result.set(rows[at++]);
        return result;
    }

    /** Does what a call says with the values of the rows at hand. */
    private void fill(int number, Values values) {
        Work.Call call = calls[number];
        Column column = columns[number];
        try {
            Texts named = call.rowOrdinal() < 0 ? null : names(call, values);
            Texts texts = switch (call.kind()) {
                case SEAL -> column.seal(values.texts, named);
                case OPEN -> column.open(values.texts, null, named);
                case INDEX -> column.index(values.texts);
            };
            put(texts, values.present, made[number]);
        } catch (SealstoneException fault) {
            String place = fault.index() < 0 ? "" : ", row " + (before + values.present[fault.index()]);
            throw new IllegalStateException(
                    "column " + call.column() + ", partition " + TaskContext.getPartitionId() + place + ": " + fault.getMessage(),
                    fault);
        }
    }

    /** The values of one field of the rows at hand that are not null. */
    private final class Values {
        final Texts texts;

        /** For each of them the row that has it. */
        final int[] present = new int[count];

        Values(int ordinal) {
            Packed packed = new Packed(count);
            int some = 0;
            for (int row = 0; row < count; row++) {
                if (!rows[row].isNullAt(ordinal)) {
                    packed.add(rows[row].getUTF8String(ordinal));
                    present[some++] = row;
                }
            }
            texts = packed.texts();
        }
    }

    private Texts names(Work.Call call, Values values) {
        Packed names = new Packed(count);
        for (int text = 0; text < values.texts.count(); text++) {
            names.add(name(rows[values.present[text]], call));
        }
        return names.texts();
    }

    private static UTF8String name(InternalRow row, Work.Call call) {
        int at = call.rowOrdinal();
        if (row.isNullAt(at)) {
            return UTF8String.EMPTY_UTF8;
        }
        if (call.rowType().equals(DataTypes.StringType)) {
            return row.getUTF8String(at);
        }
        return UTF8String.fromString(row.get(at, call.rowType()).toString());
    }

    private void put(Texts texts, int[] present, UTF8String[] into) {
        Arrays.fill(into, 0, count, null);
        int[] offsets = texts.offsets();
        for (int text = 0; text < texts.count(); text++) {
            into[present[text]] = UTF8String.fromBytes(texts.bytes(), offsets[text], offsets[text + 1] - offsets[text]);
        }
    }

    /** Texts that are put one after the other. */
    private static final class Packed {
        private byte[] bytes;
        private int[] offsets;
        private int texts;

        Packed(int most) {
            bytes = new byte[Math.max(64, most * 20)];
            offsets = new int[most + 1];
        }

        void add(UTF8String text) {
            int end = offsets[texts];
            int length = text.numBytes();
            if (length > bytes.length - end) {
                bytes = Arrays.copyOf(bytes, Math.addExact(Math.max(end, length), Math.max(end, length)));
            }
            text.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + end);
            offsets[++texts] = end + length;
        }

        Texts texts() {
            return new Texts(bytes, texts + 1 == offsets.length ? offsets : Arrays.copyOf(offsets, texts + 1));
        }
    }
}
