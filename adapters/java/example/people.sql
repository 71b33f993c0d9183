-- What the example finds, before it is sealed; for MariaDB and PostgreSQL.
CREATE TABLE people (id BIGINT PRIMARY KEY, phone VARCHAR(20), memo TEXT);
INSERT INTO people (id, phone, memo) VALUES
    (1, '010-1234-5678', 'calls back 메모'),
    (2, NULL, 'has no phone'),
    (3, '010-3333-0003', NULL);
