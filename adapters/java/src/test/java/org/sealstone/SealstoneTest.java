package org.sealstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.Reference;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.sealstone.SealstoneException.Code;

/** What a program in Java sees: values that the command line sealed, and every way in which a call can fail. */
class SealstoneTest {
    private static final String POLICY = """
            cipher = "aria-256"
            [tables.people.columns.name]
            method = "ff1"
            format = "hangul"
            [tables.people.columns.phone]
            method = "ff1"
            format = "phone"
            index = { bits = 32 }
            [tables.people.columns.memo]
            method = "aead"
            tweak = "row:id"
            empty = "keep"
            """;

    private static final String[] NAMES = {"홍길동", "김철수", "남궁민수"};
    private static final String[] PHONES = {"010-1234-5678", "010-8765-4321", "02-123-4567"};
    private static final String[] MEMOS = {"first", "", "세 번째 🔑"};
    private static final String[] IDS = {"1", "2", "3"};

    @TempDir
    Path directory;

    private CommandLine command;
    private KeySource key;

    @BeforeEach
    void sealedByTheCommand() throws Exception {
        command = new CommandLine(directory);
        command.write("fields.toml", POLICY);
        StringBuilder csv = new StringBuilder("id,name,phone,memo\n");
        for (int row = 0; row < IDS.length; row++) {
            csv.append(String.join(",", IDS[row], NAMES[row], PHONES[row], MEMOS[row])).append('\n');
        }
        command.write("people.csv", csv.toString());
        command.done("keys", "new", "people.key", "--id", "people");
        command.done("field", "seal", "people.csv", "--policy", "fields.toml", "--key", "people.key", "--out", "sealed.csv");
        key = KeySource.file(command.path("people.key"));
    }

    private Sealstone opened() {
        return Sealstone.open(command.path("fields.toml"), key);
    }

    private String[] sealed(int column) throws Exception {
        return command.rows("sealed.csv").stream().map(row -> row[column]).toArray(String[]::new);
    }

    private static SealstoneException fails(Code code, Executable call) {
        SealstoneException fault = assertThrows(SealstoneException.class, call);
        assertEquals(code, fault.code(), fault.getMessage());
        return fault;
    }

    @Test
    void opensWhatTheCommandSealed() throws Exception {
        String manifest = Files.readString(command.path("sealed.csv.sealed.toml"));
        List<Sealstone> sessions = List.of(
                opened(), Sealstone.ofPolicy(POLICY, key), Sealstone.ofManifest(manifest, key));
        for (Sealstone sealstone : sessions) {
            try (sealstone) {
                Column name = sealstone.column("people", "name");
                Column phone = sealstone.column("phone");
                Column memo = sealstone.column("people", "memo");
                assertEquals(Optional.of("id"), memo.row());
                assertEquals(Optional.empty(), phone.row());
                assertArrayEquals(NAMES, name.open(sealed(1)));
                assertArrayEquals(PHONES, phone.open(sealed(2)));
                assertArrayEquals(MEMOS, memo.open(sealed(3), null, IDS));
                for (int row = 0; row < IDS.length; row++) {
                    assertEquals(NAMES[row], name.open(sealed(1)[row]));
                    assertEquals(MEMOS[row], memo.open(sealed(3)[row], IDS[row]));
                    assertEquals(sealed(4)[row], phone.index(PHONES[row]), "the index column that the command wrote");
                }
                assertArrayEquals(sealed(4), phone.index(PHONES));
                assertArrayEquals(sealed(2), phone.seal(PHONES), "equal values are sealed alike");
            }
        }
    }

    @Test
    void aManifestIsMadeForWhatIsKeptElsewhere() throws Exception {
        String manifest;
        try (Sealstone policy = opened()) {
            assertEquals(Set.of("name", "phone", "memo"), Set.copyOf(policy.columns("people")));
            assertEquals(Optional.of("phone_index"), policy.column("phone").indexName());
            assertEquals(Optional.empty(), policy.column("name").indexName());
            fails(Code.POLICY, () -> policy.columns("poeple"));
            manifest = policy.manifest("people");
        }
        command.done("keys", "rotate", "people.key");
        try (Sealstone first = Sealstone.ofManifest(manifest, key)) {
            assertEquals(1, first.column("name").keyVersion());
            assertArrayEquals(NAMES, first.column("name").open(sealed(1)));
        }
    }

