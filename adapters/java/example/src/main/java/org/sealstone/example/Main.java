package org.sealstone.example;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import org.sealstone.KeySource;
import org.sealstone.example.PeopleApplication.Person;

/**
 * Reads the sealed table {@code people} that {@code people.sql} made, adds a person, changes a phone number and finds it,
 * and prints what the table has then, in the clear.
 */
public final class Main {
    private Main() {}

    /**
     * Runs the example.
     *
     * @param arguments the JDBC address, the user of the server, and the key; the password is in {@code DATABASE_PASSWORD},
     *     since everybody sees the list of processes
     * @throws SQLException if the server refuses
     */
    public static void main(String[] arguments) throws SQLException {
        if (arguments.length != 3) {
            throw new IllegalArgumentException("expected: JDBC-ADDRESS USER KEY");
        }
        String password = System.getenv("DATABASE_PASSWORD");
        try (Connection connection = DriverManager.getConnection(arguments[0], arguments[1], password);
                PeopleApplication application = new PeopleApplication(connection, KeySource.of(arguments[2]))) {
            System.out.println("read " + application.read(1));
            application.add(new Person(4, "010-4444-0004", "added by Java"));
            application.changePhone(1, "010-8765-4321");
            System.out.println("found " + application.findByPhone("010-8765-4321"));
            application.readAll().forEach(System.out::println);
        }
    }
}
