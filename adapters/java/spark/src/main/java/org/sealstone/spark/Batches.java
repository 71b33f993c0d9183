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
    private final Work work;
    private final Column[] columns;
    private final InternalRow[] rows = new InternalRow[AT_ONCE];

    /** For each text of a result its values, one for each row. */
    private final UTF8String[][] made;

    private final ReplacedRow result;
    private int count;
    private int at;
    private long before;

    Batches(Iterator<InternalRow> source, Work work) {
        this.source = source;
        this.work = work;
        columns = work.targets.stream()
                .map(target -> work.by.session().column(target.name()))
                .toArray(Column[]::new);
        int[] places = new int[work.schema.length()];
        Arrays.fill(places, -1);
        int texts = columns.length;
        for (int number = 0; number < columns.length; number++) {
            places[work.targets.get(number).ordinal()] = number;
        }
        for (int field = work.fields; field < places.length; field++) {
            places[field] = texts++;
        }
        made = new UTF8String[texts][AT_ONCE];
        result = new ReplacedRow(places, texts);
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
            int index = columns.length;
            for (int number = 0; number < columns.length; number++) {
                boolean hasIndex = work.targets.get(number).hasIndex();
                fill(number, hasIndex ? made[index++] : null);
            }
        }
        for (int text = 0; text < made.length; text++) {
            result.texts[text] = made[text][at];
        }
        result.set(rows[at++]);
        return result;
    }

    /** Seals or opens one column of the rows at hand. */
    private void fill(int number, UTF8String[] indexes) {
        Work.Target target = work.targets.get(number);
        Packed values = new Packed(count);
        Packed names = target.rowOrdinal() < 0 ? null : new Packed(count);
        int[] present = new int[count];
        int some = 0;
        for (int row = 0; row < count; row++) {
            if (rows[row].isNullAt(target.ordinal())) {
                continue;
            }
            values.add(rows[row].getUTF8String(target.ordinal()));
            if (names != null) {
                names.add(name(rows[row], target));
            }
            present[some++] = row;
        }
        Column column = columns[number];
        Texts texts = values.texts();
        try {
            Texts named = names == null ? null : names.texts();
            put(work.seals ? column.seal(texts, named) : column.open(texts, null, named), present, made[number]);
            if (indexes != null) {
                put(column.index(texts), present, indexes);
            }
        } catch (SealstoneException fault) {
            String place = fault.index() < 0 ? "" : ", row " + (before + present[fault.index()]);
            throw new IllegalStateException(
                    "column " + target.name() + ", partition " + TaskContext.getPartitionId() + place + ": " + fault.getMessage(),
                    fault);
        }
    }

    private static UTF8String name(InternalRow row, Work.Target target) {
        int at = target.rowOrdinal();
        if (row.isNullAt(at)) {
            return UTF8String.EMPTY_UTF8;
        }
        if (target.rowType().equals(DataTypes.StringType)) {
            return row.getUTF8String(at);
        }
        return UTF8String.fromString(row.get(at, target.rowType()).toString());
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