    @Test
    void theCommandOpensWhatJavaSealed() throws Exception {
        try (Sealstone sealstone = opened()) {
            Column memo = sealstone.column("people", "memo");
            String[] sealed = memo.seal(MEMOS, IDS);
            assertNotEquals(sealed[0], memo.seal(MEMOS[0], IDS[0]), "a fresh nonce each time");
            String[] names = sealstone.column("people", "name").seal(NAMES);
            String[] lines = Files.readString(command.path("sealed.csv")).split("\n");
            StringBuilder csv = new StringBuilder(lines[0]).append('\n');
            for (int row = 0; row < IDS.length; row++) {
                String[] cells = lines[row + 1].split(",", -1);
                cells[1] = names[row];
                cells[3] = sealed[row];
                csv.append(String.join(",", cells)).append('\n');
            }
            command.write("sealed.csv", csv.toString());
        }
        command.done("field", "open", "sealed.csv", "--changed", "--key", "people.key", "--out", "opened.csv");
        assertEquals(Files.readString(command.path("people.csv")), Files.readString(command.path("opened.csv")));
    }

    @Test
    void nullStaysNullAndFaultsAreCountedWithIt() {
        try (Sealstone sealstone = opened()) {
            Column phone = sealstone.column("people", "phone");
            Column memo = sealstone.column("people", "memo");
            assertNull(phone.seal((String) null));
            assertNull(phone.open((String) null));
            assertNull(phone.index((String) null));
            assertArrayEquals(new String[0], phone.seal(new String[0]));
            assertArrayEquals(new String[] {null, null}, phone.open(new String[] {null, null}));
            String[] sealed = phone.seal(new String[] {null, PHONES[0], null, PHONES[1]});
            assertNull(sealed[0]);
            assertArrayEquals(
                    new String[] {null, PHONES[0], null, PHONES[1]}, phone.open(sealed));
            SealstoneException fault =
                    fails(Code.MISFIT, () -> phone.seal(new String[] {PHONES[0], null, null, "secret", PHONES[1]}));
            assertEquals(3, fault.index());
            assertFalse(fault.getMessage().contains("secret"), fault.getMessage());
            assertEquals(-1, fails(Code.MISFIT, () -> phone.seal("secret")).index());
            String[] some = memo.seal(new String[] {"a", null, "b"}, new String[] {"1", null, "3"});
            assertEquals("b", memo.open(some[2], "3"));
            assertEquals(
                    1, fails(Code.ARGUMENT, () -> memo.seal(new String[] {"a", "b"}, new String[] {"1", null})).index());
            fails(Code.ARGUMENT, () -> memo.seal("a"));
            fails(Code.ARGUMENT, () -> memo.seal(new String[] {"a"}));
            fails(Code.ARGUMENT, () -> memo.seal(new String[] {"a"}, new String[] {"1", "2"}));
        }
    }

    @Test
    void bytesAndTextsAreTheSameAsStrings() {
        try (Sealstone sealstone = opened()) {
            Column memo = sealstone.column("people", "memo");
            Texts rows = Texts.of(IDS);
            Texts sealed = memo.seal(Texts.of(MEMOS), rows);
            assertArrayEquals(MEMOS, memo.open(sealed, null, rows).toArray());
            byte[] one = memo.seal("세".getBytes(StandardCharsets.UTF_8), "7".getBytes(StandardCharsets.UTF_8));
            assertEquals("세", memo.open(new String(one, StandardCharsets.UTF_8), "7"));
            fails(Code.ARGUMENT, () -> memo.seal(new byte[] {(byte) 0xff}, "7".getBytes(StandardCharsets.UTF_8)));
            fails(Code.ARGUMENT, () -> memo.seal("half of a \ud83d pair", "7"));
            byte[] bytes = {'a', 'b'};
            for (int[] offsets : new int[][] {
                {0, 3}, {-1, 2}, {2, 1}, {0, Integer.MAX_VALUE}, {Integer.MIN_VALUE, 0}, {0, 2, 1}
            }) {
                Texts hostile = new Texts(bytes, offsets);
                fails(Code.ARGUMENT, () -> memo.seal(hostile, hostile));
            }
            fails(Code.ARGUMENT, () -> memo.seal(Texts.of("a"), Texts.of("1", "2")));
            fails(Code.ARGUMENT, () -> memo.open(Texts.of("a"), new int[] {1, 1}, Texts.of("1")));
        }
    }

