package org.sealstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.sealstone.example.PeopleApplication;
import org.sealstone.example.PeopleApplication.Person;

/** Tables of real servers that {@code sealstone field migrate} seals, read and written by {@link PeopleApplication}. */
class TableInUseTest {
    private static final Pattern ADDRESS = Pattern.compile("(mysql|postgres)://([^@]+)@([^/]+)/(\\w+)\\?(?:defaults-file|passfile)=(\\S+)");

    private static final String[] SEAL = {
        "field", "migrate", "@address", "--table", "people", "--column", "phone=ff1:phone", "--index", "phone=32",
        "--column", "memo=aead", "--tweak", "memo=row:id", "--key", "people.key", "--yes", "--quiet"
    };

    @TempDir
    Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"mariadb", "postgres"})
    void anApplicationReadsAndWritesASealedTable(String server) throws Exception {
        // a server that was started as root runs as another user
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx--x--x"));
        CommandLine command = new CommandLine(directory);
        String said = command.done("lab", "up", server, "--dir", "shop");
        try {
            Matcher address = ADDRESS.matcher(said);
            assertTrue(address.find(), said);
            command.write("address", address.group() + "\n");
            String driver = server.equals("mariadb") ? "mariadb" : "postgresql";
            String url = "jdbc:" + driver + "://" + address.group(3) + "/" + address.group(4);
            String password = password(Path.of(address.group(5)));
            try (Connection connection = DriverManager.getConnection(url, address.group(2), password)) {
                application(command, connection);
            }
        } finally {
            command.done("lab", "down", "shop");
        }
    }

    /** Returns the password in a file of MariaDB's client ({@code password=…}) or of PostgreSQL's ({@code host:port:database:user:…}). */
    private static String password(Path file) throws Exception {
        for (String line : Files.readAllLines(file)) {
            if (line.startsWith("password")) {
                return line.replaceFirst("password *= *\"?([^\"]*)\"?", "$1");
            }
            if (line.split(":").length == 5) {
                return line.split(":")[4];
            }
        }
        throw new AssertionError("no password in " + file);
    }

    private static void application(CommandLine command, Connection connection) throws Exception {
        List<Person> people = new ArrayList<>();
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE people (id BIGINT PRIMARY KEY, phone VARCHAR(20), memo TEXT)");
            for (long id = 1; id <= 50; id++) {
                Person person = new Person(
                        id,
                        id % 7 == 0 ? null : String.format("010-%04d-%04d", id, id * 37),
                        id % 5 == 0 ? null : "memo " + id + " 메모");
                insert(connection, person);
                people.add(person);
            }
        }
        command.done("keys", "new", "people.key");
        KeySource key = KeySource.file(command.path("people.key"));
        assertThrows(Exception.class, () -> new PeopleApplication(connection, key), "it is not sealed yet");
        command.done(SEAL);

        try (PeopleApplication application = new PeopleApplication(connection, key)) {
            assertEquals(people, application.readAll());
            assertEquals(people.get(3), application.read(4));
            assertNotEquals(people.get(3).phone(), text(connection, "SELECT phone FROM people WHERE id = 4"));
            assertEquals(List.of(4L), application.findByPhone(people.get(3).phone()));

            // an application that knows nothing of marks writes in the clear
            insert(connection, new Person(51, "010-5151-5151", "in the clear"));
            people.add(new Person(51, "010-5151-5151", "in the clear"));
            assertNull(text(connection, "SELECT phone_sealed FROM people WHERE id = 51"));
            // this one writes sealed values
            Person added = new Person(52, "010-5252-5252", "sealed by Java 🔑");
            application.add(added);
            people.add(added);
            application.changePhone(4, "010-4444-4444");
            people.set(3, new Person(4, "010-4444-4444", people.get(3).memo()));
            assertEquals("1", text(connection, "SELECT phone_sealed FROM people WHERE id = 52"));
            assertNotEquals("010-5252-5252", text(connection, "SELECT phone FROM people WHERE id = 52"));
            assertEquals(people, application.readAll());
            assertEquals(List.of(52L), application.findByPhone("010-5252-5252"));
            assertEquals(List.of(4L), application.findByPhone("010-4444-4444"));
            // a value that was moved to another row is noticed
            String moved = text(connection, "SELECT memo FROM people WHERE id = 1");
            assertEquals(
                    SealstoneException.Code.NOT_GENUINE,
                    assertThrows(SealstoneException.class, () -> {
                                try (Sealstone sealstone = Sealstone.ofManifest(manifest(connection), key)) {
                                    sealstone.column("memo").open(moved, 1, "2");
                                }
                            })
                            .code());

            // a value in the clear passes only where both kinds are taken
            try (Sealstone sealstone = Sealstone.ofManifest(manifest(connection), key)) {
                Column memo = sealstone.column("memo");
                int mark = Integer.parseInt(text(connection, "SELECT coalesce(memo_sealed, 0) FROM people WHERE id = 51"));
                assertEquals("in the clear", memo.open(text(connection, "SELECT memo FROM people WHERE id = 51"), mark, "51"));
                assertEquals(
                        SealstoneException.Code.NOT_GENUINE,
                        assertThrows(SealstoneException.class, () -> memo.onlySealed().open("in the clear", mark, "51")).code());
            }

            // both versions of the key are in the table
            command.done("keys", "rotate", "people.key");
            try (Statement statement = connection.createStatement()) {
                assertEquals(1, statement.executeUpdate("UPDATE people SET memo = 'again' WHERE id = 2"));
            }
            people.set(1, new Person(2, people.get(1).phone(), "again"));
            command.done("field", "migrate", "@address", "--table", "people", "--reseal", "--key", "people.key", "--yes");
            assertEquals("2", text(connection, "SELECT phone_sealed FROM people WHERE id = 52"));
            assertEquals(people, application.readAll(), "the older session opens values of the new version");
            application.changePhone(4, "010-4444-5555");
            people.set(3, new Person(4, "010-4444-5555", people.get(3).memo()));
            assertEquals("1", text(connection, "SELECT phone_sealed FROM people WHERE id = 4"), "and seals under its own");
        }
        try (PeopleApplication application = new PeopleApplication(connection, key)) {
            assertEquals(people, application.readAll(), "marks of two versions");
            application.changePhone(4, "010-4444-6666");
            assertEquals("2", text(connection, "SELECT phone_sealed FROM people WHERE id = 4"));
            people.set(3, new Person(4, "010-4444-6666", people.get(3).memo()));
        }
        // the command judges what Java wrote
        command.done("field", "migrate", "@address", "--table", "people", "--open", "--key", "people.key", "--yes");
        for (Person person : people) {
            String row = " FROM people WHERE id = " + person.id();
            assertEquals(person.phone(), text(connection, "SELECT phone" + row));
            assertEquals(person.memo(), text(connection, "SELECT memo" + row));
        }
    }

    private static void insert(Connection connection, Person person) throws SQLException {
        try (var statement = connection.prepareStatement("INSERT INTO people (id, phone, memo) VALUES (?, ?, ?)")) {
            statement.setLong(1, person.id());
            statement.setString(2, person.phone());
            statement.setString(3, person.memo());
            statement.executeUpdate();
        }
    }

    private static String manifest(Connection connection) throws SQLException {
        return text(connection, "SELECT manifest FROM sealstone_fields WHERE table_name = 'people'");
    }

    private static String text(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            assertTrue(row.next(), query);
            return row.getString(1);
        }
    }
}
