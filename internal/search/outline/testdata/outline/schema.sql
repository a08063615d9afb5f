-- CREATE TABLE no (id int);
CREATE TABLE IF NOT EXISTS public."users" (
  id BIGINT PRIMARY KEY,
  name TEXT DEFAULT 'a;b\'
);
INSERT INTO users VALUES (1);
create unique index concurrently users_name on users (name);
CREATE OR REPLACE FUNCTION touch() RETURNS trigger AS $body$
BEGIN
  NEW.at = now(); CREATE TABLE fake (a int);
  RETURN NEW;
END;
$body$ LANGUAGE plpgsql;
CREATE TRIGGER added AFTER INSERT ON users BEGIN
  UPDATE counts SET n = CASE WHEN 1 THEN 2 END;
  DELETE FROM x;
END;
CREATE MATERIALIZED VIEW v AS SELECT 1;