    @Test
    void whatWasChangedOrMovedIsAnError() {
        try (Sealstone sealstone = opened()) {
            Column memo = sealstone.column("people", "memo");
            String sealed = memo.seal("a memo", "1");
            Set<Code> codes = EnumSet.noneOf(Code.class);
            for (int at = 0; at < sealed.length(); at++) {
                char other = sealed.charAt(at) == 'A' ? 'B' : 'A';
                String changed = sealed.substring(0, at) + other + sealed.substring(at + 1);
                codes.add(assertThrows(SealstoneException.class, () -> memo.open(changed, "1")).code());
                String cut = sealed.substring(0, at);
                if (at > 0) {
                    codes.add(assertThrows(SealstoneException.class, () -> memo.open(cut, "1")).code());
                }
            }
            // a record names its key, and one of another name is not to be had
            assertEquals(EnumSet.of(Code.NOT_GENUINE, Code.KEY), codes);
            fails(Code.NOT_GENUINE, () -> memo.open(sealed, "2"));
            fails(Code.NOT_GENUINE, () -> memo.open("no sealed value", "1"));
            String good = memo.seal("b", "2");
            SealstoneException fault = fails(
                    Code.NOT_GENUINE, () -> memo.open(new String[] {good, sealed}, null, new String[] {"2", "2"}));
            assertEquals(1, fault.index());
        }
    }

    @Test
    void anotherKeyOpensNothing() throws Exception {
        String[] memos = sealed(3);
        String manifest = Files.readString(command.path("sealed.csv.sealed.toml"));
        Files.move(command.path("people.key"), command.path("right.key"));
        command.done("keys", "new", "people.key", "--id", "people");
        try (Sealstone other = opened()) {
            fails(Code.NOT_GENUINE, () -> other.column("people", "memo").open(memos[0], "1"));
            assertNotEquals(PHONES[0], other.column("people", "phone").open(sealed(2)[0]), "ff1 cannot notice");
        }
        SealstoneException fault = fails(Code.POLICY, () -> Sealstone.ofManifest(manifest, key));
        assertTrue(fault.getMessage().contains("does not fit the manifest"), fault.getMessage());
        command.done("keys", "new", "orders.key");
        KeySource orders = KeySource.file(command.path("orders.key"));
        try (Sealstone other = Sealstone.ofPolicy(POLICY, orders)) {
            SealstoneException named =
                    fails(Code.KEY, () -> other.column("people", "memo").open(memos, null, IDS));
            assertEquals(0, named.index());
        }
        fails(Code.KEY, () -> Sealstone.ofManifest(manifest, orders));
        fails(Code.KEY, () -> Sealstone.ofPolicy(POLICY, KeySource.of(directory + "/no.key")));
        fails(Code.KEY, () -> Sealstone.ofPolicy(POLICY, null).column("people", "memo"));
        String changed = manifest.replace("hangul", "digits");
        fails(Code.POLICY, () -> Sealstone.ofManifest(changed, KeySource.file(command.path("right.key"))));
    }

    @Test
    void whatIsNotThereIsNamed() {
        fails(Code.POLICY, () -> Sealstone.open(directory.resolve("no.toml"), key));
        fails(Code.POLICY, () -> Sealstone.ofPolicy("cipher = 1", key));
        fails(Code.POLICY, () -> Sealstone.ofManifest("", key));
        try (Sealstone sealstone = opened()) {
            SealstoneException fault = fails(Code.POLICY, () -> sealstone.column("people", "phnoe"));
            assertTrue(fault.getMessage().contains("did you mean phone?"), fault.getMessage());
            fails(Code.POLICY, () -> sealstone.column("poeple", "phone"));
        }
    }

