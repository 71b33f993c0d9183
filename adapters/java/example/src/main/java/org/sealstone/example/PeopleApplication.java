package org.sealstone.example;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import org.sealstone.Column;
import org.sealstone.KeySource;
import org.sealstone.Sealstone;

/**
 * An application whose table {@code people} is sealed by {@code sealstone field migrate}, while it goes on reading and
 * writing: {@code phone} by {@code ff1} with an index column, {@code memo} by {@code aead}, bound to {@code id}.
 *
 * <p>It works before, while and after the table is sealed, since it reads each value with its mark. Not here: a pool of
 * connections, of which each thread would take its own. The session and its columns are for all threads.
 */
public final class PeopleApplication implements AutoCloseable {
    private final Connection connection;
    private final Sealstone sealstone;
    private final Column phone;
    private final Column memo;

    /** A person, in the clear. */
    public record Person(long id, String phone, String memo) {}

    /** Opens the manifest of the table, which the server has, with the key that it names. */
    public PeopleApplication(Connection connection, KeySource key) throws SQLException {
        this.connection = connection;
        String manifest;
        try (PreparedStatement statement = connection.prepareStatement(
                        "SELECT manifest FROM sealstone_fields WHERE table_name = 'people'");
                ResultSet rows = statement.executeQuery()) {
            if (!rows.next()) {
                throw new IllegalStateException("table people is not sealed: run sealstone field migrate");
            }
            manifest = rows.getString(1);
        }
        sealstone = Sealstone.ofManifest(manifest, key);
        phone = sealstone.column("people", "phone");
        memo = sealstone.column("people", "memo");
    }

    /** Reads one person. */
    public Person read(long id) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
                "SELECT phone, phone_sealed, memo, memo_sealed FROM people WHERE id = ?")) {
            statement.setLong(1, id);
            try (ResultSet row = statement.executeQuery()) {
                if (!row.next()) {
                    return null;
                }
                // getInt returns 0 for NULL: a value in the clear
                return new Person(
                        id,
                        phone.open(row.getString(1), row.getInt(2)),
                        memo.open(row.getString(3), row.getInt(4), Long.toString(id)));
            }
        }
    }

    /** Reads everybody, and opens all values of a column at once. */
    public List<Person> readAll() throws SQLException {
        List<String> phones = new ArrayList<>();
        List<String> memos = new ArrayList<>();
        List<String> ids = new ArrayList<>();
        List<int[]> marks = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(
                        "SELECT id, phone, phone_sealed, memo, memo_sealed FROM people ORDER BY id");
                ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                ids.add(row.getString(1));
                phones.add(row.getString(2));
                memos.add(row.getString(4));
                marks.add(new int[] {row.getInt(3), row.getInt(5)});
            }
        }
        String[] none = {};
        String[] rows = ids.toArray(none);
        String[] openPhones =
                phone.open(phones.toArray(none), marks.stream().mapToInt(mark -> mark[0]).toArray(), null);
        String[] openMemos =
                memo.open(memos.toArray(none), marks.stream().mapToInt(mark -> mark[1]).toArray(), rows);
        List<Person> people = new ArrayList<>();
        for (int at = 0; at < rows.length; at++) {
            people.add(new Person(Long.parseLong(rows[at]), openPhones[at], openMemos[at]));
        }
        return people;
    }

    /** Adds a person, sealed: each value with the claim that it is, and the phone with its index value. */
    public void add(Person person) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
                "INSERT INTO people (id, phone, phone_sealed, phone_index, memo, memo_sealed) VALUES (?, ?, ?, ?, ?, ?)")) {
            statement.setLong(1, person.id());
            statement.setString(2, phone.seal(person.phone()));
            claim(statement, 3, phone, person.phone());
            statement.setString(4, phone.index(person.phone()));
            statement.setString(5, memo.seal(person.memo(), Long.toString(person.id())));
            claim(statement, 6, memo, person.memo());
            statement.executeUpdate();
        }
    }

    /** Sets the claim of a value that was sealed; NULL stays NULL, without one. */
    private static void claim(PreparedStatement statement, int at, Column column, String value) throws SQLException {
        statement.setObject(at, value == null ? null : column.claim(), Types.INTEGER);
    }

    /** Changes a phone number. */
    public void changePhone(long id, String number) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
                "UPDATE people SET phone = ?, phone_sealed = ?, phone_index = ? WHERE id = ?")) {
            statement.setString(1, phone.seal(number));
            claim(statement, 2, phone, number);
            statement.setString(3, phone.index(number));
            statement.setLong(4, id);
            statement.executeUpdate();
        }
    }

    /** Finds people by their phone number: by the index value, and then by the number itself, since few bits repeat. */
    public List<Long> findByPhone(String number) throws SQLException {
        List<Long> found = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(
                "SELECT id, phone, phone_sealed FROM people WHERE phone_index = ? ORDER BY id")) {
            statement.setString(1, phone.index(number));
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    if (number.equals(phone.open(row.getString(2), row.getInt(3)))) {
                        found.add(row.getLong(1));
                    }
                }
            }
        }
        return found;
    }

    @Override
    public void close() {
        sealstone.close();
    }
}
