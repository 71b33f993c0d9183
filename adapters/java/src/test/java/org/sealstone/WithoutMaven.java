package org.sealstone;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;

/**
 * A program that uses the classes as an application does, without JUnit and Maven: {@code dev/e2e/tests/java.rs} compiles and runs
 * it with every other test of the repository, and compares what it prints.
 *
 * <p>Argument: a directory with {@code fields.toml}, {@code sealed.csv} and {@code people.key}, and with {@code other.key}, a key of
 * the same name.
 */
final class WithoutMaven {
    /** What prints, in UTF-8 whatever the machine is set to. */
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private WithoutMaven() {}

    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[0]);
        Path policy = directory.resolve("fields.toml");
        List<String[]> rows = Files.readAllLines(directory.resolve("sealed.csv")).stream().skip(1).map(line -> line.split(",", -1)).toList();
        String[] ids = column(rows, 0);
        String[] names = column(rows, 1);
        String[] memos = column(rows, 2);

        Sealstone sealstone = Sealstone.open(policy, KeySource.file(directory.resolve("people.key")));
        Column name = sealstone.column("people", "name");
        Column memo = sealstone.column("people", "memo");
        said("one by one", () -> name.open(names[0]) + ", " + memo.open(memos[0], ids[0]));
        said("by marks", () -> name.open(names[1], name.claim()) + ", " + memo.open("in the clear", 0, ids[1]));
        said("names", () -> Arrays.toString(name.open(names)));
        said("memos", () -> Arrays.toString(memo.open(memos, new int[] {1, 1, 1}, ids)));
        said("sealed alike", () -> Arrays.equals(names, name.seal(name.open(names))));
        said("sealed again", () -> memo.open(memo.seal("넷째 🔑", "4"), "4"));
        said("null", () -> name.seal((String) null) + " " + Arrays.toString(name.open(new String[] {null, names[2]})));

        said("moved", () -> memo.open(memos, null, new String[] {ids[0], ids[0], ids[0]}));
        said("does not fit", () -> name.seal(new String[] {"홍길동", null, "no name"}));
        said("no row", () -> memo.seal("a memo"));
        said("a row too much", () -> name.seal("홍길동", ids[0]));
        said("without a mark", () -> memo.onlySealed().open("forged", 0, ids[0]));
        said("without a version", () -> name.open(names[0], 7));
        for (int[] offsets : new int[][] {{0, 3}, {-1, 2}, {2, 1}, {0, Integer.MAX_VALUE}, {Integer.MIN_VALUE, 0}}) {
            Texts hostile = new Texts(new byte[] {'a', 'b'}, offsets);
            said("offsets " + Arrays.toString(offsets), () -> memo.seal(hostile, hostile));
        }
        said("another key", () -> opened(policy, directory.resolve("other.key"), memos[0], ids[0]));
        said("no key", () -> opened(policy, directory.resolve("none.key"), memos[0], ids[0]));
        sealstone.close();
        said("closed", () -> name.open(names));
    }

    private static String[] column(List<String[]> rows, int at) {
        return rows.stream().map(row -> row[at]).toArray(String[]::new);
    }

    private static String opened(Path policy, Path key, String sealed, String row) {
        try (Sealstone sealstone = Sealstone.open(policy, KeySource.file(key))) {
            return sealstone.column("people", "memo").open(sealed, row);
        }
    }

    /** Prints what a call returns, or the code of what it throws and the number of the value at fault. */
    private static void said(String what, Supplier<Object> call) {
        String result;
        try {
            result = String.valueOf(call.get());
        } catch (SealstoneException thrown) {
            result = thrown.code() + " " + thrown.index();
        }
        OUT.println(what + ": " + result);
    }
}