    @Test
    void aKeyFileWithAPassphraseOpens() throws Exception {
        command.write("passphrase", "a long passphrase of mine\n");
        command.done("keys", "passwd", "people.key", "--new-passphrase-file", "passphrase");
        fails(Code.KEY, this::opened);
        KeySource protectedKey = KeySource.file(command.path("people.key"), command.path("passphrase"));
        try (Sealstone sealstone = Sealstone.open(command.path("fields.toml"), protectedKey)) {
            assertArrayEquals(PHONES, sealstone.column("phone").open(sealed(2)));
        }
    }

    @Test
    void valuesOfOlderVersionsOpenByTheirMarks() throws Exception {
        try (Sealstone before = opened()) {
            Column first = before.column("people", "phone");
            String old = first.seal(PHONES[0]);
            assertEquals(1, first.keyVersion());
            command.done("keys", "rotate", "people.key");
            try (Sealstone after = opened()) {
                Column phone = after.column("people", "phone");
                assertEquals(2, phone.keyVersion());
                assertEquals(-2, phone.claim());
                assertEquals(PHONES[0], phone.open(old, 1));
                assertEquals(PHONES[0], phone.open(old, -1), "a claim is a mark, too");
                assertEquals(PHONES[0], phone.open(PHONES[0], 0), "a value in the clear");
                String sealed = phone.seal(PHONES[1]);
                String[] mixed = {sealed, null, old, PHONES[2], old};
                assertArrayEquals(
                        new String[] {PHONES[1], null, PHONES[0], PHONES[2], PHONES[0]},
                        phone.open(mixed, new int[] {2, 0, 1, 0, -1}, null));
                assertEquals(PHONES[1], first.open(sealed, 2), "the older session learns of the new version");
                SealstoneException fault =
                        fails(Code.KEY, () -> phone.open(new String[] {old, old, old}, new int[] {1, 9, 8}, null));
                assertTrue(fault.index() > 0, fault.getMessage());
                fails(Code.KEY, () -> phone.open(old, Integer.MIN_VALUE));
                SealstoneException misfit = fails(
                        Code.MISFIT, () -> phone.open(new String[] {sealed, "x", "y"}, new int[] {2, 2, 1}, null));
                assertEquals(1, misfit.index());
            }
        }
    }

    @Test
    void aColumnThatTakesSealedValuesAloneOpensNoOthers() {
        try (Sealstone sealstone = opened()) {
            Column phone = sealstone.column("people", "phone").onlySealed();
            Column memo = sealstone.column("people", "memo").onlySealed();
            String sealed = memo.seal("a memo", "1");
            String forged = "a forged memo";
            assertEquals("a memo", memo.open(sealed, 1, "1"));
            assertEquals("a memo", memo.open(sealed, -1, "1"));
            assertEquals("a memo", memo.open(sealed, "1"));
            assertEquals(PHONES[0], phone.open(phone.seal(PHONES[0])));
            assertNull(memo.open((String) null, 0, "1"), "NULL has no mark");
            assertEquals(forged, sealstone.column("people", "memo").open(forged, 0, "1"), "other code takes both");
            byte[] row = "1".getBytes(StandardCharsets.UTF_8);
            int[] marks = {1, 0};
            String[] rows = {"1", "1"};
            List<SealstoneException> faults = List.of(
                    fails(Code.NOT_GENUINE, () -> memo.open(forged, 0, "1")),
                    fails(Code.NOT_GENUINE, () -> phone.open(PHONES[0], 0)),
                    fails(Code.NOT_GENUINE, () -> memo.open(forged.getBytes(StandardCharsets.UTF_8), 0, row)),
                    fails(Code.NOT_GENUINE, () -> memo.open(new String[] {sealed, forged}, marks, rows)),
                    fails(Code.NOT_GENUINE, () -> memo.open(Texts.of(sealed, forged), marks, Texts.of(rows))));
            assertEquals(List.of(-1, -1, -1, 1, 1), faults.stream().map(SealstoneException::index).toList());
            for (SealstoneException fault : faults) {
                assertTrue(fault.getMessage().startsWith("a value has no mark"), fault.getMessage());
                assertFalse(fault.getMessage().contains("forged"), fault.getMessage());
            }
            // null is not counted as a value in the clear, and counts for the number of one
            String[] mixed = {null, sealed, null, forged};
            String[] four = {"1", "1", "1", "1"};
            assertEquals(3, fails(Code.NOT_GENUINE, () -> memo.open(mixed, new int[] {0, 1, 0, 0}, four)).index());
            mixed[3] = sealed;
            assertArrayEquals(
                    new String[] {null, "a memo", null, "a memo"}, memo.open(mixed, new int[] {0, 1, 0, 1}, four));
        }
    }

    @Test
    void aRowThatNothingIsBoundToIsAnError() {
        try (Sealstone sealstone = opened()) {
            Column phone = sealstone.column("people", "phone");
            String sealed = phone.seal(PHONES[0]);
            for (SealstoneException fault : List.of(
                    fails(Code.ARGUMENT, () -> phone.seal(PHONES[0], "1")),
                    fails(Code.ARGUMENT, () -> phone.open(sealed, "1")),
                    fails(Code.ARGUMENT, () -> phone.open(sealed, 1, "1")),
                    fails(Code.ARGUMENT, () -> phone.seal(PHONES, IDS)),
                    fails(Code.ARGUMENT, () -> phone.open(Texts.of(sealed), null, Texts.of("1"))))) {
                assertTrue(fault.getMessage().startsWith("column phone is not bound to rows"), fault.getMessage());
            }
            assertEquals(PHONES[0], phone.open(sealed, 1, null));
        }
    }

    @Test
    void aClosedSessionIsAnError() {
        Sealstone sealstone = opened();
        Column phone = sealstone.column("people", "phone");
        sealstone.close();
        sealstone.close();
        fails(Code.CLOSED, () -> phone.seal(PHONES[0]));
        fails(Code.CLOSED, () -> phone.seal(PHONES));
        fails(Code.CLOSED, () -> sealstone.column("people", "name"));
        fails(Code.CLOSED, () -> Native.keyVersion(0, 0));
        fails(Code.CLOSED, () -> Native.one(Long.MIN_VALUE, 0, 0, 0, new byte[0], null));
    }

    @Test
    void nothingThatReachesTheLibraryCrashesIt() {
        try (Sealstone sealstone = opened()) {
            sealstone.column("people", "phone");
            long session = sealstone.number;
            fails(Code.ARGUMENT, () -> Native.keyVersion(session, -1));
            fails(Code.ARGUMENT, () -> Native.one(session, 9, 0, 0, new byte[0], null));
            fails(Code.ARGUMENT, () -> Native.one(session, 0, 9, 0, new byte[0], null));
            fails(Code.ARGUMENT, () -> Native.one(session, 0, 0, 0, null, null));
            int[] two = {0, 0};
            byte[] none = {};
            fails(Code.ARGUMENT, () -> Native.many(session, 0, 0, null, null, two, null, null, two));
            fails(Code.ARGUMENT, () -> Native.many(session, 0, 0, null, none, null, null, null, two));
            fails(Code.ARGUMENT, () -> Native.many(session, 0, 2, null, none, two, null, null, null));
            fails(Code.ARGUMENT, () -> Native.many(session, 0, 2, null, none, two, null, null, new int[1]));
            fails(Code.ARGUMENT, () -> Native.open(0, none, null, null));
            fails(Code.ARGUMENT, () -> Native.open(2, null, null, null));
        }
    }

    @Test
    void manyThreadsShareASessionAndOneClosesIt() throws Exception {
        Sealstone sealstone = opened();
        Column phone = sealstone.column("people", "phone");
        Column memo = sealstone.column("people", "memo");
        ExecutorService threads = Executors.newFixedThreadPool(8);
        List<Future<Integer>> results = new ArrayList<>();
        for (int thread = 0; thread < 8; thread++) {
            int seed = thread;
            results.add(threads.submit(() -> {
                int rounds = 0;
                try {
                    for (; ; rounds++) {
                        String value = String.format("010-%04d-%04d", seed, rounds % 10_000);
                        assertEquals(value, phone.open(phone.seal(value)));
                        String row = Integer.toString(rounds);
                        assertEquals(value, memo.open(memo.seal(value, row), row));
                        String[] values = Collections.nCopies(100, value).toArray(String[]::new);
                        assertArrayEquals(values, phone.open(phone.seal(values)));
                    }
                } catch (SealstoneException fault) {
                    assertEquals(Code.CLOSED, fault.code(), fault.getMessage());
                }
                return rounds;
            }));
        }
        Thread.sleep(1500);
        sealstone.close();
        for (Future<Integer> result : results) {
            assertTrue(result.get() > 10, "it was at work");
        }
        threads.shutdown();
    }

    @Test
    void libraryAndClassesAreOfOneVersion() {
        assertEquals(Native.ofClasses(), Sealstone.version());
        assertTrue(Sealstone.version().matches("\\d+\\.\\d+\\.\\d+"), Sealstone.version());
    }

    @Test
    void manyValuesPassAtOnce() {
        try (Sealstone sealstone = opened()) {
            Column phone = sealstone.column("people", "phone");
            String[] values = new String[20_000];
            Arrays.setAll(values, at -> String.format("010-%04d-%04d", at / 7, at % 10_000));
            String[] sealed = phone.seal(values);
            assertArrayEquals(values, phone.open(sealed));
            assertEquals(sealed[12_345], phone.seal(values[12_345]));
            values[17_000] = "none";
            assertEquals(17_000, fails(Code.MISFIT, () -> phone.seal(values)).index());
        }
    }

    /** Returns what a program prints, in a process of its own: a process loads the library once. */
    private static String said(Class<?> program, String library, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Dsealstone.library=" + library,
                "-cp",
                place(Sealstone.class) + ":" + place(program),
                program.getName()));
        command.addAll(Arrays.asList(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), said);
        return said;
    }

    private static Path place(Class<?> loaded) throws Exception {
        return Path.of(loaded.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    @Test
    void aLibraryThatCannotBeLoadedIsOneExceptionEachTime() throws Exception {
        assertEquals("LIBRARY LIBRARY LIBRARY\n", said(WithoutLibrary.class, "/none.so"));
    }

    /** What that process does. */
    static final class WithoutLibrary {
        public static void main(String[] arguments) {
            StringBuilder codes = new StringBuilder();
            List<Runnable> calls = List.of(
                    () -> Sealstone.open(Path.of("policy.toml")), Sealstone::version, () -> Sealstone.open(Path.of("policy.toml")));
            for (Runnable call : calls) {
                try {
                    call.run();
                } catch (SealstoneException caught) {
                    boolean hasNextStep = caught.getMessage().contains("install sealstone");
                    codes.append(codes.isEmpty() ? "" : " ").append(hasNextStep ? caught.code() : caught.getMessage());
                }
            }
            System.out.println(codes);
        }
    }

    @Test
    void twoApplicationsOfAServerShareTheClasses() throws Exception {
        String library = System.getProperty("sealstone.library");
        String version = Sealstone.version() + "\n";
        String own = said(TwoApplications.class, library, place(Sealstone.class).toString(), "own");
        assertTrue(own.startsWith(version + "LIBRARY cannot load the native library: "), own);
        assertTrue(own.contains("\nput the jar where the class loader that all applications share finds it"), own);
        assertFalse(own.contains("install"), own);
        assertEquals(version + version, said(TwoApplications.class, library, place(Sealstone.class).toString(), "shared"));
    }

    /** A server with two applications, each with a class loader of its own; the classes are in both of these, or in their parent. */
    static final class TwoApplications {
        public static void main(String[] arguments) throws Exception {
            URL[] classes = {Path.of(arguments[0]).toUri().toURL()};
            boolean areShared = arguments[1].equals("shared");
            ClassLoader platform = ClassLoader.getPlatformClassLoader();
            ClassLoader server = areShared ? new URLClassLoader(classes, platform) : platform;
            URL[] own = areShared ? new URL[0] : classes;
            // both live to the end: a loader that is gone gives the library back
            List<ClassLoader> applications = List.of(new URLClassLoader(own, server), new URLClassLoader(own, server));
            for (ClassLoader application : applications) {
                try {
                    System.out.println(application.loadClass("org.sealstone.Sealstone").getMethod("version").invoke(null));
                } catch (InvocationTargetException thrown) {
                    Throwable caught = thrown.getCause();
                    System.out.println(caught.getClass().getMethod("code").invoke(caught) + " " + caught.getMessage());
                }
            }
            Reference.reachabilityFence(applications);
        }
    }
}
